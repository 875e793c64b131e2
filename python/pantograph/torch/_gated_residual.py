from typing import Any

from torch import Tensor

from pantograph import _native

from ._launch import launch, launch_with_workspace, new_like
from ._layer_norm_modulate import layer_norm_modulate_backward, new_statistics
from ._operator import operator


def gated_residual(x: Tensor, y: Tensor, gate: Tensor) -> Tensor:
    """x + y * gate, rounded once.

    x, y: [B, S, C], any strides but the last. gate: [B, C], one row a sample, or [C] for all.
    Returns a contiguous tensor of x's shape.
    """
    out: Tensor = _forward(x, y, gate)
    return out


def gated_residual_layer_norm(
    x: Tensor, y: Tensor, gate: Tensor, scale: Tensor, shift: Tensor, eps: float = 1e-6
) -> tuple[Tensor, Tensor]:
    """new_x = gated_residual(x, y, gate) and layer_norm_modulate(new_x, scale, shift, eps).

    One pass instead of two, and the same bits. Returns both.
    """
    out: tuple[Tensor, Tensor, Tensor] = _norm_forward(x, y, gate, scale, shift, eps)
    return out[0], out[1]


def _run(x: Tensor, y: Tensor, gate: Tensor, save: bool = True) -> Tensor:
    out = new_like(x)
    launch(_native.gated_residual, x, y, gate, out)
    return out


def _fake(x: Tensor, y: Tensor, gate: Tensor) -> Tensor:
    return new_like(x)


def _setup_context(ctx: Any, inputs: Any, output: Any) -> None:
    _, y, gate = inputs
    ctx.save_for_backward(y, gate)


def _backward_formula(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    return (grad, *_backward(grad, *ctx.saved_tensors))


def _backward_run(grad: Tensor, y: Tensor, gate: Tensor) -> tuple[Tensor, Tensor]:
    grad_y, grad_gate = _backward_fake(grad, y, gate)
    launch_with_workspace(_native.gated_residual_backward, grad, y, gate, grad_y, grad_gate)
    return grad_y, grad_gate


def _backward_fake(grad: Tensor, y: Tensor, gate: Tensor) -> tuple[Tensor, Tensor]:
    return new_like(y), new_like(gate)


def _norm_run(
    x: Tensor,
    y: Tensor,
    gate: Tensor,
    scale: Tensor,
    shift: Tensor,
    eps: float,
    save: bool = True,
) -> tuple[Tensor, Tensor, Tensor | None]:
    new_x, out = new_like(x), new_like(x)
    statistics = new_statistics(x) if save else None
    launch(_native.gated_residual_layer_norm, x, y, gate, scale, shift, eps, new_x, out, statistics)
    return new_x, out, statistics


def _norm_fake(
    x: Tensor, y: Tensor, gate: Tensor, scale: Tensor, shift: Tensor, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    return new_like(x), new_like(x), new_statistics(x)


def _norm_setup_context(ctx: Any, inputs: Any, output: Any) -> None:
    _, y, gate, scale, _, _ = inputs
    new_x, _, statistics = output
    ctx.set_materialize_grads(False)
    ctx.save_for_backward(new_x, y, gate, scale, statistics)


def _norm_backward_formula(
    ctx: Any, grad_new_x: Tensor | None, grad: Tensor | None, _: None = None
) -> tuple[Tensor | None, ...]:
    new_x, y, gate, scale, statistics = ctx.saved_tensors
    grad_scale = grad_shift = None
    if grad is not None:
        grad_new_x, grad_scale, grad_shift = layer_norm_modulate_backward(
            grad, grad_new_x, new_x, scale, statistics
        )
    if grad_new_x is None:
        return (None,) * 6
    grad_y, grad_gate = _backward(grad_new_x, y, gate)
    return grad_new_x, grad_y, grad_gate, grad_scale, grad_shift, None


_backward = operator(
    "gated_residual_backward(Tensor grad, Tensor y, Tensor gate) -> (Tensor, Tensor)",
    _backward_run,
    _backward_fake,
)
_forward = operator(
    "gated_residual(Tensor x, Tensor y, Tensor gate) -> Tensor",
    _run,
    _fake,
    _setup_context,
    _backward_formula,
)
_norm_forward = operator(
    "gated_residual_layer_norm(Tensor x, Tensor y, Tensor gate, Tensor scale, Tensor shift, "
    "float eps) -> (Tensor, Tensor, Tensor)",
    _norm_run,
    _norm_fake,
    _norm_setup_context,
    _norm_backward_formula,
    kept=1,
)
