from typing import Any

from torch import Tensor

from pantograph import _native

from ._launch import launch, new_like
from ._operator import operator


def swiglu(value: Tensor, gate: Tensor) -> Tensor:
    """value * silu(gate), with silu rounded before the product.

    value, gate: [B, S, C], any strides but the last: the halves of one projection need no copy.
    Returns a contiguous tensor of that shape.
    """
    out: Tensor = _swiglu(value, gate)
    return out


def gelu_tanh(x: Tensor) -> Tensor:
    """GELU in its tanh form, rounded once; x: [B, S, C], any strides but the last."""
    out: Tensor = _gelu(x)
    return out


def _swiglu_run(value: Tensor, gate: Tensor, save: bool = True) -> Tensor:
    out = new_like(value)
    launch(_native.swiglu, value, gate, out)
    return out


def _swiglu_fake(value: Tensor, gate: Tensor) -> Tensor:
    return new_like(value)


def _swiglu_setup_context(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.save_for_backward(*inputs)


def _swiglu_formula(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor]:
    grads: tuple[Tensor, Tensor] = _swiglu_backward(grad, *ctx.saved_tensors)
    return grads


def _swiglu_backward_run(grad: Tensor, value: Tensor, gate: Tensor) -> tuple[Tensor, Tensor]:
    grad_value, grad_gate = _swiglu_backward_fake(grad, value, gate)
    launch(_native.swiglu_backward, grad, value, gate, grad_value, grad_gate)
    return grad_value, grad_gate


def _swiglu_backward_fake(grad: Tensor, value: Tensor, gate: Tensor) -> tuple[Tensor, Tensor]:
    return new_like(value), new_like(value)


def _gelu_run(x: Tensor, save: bool = True) -> Tensor:
    out = new_like(x)
    launch(_native.gelu_tanh, x, out)
    return out


def _gelu_fake(x: Tensor) -> Tensor:
    return new_like(x)


def _gelu_setup_context(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.save_for_backward(*inputs)


def _gelu_formula(ctx: Any, grad: Tensor) -> Tensor:
    grad_x: Tensor = _gelu_backward(grad, *ctx.saved_tensors)
    return grad_x


def _gelu_backward_run(grad: Tensor, x: Tensor) -> Tensor:
    grad_x = new_like(x)
    launch(_native.gelu_tanh_backward, grad, x, grad_x)
    return grad_x


def _gelu_backward_fake(grad: Tensor, x: Tensor) -> Tensor:
    return new_like(x)


_swiglu_backward = operator(
    "swiglu_backward(Tensor grad, Tensor value, Tensor gate) -> (Tensor, Tensor)",
    _swiglu_backward_run,
    _swiglu_backward_fake,
)
_swiglu = operator(
    "swiglu(Tensor value, Tensor gate) -> Tensor",
    _swiglu_run,
    _swiglu_fake,
    _swiglu_setup_context,
    _swiglu_formula,
)
_gelu_backward = operator(
    "gelu_tanh_backward(Tensor grad, Tensor x) -> Tensor", _gelu_backward_run, _gelu_backward_fake
)
_gelu = operator(
    "gelu_tanh(Tensor x) -> Tensor", _gelu_run, _gelu_fake, _gelu_setup_context, _gelu_formula
)
