// The token ops for Python. Each function takes tensors, the outputs among them, and checks them.
// False asks for the same call with contiguous copies. A function with a workspace takes its
// address; without one (None) it gives the bytes that one must have, or -1 to ask for contiguous
// copies.
#include <nanobind/nanobind.h>

#include <cstdint>
#include <exception>

#include "ops/token_ops/from_tensors.h"
#include "ops/token_ops/token_ops.h"
#include "pantograph/error.h"
#include "tensor.h"

namespace nb = nanobind;

namespace pantograph {
namespace {

// A tensor or None.
struct Optional {
  explicit Optional(nb::handle object) : given(!object.is_none()) {
    if (given) view = view_of(object);
  }
  [[nodiscard]] const TensorView* get() const { return given ? &view : nullptr; }

  bool given;
  TensorView view{};
};

ops::Target target_of(nb::handle tensor) {
  const Device device = view_of(tensor).device;
  return {device, current_stream(tensor, device)};
}

template <typename Problem>
bool run(const std::optional<Problem>& problem, nb::handle tensor,
         void (*op)(const Problem&, const ops::Target&)) {
  if (!problem) return false;
  const ops::Target target = target_of(tensor);
  const nb::gil_scoped_release release;
  op(*problem, target);
  return true;
}

template <typename Problem>
std::int64_t run(const std::optional<Problem>& problem, nb::handle tensor, nb::handle workspace,
                 void (*op)(const Problem&, void*, const ops::Target&)) {
  if (!problem) return -1;
  const ops::Target target = target_of(tensor);
  if (workspace.is_none()) return ops::workspace_bytes(*problem, target.device);
  void* memory = reinterpret_cast<void*>(nb::cast<std::uintptr_t>(workspace));
  const nb::gil_scoped_release release;
  op(*problem, memory, target);
  return 0;
}

bool qk_rmsnorm_rope(nb::handle q, nb::handle k, nb::handle wq, nb::handle wk, double eps,
                     nb::handle cos, nb::handle sin, nb::handle q_out, nb::handle k_out,
                     nb::handle rstd) {
  return run(ops::qk_rmsnorm_rope_problem(view_of(q), view_of(k), view_of(wq), view_of(wk), eps,
                                          Optional(cos).get(), Optional(sin).get(), view_of(q_out),
                                          view_of(k_out), Optional(rstd).get()),
             q, ops::qk_rmsnorm_rope);
}

std::int64_t qk_rmsnorm_rope_backward(nb::handle grad_q_out, nb::handle grad_k_out, nb::handle q,
                                      nb::handle k, nb::handle wq, nb::handle wk, nb::handle cos,
                                      nb::handle sin, nb::handle rstd, nb::handle grad_q,
                                      nb::handle grad_k, nb::handle grad_wq, nb::handle grad_wk,
                                      nb::handle workspace) {
  return run(ops::qk_rmsnorm_rope_backward_problem(
                 view_of(grad_q_out), view_of(grad_k_out), view_of(q), view_of(k), view_of(wq),
                 view_of(wk), Optional(cos).get(), Optional(sin).get(), view_of(rstd),
                 view_of(grad_q), view_of(grad_k), view_of(grad_wq), view_of(grad_wk)),
             q, workspace, ops::qk_rmsnorm_rope_backward);
}

bool layer_norm_modulate(nb::handle x, nb::handle scale, nb::handle shift, double eps,
                         nb::handle out, nb::handle statistics) {
  return run(ops::layer_norm_modulate_problem(view_of(x), view_of(scale), view_of(shift), eps,
                                              view_of(out), Optional(statistics).get()),
             x, ops::layer_norm_modulate);
}

bool gated_residual_layer_norm(nb::handle x, nb::handle y, nb::handle gate, nb::handle scale,
                               nb::handle shift, double eps, nb::handle sum, nb::handle out,
                               nb::handle statistics) {
  return run(ops::gated_residual_layer_norm_problem(
                 view_of(x), view_of(y), view_of(gate), view_of(scale), view_of(shift), eps,
                 view_of(sum), view_of(out), Optional(statistics).get()),
             x, ops::layer_norm_modulate);
}

std::int64_t layer_norm_modulate_backward(nb::handle grad, nb::handle grad_sum, nb::handle x,
                                          nb::handle scale, nb::handle statistics,
                                          nb::handle grad_x, nb::handle grad_scale,
                                          nb::handle grad_shift, nb::handle workspace) {
  return run(ops::layer_norm_modulate_backward_problem(
                 view_of(grad), Optional(grad_sum).get(), view_of(x), view_of(scale),
                 view_of(statistics), view_of(grad_x), view_of(grad_scale), view_of(grad_shift)),
             x, workspace, ops::layer_norm_modulate_backward);
}

bool gated_residual(nb::handle x, nb::handle y, nb::handle gate, nb::handle out) {
  return run(ops::gated_residual_problem(view_of(x), view_of(y), view_of(gate), view_of(out)), x,
             ops::gated_residual);
}

std::int64_t gated_residual_backward(nb::handle grad, nb::handle y, nb::handle gate,
                                     nb::handle grad_y, nb::handle grad_gate,
                                     nb::handle workspace) {
  return run(ops::gated_residual_backward_problem(view_of(grad), view_of(y), view_of(gate),
                                                  view_of(grad_y), view_of(grad_gate)),
             y, workspace, ops::gated_residual_backward);
}

bool swiglu(nb::handle value, nb::handle gate, nb::handle out) {
  return run(ops::swiglu_problem(view_of(value), view_of(gate), view_of(out)), value, ops::swiglu);
}

bool swiglu_backward(nb::handle grad, nb::handle value, nb::handle gate, nb::handle grad_value,
                     nb::handle grad_gate) {
  return run(ops::swiglu_backward_problem(view_of(grad), view_of(value), view_of(gate),
                                          view_of(grad_value), view_of(grad_gate)),
             value, ops::swiglu_backward);
}

bool gelu_tanh(nb::handle x, nb::handle out) {
  return run(ops::gelu_tanh_problem(view_of(x), view_of(out)), x, ops::gelu_tanh);
}

bool gelu_tanh_backward(nb::handle grad, nb::handle x, nb::handle grad_x) {
  return run(ops::gelu_tanh_backward_problem(view_of(grad), view_of(x), view_of(grad_x)), x,
             ops::gelu_tanh_backward);
}

void translate(const std::exception_ptr& exception, void*) {
  try {
    std::rethrow_exception(exception);
  } catch (const Error& error) {
    const bool invalid = error.kind() == ErrorKind::kInvalidArgument;
    PyErr_SetString(invalid ? PyExc_ValueError : PyExc_RuntimeError, error.what());
  }
}

}  // namespace
}  // namespace pantograph

