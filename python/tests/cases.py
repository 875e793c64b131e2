"""Inputs of every operator, of any type and size, and how close two results must be."""

from dataclasses import dataclass

import torch

# Half a unit in the last place of each type, relative.
EPSILON = {
    torch.float64: 2**-53,
    torch.float32: 2**-24,
    torch.float16: 2**-11,
    torch.bfloat16: 2**-8,
}


@dataclass(frozen=True)
class Size:
    batch: int = 2
    tokens: int = 5
    heads: int = 3
    head_dim: int = 128
    channels: int = 256
    shared: bool = False  # tables of [C] instead of [B, C]
    rotated: bool = True


def inputs(name, size, dtype, device):
    def make(*shape):
        return torch.randn(shape, dtype=torch.float64).to(device, dtype)

    rows = (size.batch, size.tokens, size.channels)
    table = (size.channels,) if size.shared else (size.batch, size.channels)
    if name == "qk_rmsnorm_rope":
        # Views of one projection [B, S, 3, H, D].
        projection = make(size.batch, size.tokens, 3, size.heads, size.head_dim)
        q, k, _ = projection.unbind(2)
        angles = torch.randn(size.tokens, size.head_dim // 2, dtype=torch.float64).to(device)
        angles = angles if dtype is torch.float64 else angles.float()
        tables = (angles.cos(), angles.sin()) if size.rotated else (None, None)
        return (q, k, make(size.head_dim) + 1, make(size.head_dim) + 1, 1e-6, *tables)
    if name == "layer_norm_modulate":
        return make(*rows) * 3 + 1, make(*table) + 1, make(*table), 1e-6
    if name == "gated_residual":
        return make(*rows), make(*rows), make(*table)
    if name == "gated_residual_layer_norm":
        return make(*rows), make(*rows), make(*table), make(*table) + 1, make(*table), 1e-6
    if name == "swiglu":
        # Halves of one projection [B, S, 2C].
        return make(*rows[:2], 2 * size.channels).chunk(2, dim=-1)
    assert name == "gelu_tanh"
    return (make(*rows),)


NAMES = [
    "qk_rmsnorm_rope",
    "layer_norm_modulate",
    "gated_residual",
    "gated_residual_layer_norm",
    "swiglu",
    "gelu_tanh",
]


def as_tuple(result):
    return result if isinstance(result, tuple) else (result,)


def error(actual, expected):
    """The relative error of a whole tensor, in the 2-norm."""
    actual, expected = actual.double().cpu(), expected.double().cpu()
    scale = expected.norm()
    return ((actual - expected).norm() / scale).item() if scale > 0 else actual.norm().item()
