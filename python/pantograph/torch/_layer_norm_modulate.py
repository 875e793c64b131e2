from typing import Any

from torch import Tensor

from pantograph import _native

from ._launch import launch, launch_with_workspace, new_like, statistics_dtype
from ._operator import operator


def layer_norm_modulate(x: Tensor, scale: Tensor, shift: Tensor, eps: float = 1e-6) -> Tensor:
    """LayerNorm of each row of x, times scale, plus shift, rounded once.

    x: [B, S, C], any strides but the last; C is at most 16384.
    scale, shift: [B, C], one row a sample, or [C] for all, of x's type. `scale` is the whole
    factor: pass 1 + scale where a model predicts the difference from 1.

    Returns a contiguous tensor of x's shape.
    """
    out: tuple[Tensor, Tensor] = _forward(x, scale, shift, eps)
    return out[0]


def new_statistics(x: Tensor) -> Tensor:
    """[2, B, S]: the mean and the reciprocal standard deviation of each row."""
    return x.new_empty((2, *x.shape[:2]), dtype=statistics_dtype(x))


def _run(
    x: Tensor, scale: Tensor, shift: Tensor, eps: float, save: bool = True
) -> tuple[Tensor, Tensor | None]:
    out = new_like(x)
    statistics = new_statistics(x) if save else None
    launch(_native.layer_norm_modulate, x, scale, shift, eps, out, statistics)
    return out, statistics


def _fake(x: Tensor, scale: Tensor, shift: Tensor, eps: float) -> tuple[Tensor, Tensor]:
    return new_like(x), new_statistics(x)


def _setup_context(ctx: Any, inputs: Any, output: Any) -> None:
    x, scale, _, _ = inputs
    ctx.set_materialize_grads(False)
    ctx.save_for_backward(x, scale, output[1])


def _backward_formula(ctx: Any, grad: Tensor | None, _: None = None) -> tuple[Tensor | None, ...]:
    if grad is None:
        return None, None, None, None
    x, scale, statistics = ctx.saved_tensors
    grads = layer_norm_modulate_backward(grad, None, x, scale, statistics)
    return (*grads, None)


def _backward_run(
    grad: Tensor, grad_sum: Tensor | None, x: Tensor, scale: Tensor, statistics: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    inputs = (grad, grad_sum, x, scale, statistics)
    outputs = _backward_fake(*inputs)
    launch_with_workspace(_native.layer_norm_modulate_backward, *inputs, *outputs)
    return outputs


def _backward_fake(
    grad: Tensor, grad_sum: Tensor | None, x: Tensor, scale: Tensor, statistics: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    return new_like(x), new_like(scale), new_like(scale)


layer_norm_modulate_backward = operator(
    "layer_norm_modulate_backward(Tensor grad, Tensor? grad_sum, Tensor x, Tensor scale, "
    "Tensor statistics) -> (Tensor, Tensor, Tensor)",
    _backward_run,
    _backward_fake,
)
_forward = operator(
    "layer_norm_modulate(Tensor x, Tensor scale, Tensor shift, float eps) -> (Tensor, Tensor)",
    _run,
    _fake,
    _setup_context,
    _backward_formula,
    kept=1,
)
