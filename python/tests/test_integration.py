"""torch.compile, checkpointing, dispatch modes, CUDA graphs and streams see one operator."""

import pytest
import torch
from cases import NAMES, Size, as_tuple, inputs
from test_backward import leaves_of
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.checkpoint import checkpoint

import pantograph.torch

NEEDS_GPU = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA GPU"),
]


def results_and_gradients(function, args):
    leaves = leaves_of(args)
    results = as_tuple(function(*leaves))
    sum((r.float() ** 2).sum() for r in results).backward()
    grads = [a.grad for a in leaves if isinstance(a, torch.Tensor) and a.requires_grad]
    return [*(r.detach() for r in results), *grads]


@pytest.mark.parametrize("name", NAMES)
def test_registration(name, device):
    args = leaves_of(inputs(name, Size(), torch.float32, device))
    torch.library.opcheck(getattr(torch.ops.pantograph, name).default, args)


@pytest.mark.parametrize("name", NAMES)
def test_compiles_to_one_node_of_the_graph(name, device):
    torch._dynamo.reset()
    graphs = []

    def backend(module, _):
        graphs.append(module.graph)
        return module.forward

    function = getattr(pantograph.torch, name)
    args = inputs(name, Size(), torch.bfloat16, device)
    compiled = torch.compile(function, fullgraph=True, backend=backend)
    for actual, expected in zip(as_tuple(compiled(*args)), as_tuple(function(*args)), strict=True):
        assert torch.equal(actual, expected)
    (graph,) = graphs
    nodes = [n for n in graph.nodes if str(n.target).startswith("pantograph.")]
    assert len(nodes) == 1


@pytest.mark.parametrize("name", NAMES)
def test_trains_compiled(name, device):
    torch._dynamo.reset()
    function = getattr(pantograph.torch, name)
    args = inputs(name, Size(), torch.float32, device)
    compiled = torch.compile(function, fullgraph=True, backend="aot_eager")
    expected = results_and_gradients(function, args)
    for a, e in zip(results_and_gradients(compiled, args), expected, strict=True):
        assert torch.equal(a, e)


@pytest.mark.parametrize("use_reentrant", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_checkpointing_recomputes_the_same(name, use_reentrant, device):
    function = getattr(pantograph.torch, name)
    args = inputs(name, Size(), torch.bfloat16, device)

    def checkpointed(*leaves):
        return checkpoint(function, *leaves, use_reentrant=use_reentrant)

    expected = results_and_gradients(function, args)
    for a, e in zip(results_and_gradients(checkpointed, args), expected, strict=True):
        assert torch.equal(a, e)


class Recorder(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.seen = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.seen.append(str(func))
        return func(*args, **(kwargs or {}))


def test_dispatch_modes_see_the_operator(device):
    x = torch.randn(1, 2, 8, device=device, requires_grad=True)
    with Recorder() as recorder:
        pantograph.torch.gelu_tanh(x).backward(torch.ones_like(x))
    assert "pantograph.gelu_tanh.default" in recorder.seen
    assert "pantograph.gelu_tanh_backward.default" in recorder.seen


@pytest.mark.parametrize("name", [pytest.param(n, marks=NEEDS_GPU) for n in NAMES])
def test_cuda_graph_replays_forward_and_backward(name):
    torch.manual_seed(11)
    function = getattr(pantograph.torch, name)
    leaves = leaves_of(inputs(name, Size(2, 64, 4, 128, 4096), torch.bfloat16, "cuda"))
    tensors = [a for a in leaves if isinstance(a, torch.Tensor) and a.requires_grad]

    def step():
        results = as_tuple(function(*leaves))
        grads = torch.autograd.grad(results, tensors, [torch.ones_like(r) for r in results])
        return [*results, *grads]

    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = step()
    with torch.no_grad():
        for t in tensors:
            t.copy_(torch.randn_like(t))
    graph.replay()
    for a, e in zip(captured, step(), strict=True):
        assert torch.equal(a, e)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA GPU")
def test_launches_on_the_current_stream():
    x = torch.zeros(1, 4096, 4096, device="cuda")
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        torch.cuda._sleep(100_000_000)  # long after the other streams are idle
        x.fill_(3.0)
        out = pantograph.torch.gelu_tanh(x)
    stream.synchronize()
    assert out.min().item() == pytest.approx(2.996363, rel=1e-5)


@pytest.mark.gpu
@pytest.mark.skipif(
    not torch.cuda.is_available() or torch.cuda.mem_get_info()[0] < 40 * 2**30,
    reason="needs a CUDA GPU with 40 GiB free",
)
def test_more_than_two_to_the_31_elements():
    rows, channels = 2**19 + 3, 4096
    x = torch.randn(1, rows, channels, device="cuda", dtype=torch.bfloat16)
    scale, shift = torch.randn(2, channels, device="cuda", dtype=torch.bfloat16)
    last = x[:, -5:].clone()
    out = pantograph.torch.layer_norm_modulate(x, scale, shift)
    assert torch.equal(out[:, -5:], pantograph.torch.layer_norm_modulate(last, scale, shift))
    del out
    gated = pantograph.torch.gated_residual(x, x, scale)
    assert torch.equal(gated[:, -5:], pantograph.torch.gated_residual(last, last, scale))
    del gated
    q, weight = x.view(1, rows, 32, 128), scale[:128].contiguous()
    out_q, _ = pantograph.torch.qk_rmsnorm_rope(q, q, weight, weight)
    small, _ = pantograph.torch.qk_rmsnorm_rope(q[:, -5:], q[:, -5:], weight, weight)
    assert torch.equal(out_q[:, -5:], small)
