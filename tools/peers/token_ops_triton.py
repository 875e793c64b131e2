"""The forward token operators as plain Triton kernels, one program a row: a peer to measure."""

import torch
import triton
import triton.language as tl


@triton.jit
def _qk_kernel(
    q, k, wq, wk, cos, sin, q_out, k_out, token_stride, eps,
    H: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    token = tl.program_id(0).to(tl.int64)
    is_q = tl.program_id(1) == 0
    x = (q if is_q else k) + token * token_stride
    weight = wq if is_q else wk
    out = (q_out if is_q else k_out) + token * H * D
    offsets = tl.arange(0, H)[:, None] * D + tl.arange(0, D)[None, :]
    values = tl.load(x + offsets).to(tl.float32)
    rstd = tl.rsqrt(tl.sum(values * values, 1) / D + eps)
    n = (values * rstd[:, None]).to(tl.bfloat16)
    y = (n.to(tl.float32) * tl.load(weight + tl.arange(0, D)).to(tl.float32)[None, :]).to(
        tl.bfloat16
    )
    even, odd = tl.split(y.to(tl.float32).reshape(H, D // 2, 2))
    half = tl.arange(0, D // 2)
    c = tl.load(cos + token * (D // 2) + half)[None, :]
    s = tl.load(sin + token * (D // 2) + half)[None, :]
    turned = tl.join(even * c - odd * s, odd * c + even * s).reshape(H, D)
    tl.store(out + offsets, turned.to(tl.bfloat16))


def qk_rmsnorm_rope(q, k, wq, wk, eps, cos, sin):
    _, tokens, heads, dim = q.shape
    q_out, k_out = q.new_empty(q.shape), q.new_empty(q.shape)
    _qk_kernel[(tokens, 2)](
        q, k, wq, wk, cos, sin, q_out, k_out, q.stride(1), eps, H=heads, D=dim, num_warps=8
    )
    return q_out, k_out


@triton.jit
def _norm_kernel(x, y, gate, scale, shift, new_x, out, eps, C: tl.constexpr, GATED: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * C
    column = tl.arange(0, C)
    values = tl.load(x + row + column).to(tl.float32)
    if GATED:
        update = tl.load(y + row + column).to(tl.float32) * tl.load(gate + column).to(tl.float32)
        rounded = (values + update).to(tl.bfloat16)
        tl.store(new_x + row + column, rounded)
        values = rounded.to(tl.float32)
    mean = tl.sum(values, 0) / C
    centred = values - mean
    rstd = tl.rsqrt(tl.sum(centred * centred, 0) / C + eps)
    factor = tl.load(scale + column).to(tl.float32)
    result = centred * rstd * factor + tl.load(shift + column).to(tl.float32)
    tl.store(out + row + column, result.to(tl.bfloat16))


def layer_norm_modulate(x, scale, shift, eps):
    out = torch.empty_like(x)
    _norm_kernel[(x.shape[1],)](
        x, x, scale, scale, shift, x, out, eps, C=x.shape[2], GATED=False, num_warps=8
    )
    return out


def gated_residual_layer_norm(x, y, gate, scale, shift, eps):
    new_x, out = torch.empty_like(x), torch.empty_like(x)
    _norm_kernel[(x.shape[1],)](
        x, y, gate, scale, shift, new_x, out, eps, C=x.shape[2], GATED=True, num_warps=8
    )
    return new_x, out


@triton.jit
def _gated_kernel(x, y, gate, out, C: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * C
    column = tl.arange(0, C)
    update = tl.load(y + row + column).to(tl.float32) * tl.load(gate + column).to(tl.float32)
    total = tl.load(x + row + column).to(tl.float32) + update
    tl.store(out + row + column, total.to(tl.bfloat16))


def gated_residual(x, y, gate):
    out = torch.empty_like(x)
    _gated_kernel[(x.shape[1],)](x, y, gate, out, C=x.shape[2], num_warps=8)
    return out


@triton.jit
def _swiglu_kernel(value, gate, out, stride, C: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    column = tl.arange(0, C)
    g = tl.load(gate + row * stride + column).to(tl.float32)
    silu = (g * tl.sigmoid(g)).to(tl.bfloat16).to(tl.float32)
    product = tl.load(value + row * stride + column).to(tl.float32) * silu
    tl.store(out + row * C + column, product.to(tl.bfloat16))


def swiglu(value, gate):
    out = value.new_empty(value.shape)
    _swiglu_kernel[(value.shape[1],)](
        value, gate, out, value.stride(1), C=value.shape[2], num_warps=8
    )
    return out
