"""Writes tests/golden/qwen35_text: a small text tower and the hidden states transformers gives it.

The weights are rounded to bf16 and stored so; the arithmetic is fp32. Each file of prompts holds
token ids and "hidden", what output_hidden_states returns: [layers + 1, tokens, hidden].
"""

# ruff: noqa: ANN401

import argparse
import json
import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import torch
from safetensors.torch import save_file
from transformers import Qwen3_5TextConfig
from transformers.models.qwen3_5 import modeling_qwen3_5 as qwen

GOLDEN = Path(__file__).resolve().parents[2] / "tests" / "golden" / "qwen35_text"
TOLERANCE = 1e-4  # of max|d|, relative to the largest value of an entry; what the C++ tests allow
DETECTION = 100 * TOLERANCE
LENGTHS = (1, 3, 64, 130)  # a chunk of the delta rule is 64 tokens

# The release's ratios: 4 query heads a key head, 2 value heads a key head, a quarter rotated.
CONFIG = {
    "vocab_size": 120,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 8,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "linear_num_key_heads": 4,
    "linear_num_value_heads": 8,
    "linear_key_head_dim": 8,
    "linear_value_head_dim": 12,
    "linear_conv_kernel_dim": 4,
    "rms_norm_eps": 1e-6,
    "rope_parameters": {"rope_type": "default", "rope_theta": 50.0, "partial_rotary_factor": 0.25},
}


def make_model(settings: dict[str, Any] = CONFIG) -> qwen.Qwen3_5TextModel:
    config = Qwen3_5TextConfig(**settings, attn_implementation="eager")
    model = qwen.Qwen3_5TextModel(config).eval()
    generator = torch.Generator().manual_seed(5)
    for name, parameter in model.named_parameters():
        noise = torch.randn(parameter.shape, generator=generator)
        if name.endswith("A_log"):
            value = -1.5 + noise  # exp(g) from about 0.5 to 0.99
        elif name.endswith("dt_bias"):
            value = noise
        elif name.endswith("linear_attn.norm.weight"):
            value = 1 + 0.3 * noise
        elif name.endswith("norm.weight"):
            value = 0.3 * noise  # 1 is added to it
        elif name.endswith("embed_tokens.weight"):
            value = noise
        elif name.endswith(("q_proj.weight", "k_proj.weight")):
            value = 2 * noise / math.sqrt(parameter.shape[1])
        else:
            value = 1.2 * noise / math.sqrt(parameter[0].numel())
        parameter.data = value.to(torch.bfloat16).float()
    return model


def write_checkpoint(model: qwen.Qwen3_5TextModel, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    weights = {
        f"model.language_model.{name}": value.to(torch.bfloat16).contiguous()
        for name, value in model.state_dict().items()
    }
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    config = {**model.config.to_dict(), "architectures": ["Qwen3_5TextModel"]}
    (folder / "config.json").write_text(json.dumps(config, indent=2, sort_keys=True) + "\n")


@torch.no_grad()
def run(model: qwen.Qwen3_5TextModel, ids: torch.Tensor) -> torch.Tensor:
    """[layers + 1, tokens, hidden]"""
    output = model(input_ids=ids[None], output_hidden_states=True, use_cache=False)
    return torch.cat(output.hidden_states)


# Faults put into the reference on purpose, to prove that the goldens would notice each.

_chunked = qwen.torch_chunk_gated_delta_rule
_conv = qwen.causal_conv1d_fn


def _no_rope(q: torch.Tensor, k: torch.Tensor, *_: torch.Tensor) -> tuple:
    return q, k


def _no_decay(*arguments: torch.Tensor, g: torch.Tensor, **rest: Any) -> tuple:
    return _chunked(*arguments, g=torch.zeros_like(g), **rest)


def _no_beta(*arguments: torch.Tensor, beta: torch.Tensor, **rest: Any) -> tuple:
    return _chunked(*arguments, beta=torch.ones_like(beta), **rest)


def _tiled_heads(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, **rest: Any) -> tuple:
    times = value.shape[2] // key.shape[2]
    return _chunked(query.repeat(1, 1, times, 1), key.repeat(1, 1, times, 1), value, **rest)


def _no_delta(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, g: torch.Tensor, **rest: Any
) -> tuple:
    """Every token sees its own value alone: no state."""
    parts = [
        _chunked(
            query[:, i : i + 1],
            key[:, i : i + 1],
            value[:, i : i + 1],
            g=g[:, i : i + 1],
            **{**rest, "beta": rest["beta"][:, i : i + 1]},
        )[0]
        for i in range(query.shape[1])
    ]
    return torch.cat(parts, dim=1), None


def _unnormed_keys(*arguments: torch.Tensor, **rest: Any) -> tuple:
    query, key, value = arguments
    return _chunked(
        query, key / key.shape[-1] ** 0.5, value, **{**rest, "use_qk_l2norm_in_kernel": False}
    )


def _conv_without_history(
    x: torch.Tensor,
    weight: torch.Tensor,
    *rest: Any,
    **named: Any,
) -> torch.Tensor:
    last = torch.zeros_like(weight)
    last[:, -1] = weight[:, -1]
    return _conv(x, last, *rest, **named)


def _conv_without_silu(
    x: torch.Tensor,
    weight: torch.Tensor,
    *rest: Any,
    **named: Any,
) -> torch.Tensor:
    return _conv(x, weight, *rest, **{**named, "activation": None})


def _norm_without_weight(norm: qwen.Qwen3_5RMSNorm, x: torch.Tensor) -> torch.Tensor:
    return norm._norm(x)


def _head_norm_off(norm: qwen.Qwen3_5RMSNorm, x: torch.Tensor) -> torch.Tensor:
    if norm.weight.shape[0] == CONFIG["head_dim"]:
        return x
    return norm._norm(x) * (1 + norm.weight)


def _gated_norm_without_gate(
    norm: qwen.Qwen3_5RMSNormGated, x: torch.Tensor, gate: torch.Tensor
) -> torch.Tensor:
    return norm.weight * x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + norm.variance_epsilon)


