"""Writes tests/golden/encoder: a small VAE with its encoder, and videos that diffusers encodes.

Also encodes with the encoder of tests/golden/odd, whose time shrinks in other levels.
"""

import sys
from collections.abc import Callable
from typing import Any
from unittest import mock

import torch
from diffusers import AutoencoderKLWan
from diffusers.models.autoencoders import autoencoder_kl_wan as wan
from safetensors.torch import save_file

from generate import GOLDEN
from sensitivity import _no_attention, _norm_without_weight
from wan22 import Checkpoint, load_vae, write_checkpoint

TOLERANCE = 1e-4  # max|d| that the C++ tests allow; latents have a standard deviation of about 0.1
ENCODER = Checkpoint("encoder", seed=5, base_dim=3, decoder_base_dim=1, encoder=True)

# name, frames, height, width
CLIPS = [("f1_16x16", 1, 16, 16), ("f5_32x16", 5, 32, 16), ("f9_16x32", 9, 16, 32)]


@torch.inference_mode()
def encode(vae: AutoencoderKLWan, video: torch.Tensor) -> torch.Tensor:
    """The latents' mean [48, T, h, w] of a video [3, F, H, W]."""
    return vae.encode(video.unsqueeze(0)).latent_dist.mean.squeeze(0)


def seeded_video(frames: int, height: int, width: int, seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.rand((3, frames, height, width), generator=generator) * 2 - 1


_causal_conv = wan.WanCausalConv3d.forward
_patchify = wan.patchify


def _no_shortcut(shortcut: wan.AvgDown3D, x: torch.Tensor) -> float:
    return 0.0


def _conv_without_history(
    conv: wan.WanCausalConv3d, x: torch.Tensor, cache_x: torch.Tensor | None = None
) -> torch.Tensor:
    return _causal_conv(conv, x)


def _skip_frames(
    conv: wan.WanCausalConv3d, x: torch.Tensor, cache_x: torch.Tensor | None = None
) -> torch.Tensor:
    if conv.kernel_size == (3, 1, 1):
        return x[:, :, 2::2]  # frames left out instead of the temporal convolution
    return _causal_conv(conv, x, cache_x)


def _patchify_row_first(x: torch.Tensor, patch_size: int) -> torch.Tensor:
    folded = _patchify(x, patch_size).unflatten(1, (-1, patch_size, patch_size))
    return folded.transpose(2, 3).flatten(1, 3)


# What is broken, how, and the fewest frames that show it.
FAULTS: dict[str, tuple[Any, str, Callable, int]] = {
    "norm weight": (wan.WanRMS_norm, "forward", _norm_without_weight, 1),
    "shortcut": (wan.AvgDown3D, "forward", _no_shortcut, 1),
    "history": (wan.WanCausalConv3d, "forward", _conv_without_history, 2),
    "attention": (wan.WanAttentionBlock, "forward", _no_attention, 1),
    "time conv": (wan.WanCausalConv3d, "forward", _skip_frames, 2),
    "patch order": (wan, "patchify", _patchify_row_first, 1),
}


def notices_every_fault(vae: AutoencoderKLWan, video: torch.Tensor, latents: torch.Tensor) -> bool:
    noticed = True
    for name, (owner, attribute, replacement, frames) in FAULTS.items():
        if video.shape[1] < frames:
            continue
        with mock.patch.object(owner, attribute, replacement):
            moved = (encode(vae, video) - latents).abs().max().item()
        print(f"  {name}: {moved:.2f}")
        noticed &= moved > 100 * TOLERANCE
    return noticed


def main() -> int:
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    write_checkpoint(ENCODER, GOLDEN / ENCODER.name)
    passed = True
    for folder, seed in ((GOLDEN / ENCODER.name, 50), (GOLDEN / "odd", 60)):
        vae = load_vae(folder)
        (folder / "encoded").mkdir(exist_ok=True)
        for index, (name, *shape) in enumerate(CLIPS):
            video = seeded_video(*shape, seed + index)
            latents = encode(vae, video).contiguous()
            save_file(
                {"video": video, "latents": latents}, folder / "encoded" / f"{name}.safetensors"
            )
            print(f"{folder.name}/{name}: latents {tuple(latents.shape)} std {latents.std():.3f}")
            passed &= notices_every_fault(vae, video, latents)
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
