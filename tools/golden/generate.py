"""Writes tests/golden: small Wan2.2 VAE checkpoints and the clips diffusers decodes with them."""

import argparse
import copy
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from diffusers import AutoencoderKLWan
from safetensors.torch import load_file, save_file

from sensitivity import DETECTION, FAULTS, damage
from wan22 import LATENT_CHANNELS, Checkpoint, decode, load_vae, seeded_latents, write_checkpoint

GOLDEN = Path(__file__).resolve().parents[2] / "tests" / "golden"


@dataclass(frozen=True)
class Clip:
    name: str
    seed: int
    frames: int
    height: int
    width: int
    batch: int | None = None
    normalized: bool = False  # the file holds the latents as a sampler has them, too

    def shape(self) -> tuple[int, ...]:
        shape = (LATENT_CHANNELS, self.frames, self.height, self.width)
        return shape if self.batch is None else (self.batch, *shape)


TINY = Checkpoint("tiny", seed=1, base_dim=8, decoder_base_dim=8)
# Channels 12, 6 and 3 fill no vector register, and time grows in up blocks 1 and 2, where the
# shortcut of the latter also halves the channels.
ODD = Checkpoint(
    "odd",
    seed=2,
    base_dim=2,
    decoder_base_dim=3,
    num_res_blocks=1,
    temporal_downsample=(True, True, False),
    encoder=True,
)
# The same weights, the decoder's alone: in shards, which must decode to ODD's clips, and rounded.
ODD_SHARDED = replace(ODD, name="odd_sharded", encoder=False, max_shard_size="100KB")
ODD_BF16 = replace(ODD, name="odd_bf16", encoder=False, dtype=torch.bfloat16)
ODD_F16 = replace(ODD, name="odd_f16", encoder=False, dtype=torch.float16)

GOLDENS: dict[Checkpoint, list[Clip]] = {
    TINY: [
        Clip("t1_1x1", 10, frames=1, height=1, width=1),
        Clip("t1_2x2", 11, frames=1, height=2, width=2),
        Clip("t2_3x5", 12, frames=2, height=3, width=5),
        Clip("t3_1x2", 13, frames=3, height=1, width=2),
        Clip("t5_1x1", 14, frames=5, height=1, width=1),
        Clip("b2_t2_1x2", 15, frames=2, height=1, width=2, batch=2),
        Clip("t2_2x1_normalized", 16, frames=2, height=2, width=1, normalized=True),
    ],
    ODD: [
        Clip("t1_1x3", 20, frames=1, height=1, width=3),
        Clip("t2_1x1", 21, frames=2, height=1, width=1),
        Clip("t3_3x1", 22, frames=3, height=3, width=1),
    ],
    ODD_SHARDED: [],
    ODD_BF16: [Clip("t2_1x2", 23, frames=2, height=1, width=2)],
    ODD_F16: [Clip("t2_1x2", 23, frames=2, height=1, width=2)],
}

# The release's own widths, for a check by hand.
FULL = Checkpoint("full", seed=3, base_dim=160, decoder_base_dim=256)
FULL_CLIP = Clip("t2_2x2", 30, frames=2, height=2, width=2)


def write_clip(vae: AutoencoderKLWan, clip: Clip, folder: Path) -> dict[str, torch.Tensor]:
    tensors = seeded_latents(vae, clip.shape(), clip.seed)
    if not clip.normalized:
        del tensors["latents_normalized"]
    tensors["video"] = decode(vae, tensors["latents"]).contiguous()
    folder.mkdir(parents=True, exist_ok=True)
    save_file(tensors, folder / f"{clip.name}.safetensors")
    return tensors


def rounding(vae: AutoencoderKLWan, latents: torch.Tensor, video: torch.Tensor) -> float:
    """max|d| of the fp32 decode from the fp64 one: what a tolerance has to leave room for."""
    exact = copy.deepcopy(vae).double()
    return (decode(exact, latents.double()) - video).abs().max().item()


def report(name: str, vae: AutoencoderKLWan, latents: torch.Tensor, video: torch.Tensor) -> bool:
    """Prints a clip's row of the table; whether its values are in range and show every fault."""
    std = video.std().item()
    clamped = (video.abs() == 1).float().mean().item()
    found = damage(vae, latents, video)
    cells = ["-" if value is None else f"{value:.2f}" for value in found.values()]
    print(f"{name:24} {std:6.3f} {clamped:7.2%} {rounding(vae, latents, video):9.1e}", end=" ")
    print(" ".join(f"{cell:>11}" for cell in cells))
    seen = all(value is None or value > DETECTION for value in found.values())
    return seen and 0.1 < std < 0.6 and clamped < 0.1


def write_goldens(output: Path) -> bool:
    print(f"{'clip':24} {'std':>6} {'clamped':>7} {'from fp64':>9}", end=" ")
    print(" ".join(f"{name:>11}" for name in FAULTS))
    passed = True
    for checkpoint, clips in GOLDENS.items():
        folder = output / checkpoint.name
        write_checkpoint(checkpoint, folder)
        vae = load_vae(folder)
        for clip in clips:
            tensors = write_clip(vae, clip, folder / "clips")
            name = f"{checkpoint.name}/{clip.name}"
            passed &= report(name, vae, tensors["latents"], tensors["video"])
    if not passed:
        print(f"a clip is out of range, or a fault moves it by no more than {DETECTION:g}")
    return passed & sharded_decodes_alike(output)


def sharded_decodes_alike(output: Path) -> bool:
    vae = load_vae(output / ODD_SHARDED.name)
    for clip in GOLDENS[ODD]:
        tensors = load_file(output / ODD.name / "clips" / f"{clip.name}.safetensors")
        if not torch.equal(decode(vae, tensors["latents"]), tensors["video"]):
            print(f"{ODD_SHARDED.name}: {clip.name} differs from {ODD.name}'s")
            return False
    return True


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=GOLDEN, help="default: tests/golden")
    parser.add_argument(
        "--full",
        type=Path,
        metavar="DIR",
        help="instead write a checkpoint of the release's widths (2.2 GB) and a clip to DIR",
    )
    arguments = parser.parse_args()

    torch.set_num_threads(1)  # with more, sums come in another order
    torch.use_deterministic_algorithms(True)
    if arguments.full is not None:
        write_checkpoint(FULL, arguments.full)
        write_clip(load_vae(arguments.full), FULL_CLIP, arguments.full / "clips")
        return 0
    return 0 if write_goldens(arguments.output) else 1


if __name__ == "__main__":
    sys.exit(main())
