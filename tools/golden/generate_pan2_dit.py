"""Writes tests/golden/pan2_dit: tiny DiTs, what goes on inside them, and whole samplings."""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import torch
import torch.nn.functional as F  # noqa: N812 (torch's own name for it)
from safetensors.torch import save_file
from torch import Tensor

import pan2_dit as dit
import pan2_sampling as sampling
from pan2_dit import ODD, TINY, Config, Tensors
from pan2_sampling import Sampling

GOLDEN = Path(__file__).resolve().parents[2] / "tests" / "golden" / "pan2_dit"

FORWARD_TOLERANCE = 5e-5  # what the C++ tests allow, in the unit of a tensor's largest value
SAMPLING_TOLERANCE = 1e-3  # absolute
DETECTION = 100  # tolerances by which a fault has to miss

SHAPE = (48, 3, 4, 6)
Faults = dict[str, tuple[Any, str, Callable]]


def _no_rotation(x: Tensor, table: Tensor) -> Tensor:
    return x


def _rotate_halves(x: Tensor, table: Tensor) -> Tensor:
    first, second = x.chunk(2, dim=-1)
    turned = torch.complex(first, second) * table
    return torch.cat([turned.real, turned.imag], dim=-1)


def _video_last(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return _attention(q, k.roll(1, dims=1), v)


def _modulation(order: list[int]) -> Callable:
    def reordered(w: Tensors, name: str, temb: Tensor) -> tuple[Tensor, ...]:
        parts = _video_modulation(w, name, temb)
        return tuple(parts[i] for i in order)

    return reordered


def _neutral_table(w: Tensors, name: str) -> tuple[Tensor, ...]:
    return tuple(torch.zeros_like(part) for part in _text_modulation(w, name))


def _shift_before_scale(w: Tensors, video: Tensor, temb: Tensor) -> Tensor:
    shift, scale = dit.linear(w, "norm_out.linear", F.silu(temb)).chunk(2)
    return dit.linear(w, "proj_out", dit.modulate(video, scale, shift))


def _channel_last(config: Config, x: Tensor, latent_shape: tuple[int, ...]) -> Tensor:
    shuffled = x.unflatten(1, (-1, config.out_channels)).transpose(1, 2).flatten(1)
    return _unpatchify(config, shuffled, latent_shape)


def _column_first(config: Config, x: Tensor, latent_shape: tuple[int, ...]) -> Tensor:
    p_t, p_h, p_w = config.patch_size
    swapped = x.unflatten(1, (config.out_channels * p_t, p_w, p_h)).transpose(2, 3).flatten(1)
    return _unpatchify(config, swapped, latent_shape)


def _gate_first(x: Tensor) -> Tensor:
    gate, value = x.chunk(2, dim=-1)
    return value * F.silu(gate)


def _norm_without_weight(w: Tensors, name: str, x: Tensor, eps: float) -> Tensor:
    return F.rms_norm(x, x.shape[-1:], eps=eps)


_attention, _rope_table = dit.attention, dit.rope_table
_text_modulation, _video_modulation = dit.text_modulation, dit.video_modulation
_unpatchify, _sinusoid = dit.unpatchify, dit.sinusoid
_stack_channels, _positions = dit.stack_channels, dit.temporal_positions

FORWARD_FAULTS: Faults = {
    "no rope": (dit, "rotate", _no_rotation),
    "rope halves": (dit, "rotate", _rotate_halves),
    "temporal scale": (dit, "temporal_positions", lambda _, n: torch.arange(n).float()),
    "whole positions": (dit, "temporal_positions", lambda c, n: _positions(c, n).round()),
    "axes y x t": (
        dit,
        "rope_table",
        lambda c, t, h, w: (
            _rope_table(c, h, w, t).unflatten(0, (h, w, t)).movedim(2, 0).flatten(0, 2)
        ),
    ),
    "keys moved": (dit, "attention", _video_last),
    "gates": (dit, "gated", lambda x, gate, y: x + y),
    "scale shift gate": (dit, "video_modulation", _modulation([1, 0, 2, 4, 3, 5])),
    "gate first": (dit, "video_modulation", _modulation([2, 0, 1, 5, 3, 4])),
    "mlp's first": (dit, "video_modulation", _modulation([3, 4, 5, 0, 1, 2])),
    "context table": (dit, "text_modulation", _neutral_table),
    "1 + scale": (
        dit,
        "modulate",
        lambda x, scale, shift: F.layer_norm(x, x.shape[-1:], eps=dit.BLOCK_EPS) * scale + shift,
    ),
    "out shift first": (dit, "output", _shift_before_scale),
    "channel last": (dit, "unpatchify", _channel_last),
    "column first": (dit, "unpatchify", _column_first),
    "mask": (dit, "stack_channels", lambda x, c, m: _stack_channels(x, c, torch.zeros_like(m))),
    "mask first": (dit, "stack_channels", lambda x, c, m: torch.cat([m, x, c])),
    "condition first": (dit, "stack_channels", lambda x, c, m: torch.cat([c, x, m])),
    "sine first": (dit, "sinusoid", lambda t: _sinusoid(t).roll(dit.TIMESTEP_CHANNELS // 2, -1)),
    "timestep": (dit, "sinusoid", lambda t: _sinusoid(t / 1000)),
    "refiner": (dit, "refiner", lambda config, w, name, x: x),
    "silu's half": (dit, "gated_silu", _gate_first),
    "type embedding": (dit, "add_type_embedding", lambda w, text: text),
    "norm weights": (dit, "rms_norm", _norm_without_weight),
}

# What I2V alone shows is None where there is no first frame.
SAMPLING_FAULTS: Faults = {
    "no guidance": (sampling, "guide", lambda positive, negative, g: positive),
    "guidance - 1": (sampling, "guide", lambda p, n, g: p + g * (p - n)),
    "no shift": (sampling, "schedule", lambda s: _schedule(Sampling(s.steps, 1.0))),
    "sigma to 0": (
        sampling,
        "even_sigmas",
        lambda steps: torch.linspace(1, 1 / 1000, steps, dtype=torch.float64).tolist(),
    ),
    "frame 0 guided": (sampling, "keep_first_frame", lambda velocity, positive: velocity),
}
I2V_ONLY = {"frame 0 guided"}
_schedule = sampling.schedule


def damage(faults: Faults, run: Callable[[], Tensor], reference: Tensor) -> dict[str, float]:
    result = {}
    for name, (owner, attribute, replacement) in faults.items():
        with mock.patch.object(owner, attribute, replacement):
            result[name] = (run() - reference).abs().max().item()
    return result


def report(title: str, found: dict[str, float], tolerance: float) -> bool:
    print(f"{title}: tolerance {tolerance:.2g}; max|d| of each fault, in tolerances")
    for name, value in found.items():
        print(f"  {name:18} {value / tolerance:10.0f}")
    weak = [name for name, value in found.items() if not value > DETECTION * tolerance]
    if weak:
        print(f"  not shown: {weak}")
    return not weak


def inputs(config: Config, shape: tuple[int, ...], text_tokens: int, seed: int) -> Tensors:
    """A noisy clip, the first latent frame it continues with its mask, and a text."""
    frame = torch.zeros(1, *shape[1:])
    frame[:, : config.patch_size[0]] = 1
    return {
        "noisy": dit.normal(shape, seed),
        "conditioning": dit.normal(shape, seed + 1) * frame,
        "mask": frame,
        "hidden_states": dit.normal((text_tokens, config.text_embed_dim), seed + 2),
    }


def write_forward(
    folder: Path, config: Config, name: str, given: Tensors, timestep: float, faults: Faults
) -> bool:
    w = dit.read_weights(folder)
    seen: Tensors = {}
    velocity = dit.forward(config, w, **given, timestep=timestep, seen=seen)
    golden = given | seen | {"timestep": torch.tensor([timestep]), "velocity": velocity}
    save_file({k: v.contiguous() for k, v in golden.items()}, folder / f"{name}.safetensors")

    precise = {key: value.double() for key, value in given.items()}
    rounding = dit.forward(config, dit.exact(w), **precise, timestep=timestep) - velocity
    scale = velocity.abs().max().item()
    print(f"{folder.name}/{name}: std {velocity.std():.3f}, max {scale:.2f}, ", end="")
    print(f"max|d| from fp64 {rounding.abs().max():.1e}")
    found = damage(faults, lambda: dit.forward(config, w, **given, timestep=timestep), velocity)
    return report(f"{folder.name}/{name}", found, FORWARD_TOLERANCE * scale) and scale < 20


def write_lora(folder: Path, given: Tensors) -> None:
    """An adapter that reaches fused and single projections and the patch embedding."""
    config, w = TINY, dit.read_weights(folder)
    adapter: Tensors = {}
    targets = [
        "transformer_blocks.0.attn.to_q",
        "transformer_blocks.0.attn.to_v",
        "transformer_blocks.1.attn.add_k_proj",
        "transformer_blocks.2.attn.to_out.0",
        "transformer_blocks.1.ff.net.0.proj",
        "transformer_blocks.2.ff_context.net.2",
        "context_refiner.0.attn.to_k",
        "proj_out",
    ]
    for i, target in enumerate(targets):
        outputs, inputs_ = w[f"{target}.weight"].shape
        rank = 2 + i % 2
        stem = f"transformer.{target}"
        adapter[f"{stem}.lora_A.weight"] = dit.normal((rank, inputs_), 500 + i) / inputs_**0.5
        adapter[f"{stem}.lora_B.weight"] = dit.normal((outputs, rank), 600 + i)
        if i % 3 == 0:
            adapter[f"{stem}.alpha"] = torch.tensor(1.0 + i)
    save_file(adapter, folder / "lora.safetensors")
    merged = dit.with_lora(w, adapter, scale=0.5)
    velocity = dit.forward(config, merged, **given, timestep=500.0)
    save_file({**given, "velocity": velocity}, folder / "lora_forward.safetensors")


def write_sampling(folder: Path, name: str, how: Sampling, has_first_frame: bool) -> bool:
    config, w = TINY, dit.read_weights(folder)
    noise = dit.normal(SHAPE, 100)
    first_frame = dit.normal((SHAPE[0], 1, *SHAPE[2:]), 101)
    texts = (dit.normal((7, 40), 102), dit.normal((2, 40), 103))
    steps = len(how.sigmas or sampling.even_sigmas(how.steps))
    fresh = [dit.normal(SHAPE, 110 + i) for i in range(steps)]
    conditioning, mask = torch.zeros(SHAPE), torch.zeros(1, *SHAPE[1:])
    if has_first_frame:
        conditioning[:, :1], mask[:, :1] = first_frame, 1

    def run() -> Tensor:
        def model(latents: Tensor, text: Tensor, timestep: float) -> Tensor:
            return dit.forward(config, w, latents, conditioning, mask, text, timestep)

        return torch.stack(sampling.sample(how, model, noise, texts, has_first_frame, fresh))

    latents = run()
    golden = {"noise": noise, "positive": texts[0], "negative": texts[1], "latents": latents}
    golden["sigmas"] = sampling.schedule(how).sigmas
    golden["settings"] = torch.tensor([how.shift, how.guidance], dtype=torch.float64)
    if has_first_frame:
        golden["first_frame"] = first_frame
    if how.renoise:
        golden["fresh_noise"] = torch.stack(fresh[:-1])
    save_file(golden, folder / f"{name}.safetensors")
    print(f"{name}: std after each step {[f'{x.std():.2f}' for x in latents]}")
    if how.guidance <= 1:
        return True
    faults = {k: f for k, f in SAMPLING_FAULTS.items() if has_first_frame or k not in I2V_ONLY}
    return report(name, damage(faults, run, latents), SAMPLING_TOLERANCE)


def write_schedules(folder: Path) -> None:
    """Sigmas as diffusers has them, the last 0 included, and single steps of both samplers."""
    cases = {
        "steps_50_shift_9": Sampling(steps=50),
        "steps_1_shift_9": Sampling(steps=1),
        "steps_7_shift_1": Sampling(steps=7, shift=1.0),
        "steps_12_shift_2.5": Sampling(steps=12, shift=2.5),
        "listed_shift_1": Sampling(shift=1.0, sigmas=(1.0, 0.75, 0.5, 0.25)),
        "listed_shift_5": Sampling(shift=5.0, sigmas=(1.0, 0.9375, 0.8333333, 0.625)),
    }
    golden = {name: sampling.schedule(case).sigmas for name, case in cases.items()}
    save_file(golden, folder / "schedules.safetensors")


def write_rope(folder: Path) -> None:
    """A long clip: rounded positions would show in its last frames."""
    table = dit.rope_table(Config(rope_axes_dim=(16, 56, 56)), 79, 3, 2)[-6 * 3 :]
    angles = {"cos": table.real.contiguous(), "sin": table.imag.contiguous()}
    save_file(angles, folder / "rope_79x3x2_last_3_frames.safetensors")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--output", type=Path, default=GOLDEN, help="default: tests/golden/pan2_dit"
    )
    output = parser.parse_args().output
    torch.set_num_threads(1)  # with more, sums come in another order
    torch.use_deterministic_algorithms(True)

    tiny, odd = output / "tiny", output / "odd"
    dit.write_checkpoint(tiny, TINY, seed=1, dtype=torch.bfloat16)
    dit.write_checkpoint(odd, ODD, seed=2, dtype=torch.float32)
    given = inputs(TINY, SHAPE, text_tokens=7, seed=10)
    odd_given = inputs(ODD, (4, 4, 2, 9), text_tokens=1, seed=20)
    passed = write_forward(tiny, TINY, "forward", given, 875.5, FORWARD_FAULTS)
    # The odd model's patches have one row: no other order of rows and columns.
    odd_faults = {k: v for k, v in FORWARD_FAULTS.items() if k != "column first"}
    passed &= write_forward(odd, ODD, "forward", odd_given, 3.25, odd_faults)
    write_lora(tiny, given)
    passed &= write_sampling(tiny, "t2v", Sampling(), has_first_frame=False)
    passed &= write_sampling(tiny, "i2v", Sampling(), has_first_frame=True)
    few = Sampling(shift=5.0, guidance=1.0, renoise=True, sigmas=(1.0, 0.75, 0.5, 0.25))
    passed &= write_sampling(tiny, "renoise", few, has_first_frame=True)
    write_schedules(output)
    write_rope(output)
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
