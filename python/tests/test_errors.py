import pytest
import torch

import pantograph.torch as pt


def rows(*shape, dtype=torch.float32):
    return torch.zeros(shape or (2, 3, 8), dtype=dtype)


HEADS = torch.zeros(1, 2, 3, 8)
WEIGHT = torch.ones(8)
ANGLES = torch.zeros(2, 4)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: pt.gelu_tanh(rows(2, 3)),
            r"x is f32 \[2, 3\] on the CPU, but must be \[B, S, C\]",
        ),
        (lambda: pt.gelu_tanh(rows(dtype=torch.int32)), "torch.int32"),
        (lambda: pt.swiglu(rows(), rows(2, 3, 9)), r"gate .* must be .* \[2, 3, 8\]"),
        (lambda: pt.swiglu(rows(), rows(dtype=torch.float16)), "gate is f16"),
        (
            lambda: pt.gated_residual(rows(), rows(), rows(8, 8)),
            r"gate .* \[2, 8\] on the CPU, or \[8\]",
        ),
        (lambda: pt.gated_residual(rows(), rows(2, 3, 1), rows(8)), "y is"),
        (lambda: pt.layer_norm_modulate(rows(), rows(3, 8), rows(3, 8)), "scale is"),
        (lambda: pt.layer_norm_modulate(rows(), rows(8), rows(2, 8)), "shift is"),
        (
            lambda: pt.layer_norm_modulate(rows(1, 1, 16385), rows(16385), rows(16385)),
            "takes up to 16384",
        ),
        (lambda: pt.qk_rmsnorm_rope(HEADS, HEADS[:, :1], WEIGHT, WEIGHT), "k is"),
        (lambda: pt.qk_rmsnorm_rope(HEADS, HEADS, WEIGHT[:4], WEIGHT), "wq is"),
        (
            lambda: pt.qk_rmsnorm_rope(HEADS[..., :7], HEADS[..., :7], WEIGHT[:7], WEIGHT[:7]),
            "takes an even number from 2 to 512",
        ),
        (lambda: pt.qk_rmsnorm_rope(HEADS, HEADS, WEIGHT, WEIGHT, 1e-6, ANGLES), "only one"),
        (
            lambda: pt.qk_rmsnorm_rope(HEADS, HEADS, WEIGHT, WEIGHT, 1e-6, ANGLES[:1], ANGLES),
            r"cos .* must be f32 \[2, 4\]",
        ),
        (lambda: pt.gelu_tanh(rows().to_sparse()), "must be a dense tensor"),
    ],
)
def test_says_what_is_wrong_and_what_would_be_right(call, message):
    with pytest.raises((ValueError, NotImplementedError, RuntimeError), match=message):
        call()


def test_other_devices_are_named():
    with pytest.raises(ValueError, match="on meta: it must be a dense tensor"):
        pt.gelu_tanh(rows().to("meta"))


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA GPU")
def test_on_a_gpu():
    with pytest.raises(ValueError, match=r"gate is .* on the CPU, but must be .* on GPU 0"):
        pt.swiglu(rows().cuda(), rows())
    with pytest.raises(ValueError, match="f64"):
        pt.gelu_tanh(rows(dtype=torch.float64).cuda())