NB_MODULE(_native, module) {
  using namespace pantograph;
  using namespace nanobind::literals;
  nb::register_exception_translator(translate);
  module.def("qk_rmsnorm_rope", qk_rmsnorm_rope, "q"_a, "k"_a, "wq"_a, "wk"_a, "eps"_a,
             "cos"_a.none(), "sin"_a.none(), "q_out"_a, "k_out"_a, "rstd"_a.none());
  module.def("qk_rmsnorm_rope_backward", qk_rmsnorm_rope_backward, "grad_q_out"_a, "grad_k_out"_a,
             "q"_a, "k"_a, "wq"_a, "wk"_a, "cos"_a.none(), "sin"_a.none(), "rstd"_a, "grad_q"_a,
             "grad_k"_a, "grad_wq"_a, "grad_wk"_a, "workspace"_a.none());
  module.def("layer_norm_modulate", layer_norm_modulate, "x"_a, "scale"_a, "shift"_a, "eps"_a,
             "out"_a, "statistics"_a.none());
  module.def("gated_residual_layer_norm", gated_residual_layer_norm, "x"_a, "y"_a, "gate"_a,
             "scale"_a, "shift"_a, "eps"_a, "sum"_a, "out"_a, "statistics"_a.none());
  module.def("layer_norm_modulate_backward", layer_norm_modulate_backward, "grad"_a,
             "grad_sum"_a.none(), "x"_a, "scale"_a, "statistics"_a, "grad_x"_a, "grad_scale"_a,
             "grad_shift"_a, "workspace"_a.none());
  module.def("gated_residual", gated_residual, "x"_a, "y"_a, "gate"_a, "out"_a);
  module.def("gated_residual_backward", gated_residual_backward, "grad"_a, "y"_a, "gate"_a,
             "grad_y"_a, "grad_gate"_a, "workspace"_a.none());
  module.def("swiglu", swiglu, "value"_a, "gate"_a, "out"_a);
  module.def("swiglu_backward", swiglu_backward, "grad"_a, "value"_a, "gate"_a, "grad_value"_a,
             "grad_gate"_a);
  module.def("gelu_tanh", gelu_tanh, "x"_a, "out"_a);
  module.def("gelu_tanh_backward", gelu_tanh_backward, "grad"_a, "x"_a, "grad_x"_a);
}
