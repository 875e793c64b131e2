import expressions
import pytest
import torch
from cases import EPSILON, NAMES, Size, as_tuple, error, inputs

import pantograph.torch

SIZES = {
    "pan2": Size(1, 4, 32, 128, 4096),
    "shared": Size(shared=True, rotated=False),
    "one_row": Size(1, 1, 1, 2, 1),
    "head_64": Size(heads=5, head_dim=64, channels=1024),
    "head_256": Size(head_dim=256, channels=8192),
    "head_512": Size(head_dim=512, channels=16384),
    "odd": Size(3, 7, 3, 6, 13),
    "odd_wide": Size(1, 3, 2, 510, 16383),
    "unaligned": Size(1, 3, 2, 100, 1004),
}


@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES.keys())
@pytest.mark.parametrize("name", NAMES)
def test_agrees_with_the_plain_expression(name, size, dtype, device):
    args = inputs(name, size, dtype, device)
    actual = as_tuple(getattr(pantograph.torch, name)(*args))
    expected = as_tuple(getattr(expressions, name)(*args))
    for a, e in zip(actual, expected, strict=True):
        assert a.is_contiguous()
        assert a.dtype is dtype
        # Roundings fall in the same places; only the last bits of statistics and of exp differ.
        if dtype is torch.float32:
            assert error(a, e) < 16 * EPSILON[dtype]
        else:
            assert (a != e).sum() <= 2 + 2e-3 * a.numel()
            assert error(a, e) < EPSILON[dtype] / 2


def test_gated_residual_is_bit_for_bit(device):
    for dtype in (torch.bfloat16, torch.float16):
        args = inputs("gated_residual", Size(3, 33, channels=1000), dtype, device)
        expected = expressions.gated_residual(*args)
        assert torch.equal(pantograph.torch.gated_residual(*args), expected)


def test_fused_residual_and_norm_give_the_bits_of_the_two_apart(dtype, device):
    for channels in (4096, 77):
        x, y, gate, scale, shift, _ = inputs(
            "gated_residual_layer_norm", Size(2, 9, channels=channels), dtype, device
        )
        new_x, out = pantograph.torch.gated_residual_layer_norm(x, y, gate, scale, shift)
        apart = pantograph.torch.gated_residual(x, y, gate)
        assert torch.equal(new_x, apart)
        assert torch.equal(out, pantograph.torch.layer_norm_modulate(apart, scale, shift))


def test_rotation_of_a_known_pair(device):
    q = torch.tensor([3.0, 4.0], device=device).view(1, 1, 1, 2)
    weight = torch.ones(2, device=device)
    quarter_turn = (torch.zeros(1, 1, device=device), torch.ones(1, 1, device=device))
    out, _ = pantograph.torch.qk_rmsnorm_rope(q, q, weight, weight, 0.0, *quarter_turn)
    rms = 12.5**0.5
    assert out.flatten().tolist() == pytest.approx([-4 / rms, 3 / rms], rel=1e-6)


def test_a_large_mean_does_not_spoil_the_variance(device):
    x = torch.tensor([1000.0, 1001.0, 1002.0, 1003.0], device=device).view(1, 1, 4)
    one, zero = torch.ones(4, device=device), torch.zeros(4, device=device)
    out = pantograph.torch.layer_norm_modulate(x, one, zero, 0.0).flatten().tolist()
    assert out == pytest.approx([-1.3416408, -0.4472136, 0.4472136, 1.3416408], rel=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_strides_do_not_change_the_bits(name, device):
    args = inputs(name, Size(2, 3, 4, 64, 64), torch.bfloat16, device)
    expected = as_tuple(
        getattr(pantograph.torch, name)(
            *(a.contiguous() if isinstance(a, torch.Tensor) else a for a in args)
        )
    )

    def spread(a):
        if not isinstance(a, torch.Tensor):
            return a
        wide = a.new_zeros((*(2 * n for n in a.shape[:-1]), a.shape[-1] + 1))
        view = wide[(*(slice(None, None, 2) for _ in a.shape[:-1]), slice(1, None))]
        if a.dim() == 2 and "norm" in name:
            view = a.new_zeros((a.shape[0], 3 * a.shape[1]))[:, a.shape[1] : 2 * a.shape[1]]
        return view.copy_(a)

    def transpose(a):
        return a.mT.contiguous().mT if isinstance(a, torch.Tensor) and a.dim() > 1 else a

    for transform in (spread, transpose):
        actual = as_tuple(getattr(pantograph.torch, name)(*map(transform, args)))
        for a, e in zip(actual, expected, strict=True):
            # Statistics of unaligned rows are summed in another order on a GPU.
            assert error(a, e) < 1e-3 if device == "cuda" else torch.equal(a, e)


@pytest.mark.parametrize("size", [Size(batch=0), Size(tokens=0)], ids=["batch", "tokens"])
@pytest.mark.parametrize("name", NAMES)
def test_empty_tensors(name, size, device):
    args = inputs(name, size, torch.float32, device)
    args = [
        a.requires_grad_() if isinstance(a, torch.Tensor) and i < 5 else a
        for i, a in enumerate(args)
    ]
    if name in ("qk_rmsnorm_rope", "swiglu"):  # views of a projection
        args = [a.detach().requires_grad_() if isinstance(a, torch.Tensor) else a for a in args]
    results = as_tuple(getattr(pantograph.torch, name)(*args))
    sum(r.sum() for r in results).backward()
    expected = (size.batch, size.tokens)
    assert all(r.shape[:2] == expected and r.numel() == 0 for r in results)
    for a in args:
        if isinstance(a, torch.Tensor) and a.grad is not None:
            assert a.grad.count_nonzero() == 0


@pytest.mark.parametrize("name", NAMES)
def test_repeats_bit_for_bit(name, device):
    def once():
        torch.manual_seed(3)
        args = inputs(name, Size(2, 300, 4, 64, 512), torch.bfloat16, device)
        leaves = [
            a.detach().requires_grad_()
            if isinstance(a, torch.Tensor) and a.dtype is torch.bfloat16
            else a
            for a in args
        ]
        results = as_tuple(getattr(pantograph.torch, name)(*leaves))
        sum((r * r.detach()).sum() for r in results).backward()
        return [r.detach() for r in results] + [
            a.grad for a in leaves if isinstance(a, torch.Tensor) and a.grad is not None
        ]

    for first, second in zip(once(), once(), strict=True):
        assert torch.equal(first, second)
