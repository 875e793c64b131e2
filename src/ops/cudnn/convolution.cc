#include "ops/cudnn/convolution.h"

#include <cuda_runtime_api.h>

#include <array>
#include <map>
#include <mutex>

#include "core/log.h"
#include "device/check.h"
#include "device/library.h"

#define NV_CUDNN_FRONTEND_USE_DYNAMIC_LOADING  // nothing links cuDNN
// Its JSON would be a second copy of nlohmann's in the program, with other serializers.
#define CUDNN_FRONTEND_SKIP_JSON_LIB
#include <cudnn_frontend.h>

namespace cudnn_frontend {
void* cudnn_dlhandle = nullptr;  // its headers look functions up here
}

namespace pantograph::ops::cudnn {
namespace {

namespace fe = cudnn_frontend;
using device::GpuLibrary;

// In the order in which Plan::run passes them.
enum TensorId : std::int64_t { kX = 1, kWeights, kY, kBias, kResidual };

std::vector<std::int64_t> tensor_ids(const Conv3dProblem& problem, bool fused) {
  std::vector<std::int64_t> ids = {kX, kWeights, kY};
  if (fused) ids.push_back(kBias);
  if (fused && problem.accumulate) ids.push_back(kResidual);
  return ids;
}

void open_library() {
  static std::once_flag once;
  std::call_once(once, [] { fe::cudnn_dlhandle = device::load(GpuLibrary::kCudnn).handle; });
}

// A cuDNN handle may be used by one thread at a time.
struct SharedHandle {
  std::mutex mutex;
  cudnnHandle_t native = nullptr;
};

// A few for each GPU, as long as the process lives, so that as many threads can build engines.
SharedHandle& next_handle() {
  constexpr std::size_t kHandles = 16;
  struct Handles {
    std::array<SharedHandle, kHandles> all;
    std::size_t next = 0;
  };
  static std::mutex mutex;
  static auto& devices = *new std::map<int, Handles>;
  int device = 0;
  device::check(cudaGetDevice(&device));
  const std::lock_guard lock(mutex);
  Handles& handles = devices[device];
  SharedHandle& handle = handles.all[handles.next++ % kHandles];
  if (handle.native == nullptr) {
    open_library();
    const cudnnStatus_t status = fe::detail::create_handle(&handle.native);
    if (status != CUDNN_STATUS_SUCCESS) {
      fail(ErrorKind::kInternal, "cuDNN ", version(), " does not start on GPU ", device, ": ",
           fe::detail::get_error_string(status));
    }
  }
  return handle;
}

// Sizes are [N, C, spatial...], memory is [N, spatial..., C].
std::vector<std::int64_t> channels_last(const std::vector<std::int64_t>& sizes) {
  std::vector<std::int64_t> strides(sizes.size(), 1);
  std::int64_t stride = sizes[1];
  for (std::size_t i = sizes.size() - 1; i >= 2; --i) {
    strides[i] = stride;
    stride *= sizes[i];
  }
  strides[0] = stride;
  return strides;
}

std::shared_ptr<fe::graph::Tensor_attributes> tensor(fe::graph::Graph& graph, TensorId id,
                                                     const std::vector<std::int64_t>& sizes,
                                                     fe::DataType_t type) {
  return graph.tensor(fe::graph::Tensor_attributes()
                          .set_uid(id)
                          .set_dim(sizes)
                          .set_stride(channels_last(sizes))
                          .set_data_type(type));
}

// The problem in as few dimensions as describe it: cuDNN has more and better engines for two.
struct Shape {
  std::vector<std::int64_t> x, weights, y, before, after;  // the last two: rows of zeros
};

Shape describe(const Conv3dProblem& p) {
  const auto [kt, kh, kw] = p.kernel;
  const std::int64_t above = kh / 2 - p.shift.rows, left = kw / 2 - p.shift.columns;
  if (kt == 1) {
    return {.x = {p.frames, p.in_channels, p.height, p.width},
            .weights = {p.out_channels, p.in_channels, kh, kw},
            .y = {p.frames, p.out_channels, p.height, p.width},
            .before = {above, left},
            .after = {kh - 1 - above, kw - 1 - left}};
  }
  if (kh == 1 && kw == 1) {
    const std::int64_t plane = p.height * p.width;
    return {.x = {1, p.in_channels, p.frames + kt - 1, plane},
            .weights = {p.out_channels, p.in_channels, kt, 1},
            .y = {1, p.out_channels, p.frames, plane},
            .before = {0, 0},
            .after = {0, 0}};
  }
  return {.x = {1, p.in_channels, p.frames + kt - 1, p.height, p.width},
          .weights = {p.out_channels, p.in_channels, kt, kh, kw},
          .y = {1, p.out_channels, p.frames, p.height, p.width},
          .before = {0, above, left},
          .after = {0, kh - 1 - above, kw - 1 - left}};
}

}  // namespace

std::string version() {
  open_library();
  const std::size_t version =
      device::function<std::size_t()>(GpuLibrary::kCudnn, "cudnnGetVersion")();
  return join(version / 10000, ".", version / 100 % 100, ".", version % 100);
}

// cuDNN's execution plan, which holds all that it needs of the graph.
struct Plan::Native {
  SharedHandle& handle;
  std::shared_ptr<fe::ExecutionPlan> plan;
  std::string engine_name;
  std::vector<std::int64_t> tensor_ids;
};

std::optional<Plan> Plan::load(const Conv3dProblem& problem, bool fused, std::string engine_name,
                               const std::string& saved, std::size_t workspace_limit) {
  SharedHandle& handle = next_handle();
  std::shared_ptr<fe::ExecutionPlan> plan;
  const std::lock_guard lock(handle.mutex);
  fe::error_t status = fe::detail::create_cudnn_execution_plan(plan, saved, handle.native);
  if (status.is_bad()) {
    log(LogLevel::kDebug, "cuDNN does not take ", engine_name,
        " as it was kept: ", status.get_message());
    return std::nullopt;
  }
  if (static_cast<std::size_t>(plan->getWorkspaceSize()) > workspace_limit) return std::nullopt;
  return Plan(std::make_shared<Native>(handle, std::move(plan), std::move(engine_name),
                                       tensor_ids(problem, fused)));
}

std::string Plan::save() const {
  try {
    return native_->plan->getJsonRepresentation();
  } catch (const fe::cudnnException& error) {
    log(LogLevel::kDebug, "cuDNN: ", engine_name(), " cannot be kept: ", error.what());
    return {};
  }
}

const std::string& Plan::engine_name() const {
  return native_->engine_name;
}

void Plan::run(const Pointers& pointers, void* stream) const {
  // cuDNN takes mutable pointers to what it only reads.
  const auto mutable_pointer = [](const void* pointer) { return const_cast<void*>(pointer); };
  const std::array<void*, kResidual> tensors = {mutable_pointer(pointers.x),
                                                mutable_pointer(pointers.weights), pointers.y,
                                                mutable_pointer(pointers.bias), pointers.y};
  SharedHandle& handle = native_->handle;
  const std::lock_guard lock(handle.mutex);
  const cudnnStatus_t bound =
      fe::detail::set_stream(handle.native, static_cast<cudaStream_t>(stream));
  if (bound != CUDNN_STATUS_SUCCESS) {
    fail(ErrorKind::kInternal, "cuDNN: ", fe::detail::get_error_string(bound));
  }
  fe::error_t status = fe::detail::execute(handle.native, native_->plan.get(), tensors.data(),
                                           native_->tensor_ids, pointers.workspace);
  if (status.is_bad()) {
    fail(ErrorKind::kInternal, "cuDNN ", version(), ", ", engine_name(), ": ",
         status.get_message());
  }
}

// The frontend gives its plans to derived classes only.
struct Convolution::Graph : fe::graph::Graph {
  Graph(SharedHandle& shared, std::vector<std::int64_t> ids)
      : handle(shared), tensor_ids(std::move(ids)) {}
  std::shared_ptr<fe::ExecutionPlan> take_plan(int engine) {
    return std::move(plans.execution_plans[static_cast<std::size_t>(engine)]);
  }
  SharedHandle& handle;
  std::vector<std::int64_t> tensor_ids;
};

Convolution::Convolution(const Conv3dProblem& problem, bool fused)
    : graph_(std::make_unique<Graph>(next_handle(), tensor_ids(problem, fused))) {
  fe::graph::Graph& graph = *graph_;
  graph.set_io_data_type(fe::DataType_t::BFLOAT16)
      .set_intermediate_data_type(fe::DataType_t::FLOAT)
      .set_compute_data_type(fe::DataType_t::FLOAT);
  const Shape shape = describe(problem);
  const std::vector<std::int64_t> ones(shape.before.size(), 1);
  auto y = graph.conv_fprop(tensor(graph, kX, shape.x, fe::DataType_t::BFLOAT16),
                            tensor(graph, kWeights, shape.weights, fe::DataType_t::BFLOAT16),
                            fe::graph::Conv_fprop_attributes()
                                .set_pre_padding(shape.before)
                                .set_post_padding(shape.after)
                                .set_stride(ones)
                                .set_dilation(ones));
  const auto add = fe::graph::Pointwise_attributes().set_mode(fe::PointwiseMode_t::ADD);
  if (fused) {
    std::vector<std::int64_t> bias(shape.y.size(), 1);
    bias[1] = problem.out_channels;
    y = graph.pointwise(y, tensor(graph, kBias, bias, fe::DataType_t::FLOAT), add);
    if (problem.accumulate) {
      y = graph.pointwise(y, tensor(graph, kResidual, shape.y, fe::DataType_t::BFLOAT16), add);
    }
  }
  y->set_output(true)
      .set_uid(kY)
      .set_dim(shape.y)
      .set_stride(channels_last(shape.y))
      .set_data_type(fe::DataType_t::BFLOAT16);

  const std::lock_guard lock(graph_->handle.mutex);
  fe::error_t status = graph.validate();
  if (status.is_good()) status = graph.build_operation_graph(graph_->handle.native);
  if (status.is_good()) {
    status = graph.create_execution_plans({fe::HeurMode_t::A, fe::HeurMode_t::FALLBACK});
  }
  if (status.is_bad()) log(LogLevel::kDebug, "cuDNN: ", status.get_message());
}

Convolution::~Convolution() = default;

int Convolution::engines() const {
  return static_cast<int>(graph_->get_execution_plan_count());
}

std::string Convolution::engine_name(int engine) const {
  std::string name;
  const fe::error_t status = graph_->get_plan_name_at_index(engine, name);
  return status.is_good() ? name : "";
}

std::optional<Plan> Convolution::build(int engine, std::size_t workspace_limit) {
  const std::lock_guard lock(graph_->handle.mutex);
  fe::error_t status = graph_->build_plan_at_index(engine);
  if (status.is_bad()) {
    log(LogLevel::kDebug, "cuDNN: ", engine_name(engine), ": ", status.get_message());
    return std::nullopt;
  }
  std::shared_ptr<fe::ExecutionPlan> plan = graph_->take_plan(engine);
  if (static_cast<std::size_t>(plan->getWorkspaceSize()) > workspace_limit) return std::nullopt;
  return Plan(std::make_shared<Plan::Native>(graph_->handle, std::move(plan), engine_name(engine),
                                             graph_->tensor_ids));
}

}  // namespace pantograph::ops::cudnn
