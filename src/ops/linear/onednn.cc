#include "ops/linear/onednn.h"

#include <compare>
#include <deque>
#include <mutex>
#include <string_view>

#include "core/log.h"
#include "core/memory.h"
#include "ops/onednn/adapter.h"

namespace pantograph::ops {
namespace {

using dnnl::memory;

// A packed copy of the weights. Named when the first plan asks for it, filled at its first run.
struct Packed {
  explicit Packed(memory::desc layout) : desc(std::move(layout)) {}
  memory::desc desc;
  std::once_flag filled;
  Buffer values;
};

struct Problem {
  std::int64_t rows = 0, x_stride = 0, y_stride = 0;
  Store store = Store::kReplace;
  auto operator<=>(const Problem&) const = default;
};

struct Plan {
  Problem problem;
  dnnl::matmul::primitive_desc description;
  dnnl::matmul primitive;
  std::shared_ptr<Packed> packed;
};

dnnl::matmul::primitive_desc describe(const Problem& p, const LinearWeights& weights,
                                      const memory::desc& layout) {
  constexpr auto kF32 = memory::data_type::f32;
  const memory::desc source({p.rows, weights.in()}, kF32, memory::dims{p.x_stride, 1});
  const memory::desc target({p.rows, weights.out()}, kF32, memory::dims{p.y_stride, 1});
  dnnl::primitive_attr attributes = onednn::attributes();
  if (p.store == Store::kAdd) {
    dnnl::post_ops sum;
    sum.append_sum(1.0F);
    attributes.set_post_ops(sum);
  }
  if (weights.bias().empty()) return onednn::matmul(source, layout, target, attributes);
  const memory::desc bias({1, weights.out()}, kF32, memory::format_tag::ab);
  return onednn::matmul(source, layout, bias, target, attributes);
}

bool is_reference(const dnnl::matmul::primitive_desc& description) {
  return std::string_view(description.impl_info_str()).starts_with("ref");
}

void fill(Packed& packed, const LinearWeights& weights) {
  const dnnl::engine& engine = onednn::cpu_engine();
  std::vector<float> values = weights.to_f32();
  packed.values = Buffer(packed.desc.get_size());
  const memory::desc plain({weights.in(), weights.out()}, memory::data_type::f32,
                           memory::format_tag::ba);
  memory source(plain, engine, values.data());
  memory target(packed.desc, engine, packed.values.data());
  onednn::reorder(source, target);
  weights.release_pages();
}

}  // namespace

struct LinearCache {
  // A model uses a layer with the rows of one prompt or two; older plans are dropped.
  static constexpr std::size_t kMostPlans = 4;

  std::mutex mutex;
  std::deque<std::shared_ptr<Plan>> plans;      // latest made first
  std::vector<std::shared_ptr<Packed>> copies;  // nearly always one

  std::shared_ptr<Plan> plan(const LinearWeights& weights, const Problem& problem) {
    const std::lock_guard lock(mutex);
    for (const auto& known : plans) {
      if (known->problem == problem) return known;
    }
    auto plan = std::make_shared<Plan>();
    plan->problem = problem;
    choose_layout(weights, *plan);
    plan->primitive = onednn::translated([&] { return dnnl::matmul(plan->description); });
    log(LogLevel::kDebug, "linear: ", weights.in(), " -> ", weights.out(), " on ", problem.rows,
        " rows by ", plan->description.impl_info_str());
    plans.push_front(plan);
    if (plans.size() > kMostPlans) plans.pop_back();
    return plan;
  }

 private:
  // oneDNN picks the layout of the weights by the number of rows too. A layout that is there is
  // kept unless these rows would then run on oneDNN's reference loops.
  void choose_layout(const LinearWeights& weights, Plan& plan) {
    for (const auto& packed : copies) {
      plan.description = describe(plan.problem, weights, packed->desc);
      plan.packed = packed;
      if (!is_reference(plan.description)) return;
    }
    plan.description =
        describe(plan.problem, weights,
                 {{weights.in(), weights.out()}, memory::data_type::f32, memory::format_tag::any});
    plan.packed = std::make_shared<Packed>(plan.description.weights_desc());
    copies.push_back(plan.packed);
  }
};

std::shared_ptr<LinearCache> make_onednn_linear_cache() {
  return std::make_shared<LinearCache>();
}

void onednn_linear(const Context& context, const LinearWeights& weights, const RowsView& x,
                   const RowsView& y, Store store) {
  const std::shared_ptr<Plan> plan = weights.cache().plan(
      weights, {.rows = x.rows, .x_stride = x.stride, .y_stride = y.stride, .store = store});
  const memory::desc scratchpad = plan->description.scratchpad_desc();
  const Arena::Block workspace =
      scratchpad.get_size() > 0 ? context.arena->take(scratchpad.get_size()) : Arena::Block();
  if (context.planning) return;
  context.stop_if_cancelled();
  Packed& packed = *plan->packed;
  std::call_once(packed.filled, [&] { fill(packed, weights); });
  const dnnl::engine& engine = onednn::cpu_engine();
  onednn::Arguments arguments = {
      {DNNL_ARG_SRC, memory(plan->description.src_desc(), engine, x.data)},
      {DNNL_ARG_WEIGHTS, memory(packed.desc, engine, packed.values.data())},
      {DNNL_ARG_DST, memory(plan->description.dst_desc(), engine, y.data)},
      {DNNL_ARG_SCRATCHPAD, memory(scratchpad, engine, workspace.data())}};
  if (!weights.bias().empty()) {
    // oneDNN takes mutable pointers to what it only reads.
    auto* bias = const_cast<float*>(weights.bias().data());
    arguments.insert({DNNL_ARG_BIAS, memory(plan->description.bias_desc(), engine, bias)});
  }
  onednn::execute(plan->primitive, arguments);
}

}  // namespace pantograph::ops
