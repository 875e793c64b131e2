from typing import Any

import torch
from torch import Tensor

from pantograph import _native

from ._launch import launch, launch_with_workspace, new_like, statistics_dtype
from ._operator import operator


def qk_rmsnorm_rope(
    q: Tensor,
    k: Tensor,
    wq: Tensor,
    wk: Tensor,
    eps: float = 1e-6,
    cos: Tensor | None = None,
    sin: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """RMS-normalises each head of q and k, and rotates it by its token's angles.

    q, k: [B, S, H, D] of one type, any strides but the last; D is even, at most 512.
    wq, wk: [D], of that type. The normalised value is rounded before and after the product.
    cos, sin: [S, D/2] of float32 (float64 beside float64), for the pairs (0, 1), (2, 3), ... of a
    head; without them nothing is rotated. They get no gradient.

    Returns contiguous tensors of q's shape.
    """
    out: tuple[Tensor, Tensor, Tensor] = _forward(q, k, wq, wk, eps, cos, sin)
    return out[0], out[1]


def _run(
    q: Tensor,
    k: Tensor,
    wq: Tensor,
    wk: Tensor,
    eps: float,
    cos: Tensor | None,
    sin: Tensor | None,
    save: bool = True,
) -> tuple[Tensor, Tensor, Tensor | None]:
    q_out, k_out = new_like(q), new_like(q)
    rstd = q.new_empty((2, *q.shape[:3]), dtype=statistics_dtype(q)) if save else None
    launch(_native.qk_rmsnorm_rope, q, k, wq, wk, eps, cos, sin, q_out, k_out, rstd)
    return q_out, k_out, rstd


def _fake(
    q: Tensor,
    k: Tensor,
    wq: Tensor,
    wk: Tensor,
    eps: float,
    cos: Tensor | None,
    sin: Tensor | None,
) -> tuple[Tensor, Tensor, Tensor]:
    rstd = q.new_empty((2, *q.shape[:3]), dtype=statistics_dtype(q))
    return new_like(q), new_like(q), rstd


def _setup_context(ctx: Any, inputs: Any, output: Any) -> None:
    q, k, wq, wk, _, cos, sin = inputs
    ctx.set_materialize_grads(False)
    ctx.save_for_backward(q, k, wq, wk, cos, sin, output[2])


def _backward_formula(
    ctx: Any, grad_q: Tensor | None, grad_k: Tensor | None, _: None = None
) -> tuple[Tensor | None, ...]:
    q, k, wq, wk, cos, sin, rstd = ctx.saved_tensors
    grad_q = torch.zeros_like(q) if grad_q is None else grad_q
    grad_k = torch.zeros_like(k) if grad_k is None else grad_k
    grads = _backward(grad_q, grad_k, q, k, wq, wk, cos, sin, rstd)
    return (*grads, None, None, None)


def _backward_run(
    grad_q: Tensor,
    grad_k: Tensor,
    q: Tensor,
    k: Tensor,
    wq: Tensor,
    wk: Tensor,
    cos: Tensor | None,
    sin: Tensor | None,
    rstd: Tensor,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    inputs = (q, k, wq, wk, cos, sin, rstd)
    outputs = _backward_fake(grad_q, grad_k, *inputs)
    launch_with_workspace(_native.qk_rmsnorm_rope_backward, grad_q, grad_k, *inputs, *outputs)
    return outputs


def _backward_fake(
    grad_q: Tensor,
    grad_k: Tensor,
    q: Tensor,
    k: Tensor,
    wq: Tensor,
    wk: Tensor,
    cos: Tensor | None,
    sin: Tensor | None,
    rstd: Tensor,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    return new_like(q), new_like(q), new_like(wq), new_like(wk)


_backward = operator(
    "qk_rmsnorm_rope_backward(Tensor grad_q, Tensor grad_k, Tensor q, Tensor k, Tensor wq, "
    "Tensor wk, Tensor? cos, Tensor? sin, Tensor rstd) -> (Tensor, Tensor, Tensor, Tensor)",
    _backward_run,
    _backward_fake,
)
_forward = operator(
    "qk_rmsnorm_rope(Tensor q, Tensor k, Tensor wq, Tensor wk, float eps, Tensor? cos, "
    "Tensor? sin) -> (Tensor, Tensor, Tensor)",
    _run,
    _fake,
    _setup_context,
    _backward_formula,
    kept=1,
)
