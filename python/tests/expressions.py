"""The operators as plain PyTorch expressions, with the same roundings."""

import torch
import torch.nn.functional as F  # noqa: N812


def wide(tensor):
    return tensor if tensor.dtype is torch.float64 else tensor.float()


def rope(x, cos, sin):
    even, odd = wide(x)[..., 0::2], wide(x)[..., 1::2]
    cos, sin = cos[:, None], sin[:, None]
    turned = torch.stack((even * cos - odd * sin, odd * cos + even * sin), dim=-1)
    return turned.flatten(-2).to(x.dtype)


def rmsnorm_rope(x, weight, eps, cos, sin):
    n = wide(x) * torch.rsqrt(wide(x).pow(2).mean(-1, keepdim=True) + eps)
    y = n.to(x.dtype) * weight
    return y if cos is None else rope(y, cos, sin)


def qk_rmsnorm_rope(q, k, wq, wk, eps=1e-6, cos=None, sin=None):
    return rmsnorm_rope(q, wq, eps, cos, sin), rmsnorm_rope(k, wk, eps, cos, sin)


def per_row(table):
    """A table of [B, C] or [C] against [B, S, C]."""
    return wide(table if table.dim() == 1 else table[:, None])


def layer_norm_modulate(x, scale, shift, eps=1e-6):
    n = F.layer_norm(wide(x), x.shape[-1:], eps=eps)
    return (n * per_row(scale) + per_row(shift)).to(x.dtype)


def gated_residual(x, y, gate):
    return (wide(x) + wide(y) * per_row(gate)).to(x.dtype)


def gated_residual_layer_norm(x, y, gate, scale, shift, eps=1e-6):
    new_x = gated_residual(x, y, gate)
    return new_x, layer_norm_modulate(new_x, scale, shift, eps)


def swiglu(value, gate):
    return value * F.silu(gate)


def gelu_tanh(x):
    return F.gelu(x, approximate="tanh")
