#include "ops/token_ops/from_tensors.h"

#include <algorithm>
#include <initializer_list>
#include <sstream>
#include <string>

#include "core/check.h"

namespace pantograph::ops {
namespace {

using Sizes = std::initializer_list<std::int64_t>;

void write(std::ostream& text, std::span<const std::int64_t> sizes) {
  text << "[";
  for (std::size_t i = 0; i < sizes.size(); ++i) text << (i > 0 ? ", " : "") << sizes[i];
  text << "]";
}

std::string name(const Device& device) {
  return device.kind == DeviceKind::kCpu ? "the CPU" : join("GPU ", device.index);
}

// Checks the tensors of one call against the first of them.
class Call {
 public:
  Call(const char* op, const char* name, const TensorView& first, int rank)
      : op_(op), first_(first) {
    if (first.rank != rank) refuse(name, first, rank == 3 ? "[B, S, C]" : "[B, S, H, D]");
  }

  [[noreturn]] void refuse(const char* name, const TensorView& tensor,
                           const std::string& wanted) const {
    std::ostringstream text;
    text << op_ << ": " << name << " is " << to_string(tensor.dtype) << " ";
    write(text, tensor.sizes());
    text << " on " << pantograph::ops::name(tensor.device) << ", but must be " << wanted;
    throw Error(ErrorKind::kInvalidArgument, text.str());
  }

  void check(const char* name, const TensorView& tensor, Sizes sizes, DType dtype) const {
    if (!fits(tensor, sizes, dtype)) refuse(name, tensor, description(sizes, dtype));
  }

  // [B, S, C] or [B, S, H, D] like the first tensor.
  Rows rows(const char* name, const TensorView& tensor) {
    check(name, tensor, {first_.shape[0], first_.shape[1], first_.shape[2]}, first_.dtype);
    last_is_dense(tensor);
    return {tensor.data, {tensor.strides[0], tensor.strides[1]}};
  }

  HeadStrides heads(const char* name, const TensorView& tensor) {
    check(name, tensor, {first_.shape[0], first_.shape[1], first_.shape[2], first_.shape[3]},
          first_.dtype);
    last_is_dense(tensor);
    return {tensor.strides[0], tensor.strides[1], tensor.strides[2]};
  }

  // [B, C] or [C]; a stride of 0 between samples would be taken for a shared table.
  Table table(const char* name, const TensorView& tensor) {
    const std::int64_t channels = first_.shape[2];
    if (!fits(tensor, {channels}, first_.dtype) &&
        !fits(tensor, {first_.shape[0], channels}, first_.dtype)) {
      refuse(name, tensor,
             join(description({first_.shape[0], channels}, first_.dtype), ", or [", channels, "]"));
    }
    last_is_dense(tensor);
    const std::int64_t stride = tensor.rank == 2 ? tensor.strides[0] : 0;
    ready_ = ready_ &&
             (tensor.rank == 1 || stride != 0 || tensor.shape[0] <= 1 || tensor.elements() == 0);
    return {tensor.data, stride};
  }

  // A dense tensor of these sizes; `dtype` is the first tensor's unless given.
  void* dense(const char* name, const TensorView& tensor, Sizes sizes) {
    return dense(name, tensor, sizes, first_.dtype);
  }
  void* dense(const char* name, const TensorView& tensor, Sizes sizes, DType dtype) {
    check(name, tensor, sizes, dtype);
    ready_ = ready_ && (tensor.elements() == 0 || tensor.is_dense());
    return tensor.data;
  }
  // Shaped like the first tensor.
  void* output(const char* name, const TensorView& tensor) {
    const auto& s = first_.shape;
    return first_.rank == 3 ? dense(name, tensor, {s[0], s[1], s[2]})
                            : dense(name, tensor, {s[0], s[1], s[2], s[3]});
  }

