import pytest
import torch

_GPU = pytest.param(
    "cuda",
    marks=[
        pytest.mark.gpu,
        pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA GPU"),
    ],
)


@pytest.fixture(params=["cpu", _GPU])
def device(request):
    torch.manual_seed(7)
    return request.param


@pytest.fixture(params=[torch.float32, torch.bfloat16, torch.float16], ids=["f32", "bf16", "f16"])
def dtype(request):
    return request.param