def _gate_before_norm(
    norm: qwen.Qwen3_5RMSNormGated, x: torch.Tensor, gate: torch.Tensor
) -> torch.Tensor:
    return _gated_norm_without_gate(norm, x * torch.nn.functional.silu(gate), gate)


@dataclass(frozen=True)
class Fault:
    owner: Any
    attribute: str
    replacement: Callable
    min_tokens: int = 1  # shorter prompts cannot show it


FAULTS = {
    "rope": Fault(qwen, "apply_rotary_pos_emb", _no_rope, 3),
    "output gate": Fault(torch, "sigmoid", torch.ones_like),
    "q, k norm": Fault(qwen.Qwen3_5RMSNorm, "forward", _head_norm_off, 3),
    "norm weight": Fault(qwen.Qwen3_5RMSNorm, "forward", _norm_without_weight),
    "decay": Fault(qwen, "torch_chunk_gated_delta_rule", _no_decay, 3),
    "beta": Fault(qwen, "torch_chunk_gated_delta_rule", _no_beta),
    "state": Fault(qwen, "torch_chunk_gated_delta_rule", _no_delta, 3),
    "head order": Fault(qwen, "torch_chunk_gated_delta_rule", _tiled_heads),
    "l2 norm": Fault(qwen, "torch_chunk_gated_delta_rule", _unnormed_keys),
    "conv history": Fault(qwen, "causal_conv1d_fn", _conv_without_history, 3),
    "conv silu": Fault(qwen, "causal_conv1d_fn", _conv_without_silu),
    "z gate": Fault(qwen.Qwen3_5RMSNormGated, "forward", _gated_norm_without_gate),
    "gate order": Fault(qwen.Qwen3_5RMSNormGated, "forward", _gate_before_norm),
}


@contextmanager
def broken(fault: Fault) -> Iterator[None]:
    with mock.patch.object(fault.owner, fault.attribute, fault.replacement):
        yield


def distance(a: torch.Tensor, b: torch.Tensor) -> float:
    """max|a - b| relative to the scale of b, over the entries that a layer made."""
    scale = b.flatten(1).abs().amax(1)
    return ((a - b).flatten(1).abs().amax(1) / scale).max().item()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=GOLDEN, help="default: %(default)s")
    output = parser.parse_args().output
    (output / "prompts").mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)  # with more, sums come in another order
    torch.use_deterministic_algorithms(True)

    model = make_model()
    write_checkpoint(model, output)

    print(f"{'tokens':>6} {'scale':>6} {'fp64':>8} " + " ".join(f"{n:>12}" for n in FAULTS))
    passed = True
    for length in LENGTHS:
        ids = torch.randint(
            CONFIG["vocab_size"], (length,), generator=torch.Generator().manual_seed(length)
        )
        hidden = run(model, ids)
        save_file(
            {"ids": ids.to(torch.int32), "hidden": hidden.contiguous()},
            output / "prompts" / f"t{length}.safetensors",
        )
        cells = []
        for fault in FAULTS.values():
            if length < fault.min_tokens:
                cells.append("-")
                continue
            with broken(fault):
                moved = distance(run(model, ids), hidden)
            passed &= moved > DETECTION
            cells.append(f"{moved:.3f}")
        exact = distance(run(make_model().double(), ids), hidden.double())
        print(
            f"{length:6} {hidden.abs().max().item():6.2f} {exact:8.1e} "
            + " ".join(f"{cell:>12}" for cell in cells)
        )
    if not passed:
        print(f"a fault moves a golden by no more than {DETECTION:g} of its scale")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