  [[nodiscard]] DType statistics_type() const {
    return first_.dtype == DType::kF64 ? DType::kF64 : DType::kF32;
  }
  [[nodiscard]] TokenShape shape() const {
    return {first_.shape[0], first_.shape[1], first_.shape[2]};
  }

  template <typename Problem>
  [[nodiscard]] std::optional<Problem> finish(const Problem& problem) const {
    return ready_ ? std::optional<Problem>(problem) : std::nullopt;
  }

 private:
  [[nodiscard]] bool fits(const TensorView& tensor, Sizes sizes, DType dtype) const {
    return tensor.dtype == dtype && tensor.device == first_.device &&
           std::equal(tensor.sizes().begin(), tensor.sizes().end(), sizes.begin(), sizes.end());
  }

  [[nodiscard]] std::string description(Sizes sizes, DType dtype) const {
    std::ostringstream text;
    text << to_string(dtype) << " ";
    write(text, {sizes.begin(), sizes.size()});
    text << " on " << name(first_.device);
    return text.str();
  }

  void last_is_dense(const TensorView& tensor) {
    const auto last = static_cast<std::size_t>(tensor.rank - 1);
    ready_ =
        ready_ && (tensor.shape[last] <= 1 || tensor.strides[last] == 1 || tensor.elements() == 0);
  }

