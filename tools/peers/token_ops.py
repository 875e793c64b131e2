"""Times the token operators beside their peers on one GPU, in one run.

    python tools/peers/token_ops.py --out bench/results/h200/token_ops.json

Peers: the plain PyTorch expression eager and under torch.compile, and, forward, a plain Triton
kernel. Times are medians over CUDA events; `floor_ms` is the time a copy takes over the bytes that
the operator must move. Overheads are host times of calls on a one-row tensor, the queue not full.
"""

import argparse
import json
import statistics
import sys
import time
from functools import partial
from pathlib import Path

import token_ops_triton
import torch
import torch._functorch.config

import pantograph.torch

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python" / "tests"))

import expressions  # noqa: E402

NAMES = [
    "qk_rmsnorm_rope",
    "layer_norm_modulate",
    "gated_residual",
    "gated_residual_layer_norm",
    "swiglu",
    "gelu_tanh",
]
# Tensors of the whole shape that are read and written, forward and backward.
PASSES = {
    "qk_rmsnorm_rope": (4, 6),
    "layer_norm_modulate": (2, 3),
    "gated_residual": (3, 3),
    "gated_residual_layer_norm": (4, 6),
    "swiglu": (3, 5),
    "gelu_tanh": (2, 3),
}


def milliseconds(function, runs):
    for _ in range(3):
        function()
    events = [(torch.cuda.Event(True), torch.cuda.Event(True)) for _ in range(runs)]
    for start, end in events:
        start.record()
        function()
        end.record()
    torch.cuda.synchronize()
    return statistics.median(start.elapsed_time(end) for start, end in events)


def inputs(name, tokens, heads, dim):
    def make(*shape):
        return torch.randn(shape, device="cuda", dtype=torch.bfloat16)

    channels = heads * dim
    x, table = (1, tokens, channels), (1, channels)
    if name == "qk_rmsnorm_rope":
        q, k, _ = make(1, tokens, 3, heads, dim).unbind(2)
        angles = torch.randn(tokens, dim // 2, device="cuda")
        return (q, k, make(dim), make(dim), 1e-6, angles.cos(), angles.sin())
    if name == "layer_norm_modulate":
        return make(*x), make(*table), make(*table), 1e-6
    if name == "gated_residual":
        return make(*x), make(*x), make(*table)
    if name == "gated_residual_layer_norm":
        return make(*x), make(*x), make(*table), make(*table), make(*table), 1e-6
    if name == "swiglu":
        return make(1, tokens, 2 * channels).chunk(2, dim=-1)
    return (make(*x),)


def leaves_of(args):
    """All tensors but the fp32 tables of angles want gradients."""
    return [
        a.detach().requires_grad_() if torch.is_tensor(a) and a.dtype is torch.bfloat16 else a
        for a in args
    ]


def backward_of(function, args):
    leaves = leaves_of(args)
    results = function(*leaves)
    results = results if isinstance(results, tuple) else (results,)
    wanted = [a for a in leaves if torch.is_tensor(a) and a.requires_grad]
    upstream = [torch.randn_like(r) for r in results]
    return lambda: torch.autograd.grad(results, wanted, upstream, retain_graph=True)


def overhead_us(function, args, calls=2000):
    for _ in range(200):
        function(*args)
    best = float("inf")
    for _ in range(10):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(calls // 10):
            function(*args)
        best = min(best, (time.perf_counter() - start) / (calls // 10))
    torch.cuda.synchronize()
    return best * 1e6


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tokens", type=int, default=67782)
    parser.add_argument("--heads", type=int, default=32)
    parser.add_argument("--head-dim", type=int, default=128)
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument("--ours-only", action="store_true")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    torch._functorch.config.donated_buffer = False  # the graph is kept for repeated backwards

    size = options.tokens * options.heads * options.head_dim
    source = torch.randn(size, device="cuda", dtype=torch.bfloat16)
    target = torch.empty_like(source)
    copy = milliseconds(partial(target.copy_, source), options.runs)
    bytes_per_ms = 2 * source.nbytes / copy
    one_pass = source.nbytes / bytes_per_ms
    del source, target

    # First of all: once torch.compile has run, Python's calls take longer. A processor that has
    # idled needs a while to reach its speed.
    small = torch.randn(1, 1, options.heads * options.head_dim, device="cuda", dtype=torch.bfloat16)
    end = time.perf_counter() + 5
    while time.perf_counter() < end:
        torch.neg(small)
    overheads = {}
    for name in NAMES:
        ours = getattr(pantograph.torch, name)
        small = inputs(name, 1, options.heads, options.head_dim)
        with torch.no_grad():
            overheads[name] = {"no_grad": overhead_us(ours, small)}
        overheads[name]["grad"] = overhead_us(ours, leaves_of(small))
    with torch.no_grad():
        neg = overhead_us(torch.neg, (small[0],))

    results = {}
    for name in NAMES:
        ours = getattr(pantograph.torch, name)
        peers = {"pantograph": ours}
        if not options.ours_only:
            expression = getattr(expressions, name)
            peers["eager"] = expression
            peers["compile"] = torch.compile(expression)
            if hasattr(token_ops_triton, name):
                peers["triton"] = getattr(token_ops_triton, name)
        args = inputs(name, options.tokens, options.heads, options.head_dim)
        forward, backward = PASSES[name]
        row = {
            "forward": {"floor_ms": forward * one_pass},
            "backward": {"floor_ms": backward * one_pass},
        }
        for peer, function in peers.items():
            with torch.no_grad():
                row["forward"][peer] = milliseconds(partial(function, *args), options.runs)
            if peer != "triton":
                run = backward_of(function, args)
                row["backward"][peer] = milliseconds(run, options.runs)
                del run
        row["overhead_us"] = overheads[name]
        results[name] = row
        torch._dynamo.reset()
        print(name, json.dumps(row, default=float), flush=True)

    summary = {
        "gpu": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "shape": [1, options.tokens, options.heads, options.head_dim],
        "dtype": "bfloat16",
        "copy_tb_per_s": bytes_per_ms / 1e9,
        "torch_neg_overhead_us": neg,
        "milliseconds": results,
    }
    if options.out:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(json.dumps(summary, indent=1) + "\n")


if __name__ == "__main__":
    main()
