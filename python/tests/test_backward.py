import expressions
import pytest
import torch
from cases import EPSILON, NAMES, Size, as_tuple, error, inputs
from torch.autograd import gradcheck

import pantograph.torch


def leaves_of(args):
    """The arguments that get gradients, as leaves: all tensors but the tables of angles."""
    return [
        a.detach().requires_grad_() if isinstance(a, torch.Tensor) and i < 5 else a
        for i, a in enumerate(args)
    ]


def gradients(function, args, upstream):
    leaves = leaves_of(args)
    results = as_tuple(function(*leaves))
    torch.autograd.backward(results, upstream)
    return [a.grad for a in leaves if isinstance(a, torch.Tensor) and a.requires_grad]


@pytest.mark.parametrize("shared", [False, True], ids=["per_sample", "shared"])
@pytest.mark.parametrize("name", NAMES)
def test_gradcheck_in_double_precision(name, shared):
    torch.manual_seed(1)
    size = Size(2, 2, 2, 4, 6, shared=shared, rotated=not shared)
    args = leaves_of(inputs(name, size, torch.float64, "cpu"))
    assert gradcheck(getattr(pantograph.torch, name), args)


@pytest.mark.parametrize(
    "size",
    [
        Size(2, 70, 3, 128, 4096),
        Size(1, 500, 32, 64, 256, shared=True, rotated=False),
        Size(3, 9, 2, 510, 77),
        Size(1, 3, 5, 512, 16384),
        Size(2, 3, 5, 6, 8200, shared=True),
    ],
    ids=["pan2", "shared", "odd", "wide", "shared_wide"],
)
@pytest.mark.parametrize("name", NAMES)
def test_agrees_with_double_precision(name, size, dtype, device):
    args = inputs(name, size, dtype, device)
    function = getattr(pantograph.torch, name)
    with torch.no_grad():
        upstream = [torch.randn_like(r.contiguous()) for r in as_tuple(function(*args))]
    actual = gradients(function, args, upstream)
    widened = [a.cpu().double() if isinstance(a, torch.Tensor) else a for a in args]
    expected = gradients(getattr(expressions, name), widened, [u.cpu().double() for u in upstream])
    for a, e in zip(actual, expected, strict=True):
        assert a.dtype is dtype
        # fp32 statistics and sums cost a few more bits than the final rounding does.
        assert error(a, e) < (3e-6 if dtype is torch.float32 else 2 * EPSILON[dtype])


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA GPU")
@pytest.mark.parametrize("name", NAMES)
def test_gpu_agrees_with_the_cpu_reference(name, dtype):
    torch.manual_seed(5)
    args = inputs(name, Size(2, 40, 4, 128, 1024), dtype, "cpu")
    on_gpu = [a.cuda() if isinstance(a, torch.Tensor) else a for a in args]
    function = getattr(pantograph.torch, name)
    results, gpu_results = as_tuple(function(*args)), as_tuple(function(*on_gpu))
    upstream = [torch.randn_like(r) for r in results]
    grads = gradients(function, args, upstream)
    gpu_grads = gradients(function, on_gpu, [u.cuda() for u in upstream])
    for a, e in zip((*gpu_results, *gpu_grads), (*results, *grads), strict=True):
        if dtype is torch.float32:
            assert error(a, e) < 1e-6
        else:
            assert (a.cpu() != e).sum() <= 2 + 5e-3 * a.numel()
            assert error(a, e) < EPSILON[dtype] / 4


def test_gradients_of_one_output_only(device):
    q, k, wq, wk, eps, cos, sin = leaves_of(
        inputs("qk_rmsnorm_rope", Size(), torch.float32, device)
    )
    out, _ = pantograph.torch.qk_rmsnorm_rope(q, k, wq, wk, eps, cos, sin)
    out.sum().backward()
    assert q.grad.abs().sum() > 0
    assert k.grad.abs().sum() == 0

    leaves = leaves_of(inputs("gated_residual_layer_norm", Size(), torch.float32, device))
    x, y, gate, scale, *_ = leaves
    new_x, _ = pantograph.torch.gated_residual_layer_norm(*leaves)
    new_x.sum().backward()
    assert torch.equal(x.grad, torch.ones_like(x))
    assert torch.equal(y.grad, gate.detach()[:, None].expand_as(y))
    assert scale.grad is None


def test_a_second_derivative_is_refused(device):
    x = torch.randn(1, 2, 8, device=device, requires_grad=True)
    y = pantograph.torch.gelu_tanh(x)
    with pytest.raises(RuntimeError, match="gelu_tanh has no second derivative"):
        torch.autograd.grad(y.sum(), x, create_graph=True)