  const char* op_;
  const TensorView& first_;
  bool ready_ = true;
};

void* second_half(const TensorView& tensor) {
  return static_cast<std::byte*>(tensor.data) + tensor.bytes() / 2;
}

// The angles' tables, which come together.
template <typename Problem>
void set_angles(Call& call, const TensorView* cos, const TensorView* sin, Problem& problem) {
  if ((cos == nullptr) != (sin == nullptr)) {
    fail(ErrorKind::kInvalidArgument,
         "qk_rmsnorm_rope: cos and sin come together, but only one was given");
  }
  if (cos == nullptr) return;
  const Sizes sizes{problem.tokens, problem.head_dim / 2};
  problem.cos = call.dense("cos", *cos, sizes, call.statistics_type());
  problem.sin = call.dense("sin", *sin, sizes, call.statistics_type());
}

template <typename Problem>
Problem with_head_sizes(const TensorView& q) {
  Problem problem;
  problem.dtype = q.dtype;
  problem.batch = q.shape[0];
  problem.tokens = q.shape[1];
  problem.heads = q.shape[2];
  problem.head_dim = q.shape[3];
  return problem;
}

void set_statistics(Call& call, const TensorView& statistics, auto& mean, auto& rstd) {
  const TokenShape shape = call.shape();
  mean =
      call.dense("statistics", statistics, {2, shape.batch, shape.tokens}, call.statistics_type());
  rstd = second_half(statistics);
}

LayerNormModulate modulated(Call& call, const TensorView& x, const TensorView& scale,
                            const TensorView& shift, double eps, const TensorView& out,
                            const TensorView* statistics) {
  LayerNormModulate problem{.dtype = x.dtype,
                            .shape = call.shape(),
                            .eps = eps,
                            .x = call.rows("x", x),
                            .scale = call.table("scale", scale),
                            .shift = call.table("shift", shift),
                            .out = call.output("out", out)};
  if (scale.rank != shift.rank) call.refuse("shift", shift, "of scale's shape");
  if (statistics != nullptr) set_statistics(call, *statistics, problem.mean, problem.rstd);
  return problem;
}

// The gradient of a table has the table's shape.
void* table_gradient(Call& call, const char* name, const TensorView& gradient,
                     const TensorView& table) {
  return table.rank == 1 ? call.dense(name, gradient, {table.shape[0]})
                         : call.dense(name, gradient, {table.shape[0], table.shape[1]});
}

}  // namespace

std::optional<QkRmsNormRope> qk_rmsnorm_rope_problem(const TensorView& q, const TensorView& k,
                                                     const TensorView& wq, const TensorView& wk,
                                                     double eps, const TensorView* cos,
                                                     const TensorView* sin, const TensorView& q_out,
                                                     const TensorView& k_out,
                                                     const TensorView* rstd) {
  Call call("qk_rmsnorm_rope", "q", q, 4);
  auto problem = with_head_sizes<QkRmsNormRope>(q);
  problem.eps = eps;
  problem.q = {.x = q.data,
               .strides = call.heads("q", q),
               .weight = call.dense("wq", wq, {problem.head_dim}),
               .out = call.output("q_out", q_out)};
  problem.k = {.x = k.data,
               .strides = call.heads("k", k),
               .weight = call.dense("wk", wk, {problem.head_dim}),
               .out = call.output("k_out", k_out)};
  set_angles(call, cos, sin, problem);
  if (rstd != nullptr) {
    problem.q.rstd = call.dense("rstd", *rstd, {2, problem.batch, problem.tokens, problem.heads},
                                call.statistics_type());
    problem.k.rstd = second_half(*rstd);
  }
  return call.finish(problem);
}

std::optional<QkRmsNormRopeBackward> qk_rmsnorm_rope_backward_problem(
    const TensorView& grad_q_out, const TensorView& grad_k_out, const TensorView& q,
    const TensorView& k, const TensorView& wq, const TensorView& wk, const TensorView* cos,
    const TensorView* sin, const TensorView& rstd, const TensorView& grad_q,
    const TensorView& grad_k, const TensorView& grad_wq, const TensorView& grad_wk) {
  Call call("qk_rmsnorm_rope_backward", "q", q, 4);
  auto problem = with_head_sizes<QkRmsNormRopeBackward>(q);
  const std::int64_t d = problem.head_dim;
  const void* rstds = call.dense("rstd", rstd, {2, problem.batch, problem.tokens, problem.heads},
                                 call.statistics_type());
  problem.q = {.grad = grad_q_out.data,
               .grad_strides = call.heads("grad_q_out", grad_q_out),
               .x = q.data,
               .strides = call.heads("q", q),
               .weight = call.dense("wq", wq, {d}),
               .rstd = rstds,
               .grad_x = call.output("grad_q", grad_q),
               .grad_weight = call.dense("grad_wq", grad_wq, {d})};
  problem.k = {.grad = grad_k_out.data,
               .grad_strides = call.heads("grad_k_out", grad_k_out),
               .x = k.data,
               .strides = call.heads("k", k),
               .weight = call.dense("wk", wk, {d}),
               .rstd = second_half(rstd),
               .grad_x = call.output("grad_k", grad_k),
               .grad_weight = call.dense("grad_wk", grad_wk, {d})};
  set_angles(call, cos, sin, problem);
  return call.finish(problem);
}

std::optional<LayerNormModulate> layer_norm_modulate_problem(const TensorView& x,
                                                             const TensorView& scale,
                                                             const TensorView& shift, double eps,
                                                             const TensorView& out,
                                                             const TensorView* statistics) {
  Call call("layer_norm_modulate", "x", x, 3);
  return call.finish(modulated(call, x, scale, shift, eps, out, statistics));
}

std::optional<LayerNormModulate> gated_residual_layer_norm_problem(
    const TensorView& x, const TensorView& y, const TensorView& gate, const TensorView& scale,
    const TensorView& shift, double eps, const TensorView& sum, const TensorView& out,
    const TensorView* statistics) {
  Call call("gated_residual_layer_norm", "x", x, 3);
  LayerNormModulate problem = modulated(call, x, scale, shift, eps, out, statistics);
  problem.y = call.rows("y", y);
  problem.gate = call.table("gate", gate);
  problem.sum = call.output("sum", sum);
  return call.finish(problem);
}

std::optional<LayerNormModulateBackward> layer_norm_modulate_backward_problem(
    const TensorView& grad, const TensorView* grad_sum, const TensorView& x,
    const TensorView& scale, const TensorView& statistics, const TensorView& grad_x,
    const TensorView& grad_scale, const TensorView& grad_shift) {
  Call call("layer_norm_modulate_backward", "x", x, 3);
  LayerNormModulateBackward problem{
      .dtype = x.dtype,
      .shape = call.shape(),
      .grad = call.rows("grad", grad),
      .grad_sum = grad_sum == nullptr ? Rows{} : call.rows("grad_sum", *grad_sum),
      .x = call.rows("x", x),
      .scale = call.table("scale", scale),
      .grad_x = call.output("grad_x", grad_x),
      .grad_scale = table_gradient(call, "grad_scale", grad_scale, scale),
      .grad_shift = table_gradient(call, "grad_shift", grad_shift, scale)};
  set_statistics(call, statistics, problem.mean, problem.rstd);
  return call.finish(problem);
}

std::optional<GatedResidual> gated_residual_problem(const TensorView& x, const TensorView& y,
                                                    const TensorView& gate, const TensorView& out) {
  Call call("gated_residual", "x", x, 3);
  return call.finish(GatedResidual{.dtype = x.dtype,
                                   .shape = call.shape(),
                                   .x = call.rows("x", x),
                                   .y = call.rows("y", y),
                                   .gate = call.table("gate", gate),
                                   .out = call.output("out", out)});
}

std::optional<GatedResidualBackward> gated_residual_backward_problem(const TensorView& grad,
                                                                     const TensorView& y,
                                                                     const TensorView& gate,
                                                                     const TensorView& grad_y,
                                                                     const TensorView& grad_gate) {
  Call call("gated_residual_backward", "y", y, 3);
  return call.finish(
      GatedResidualBackward{.dtype = y.dtype,
                            .shape = call.shape(),
                            .grad = call.rows("grad", grad),
                            .y = call.rows("y", y),
                            .gate = call.table("gate", gate),
                            .grad_y = call.output("grad_y", grad_y),
                            .grad_gate = table_gradient(call, "grad_gate", grad_gate, gate)});
}

std::optional<SwiGlu> swiglu_problem(const TensorView& value, const TensorView& gate,
                                     const TensorView& out) {
  Call call("swiglu", "value", value, 3);
  return call.finish(SwiGlu{.dtype = value.dtype,
                            .shape = call.shape(),
                            .value = call.rows("value", value),
                            .gate = call.rows("gate", gate),
                            .out = call.output("out", out)});
}

std::optional<SwiGluBackward> swiglu_backward_problem(const TensorView& grad,
                                                      const TensorView& value,
                                                      const TensorView& gate,
                                                      const TensorView& grad_value,
                                                      const TensorView& grad_gate) {
  Call call("swiglu_backward", "value", value, 3);
  return call.finish(SwiGluBackward{.dtype = value.dtype,
                                    .shape = call.shape(),
                                    .grad = call.rows("grad", grad),
                                    .value = call.rows("value", value),
                                    .gate = call.rows("gate", gate),
                                    .grad_value = call.output("grad_value", grad_value),
                                    .grad_gate = call.output("grad_gate", grad_gate)});
}

std::optional<GeluTanh> gelu_tanh_problem(const TensorView& x, const TensorView& out) {
  Call call("gelu_tanh", "x", x, 3);
  return call.finish(GeluTanh{.dtype = x.dtype,
                              .shape = call.shape(),
                              .x = call.rows("x", x),
                              .out = call.output("out", out)});
}

std::optional<GeluTanhBackward> gelu_tanh_backward_problem(const TensorView& grad,
                                                           const TensorView& x,
                                                           const TensorView& grad_x) {
  Call call("gelu_tanh_backward", "x", x, 3);
  return call.finish(GeluTanhBackward{.dtype = x.dtype,
                                      .shape = call.shape(),
                                      .grad = call.rows("grad", grad),
                                      .x = call.rows("x", x),
                                      .grad_x = call.output("grad_x", grad_x)});
}

}  // namespace pantograph::ops
