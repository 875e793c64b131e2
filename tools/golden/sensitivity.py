"""Faults put into the reference on purpose, to prove that the golden clips would notice each."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from unittest import mock

import torch
import torch.nn.functional as F  # noqa: N812 (torch's own name for it)
from diffusers import AutoencoderKLWan
from diffusers.models.autoencoders import autoencoder_kl_wan as wan

from wan22 import decode

TOLERANCE = 2e-4  # max|d| that the C++ tests allow
DETECTION = 100 * TOLERANCE  # how far a fault has to move some value

_causal_conv = wan.WanCausalConv3d.forward


def _norm_without_weight(norm: wan.WanRMS_norm, x: torch.Tensor) -> torch.Tensor:
    return F.normalize(x, dim=1) * norm.scale


def _no_shortcut(shortcut: wan.DupUp3D, x: torch.Tensor, first_chunk: bool = False) -> float:
    return 0.0


def _conv_without_history(
    conv: wan.WanCausalConv3d, x: torch.Tensor, cache_x: torch.Tensor | None = None
) -> torch.Tensor:
    return _causal_conv(conv, x)  # zeros in the place of the frames before


def _no_attention(block: wan.WanAttentionBlock, x: torch.Tensor) -> torch.Tensor:
    return x


def _repeat_frames(
    conv: wan.WanCausalConv3d, x: torch.Tensor, cache_x: torch.Tensor | None = None
) -> torch.Tensor:
    if conv.kernel_size == (3, 1, 1):  # a temporal upsampler's: C -> 2C, a half for each new frame
        return torch.cat([x, x], dim=1)
    return _causal_conv(conv, x, cache_x)


def _unpatchify_row_first(x: torch.Tensor, patch_size: int) -> torch.Tensor:
    x = x.unflatten(1, (-1, patch_size, patch_size))
    x = x.permute(0, 1, 4, 5, 2, 6, 3)  # right: the first of the two factors is the column's
    return x.flatten(5, 6).flatten(3, 4)


@dataclass(frozen=True)
class Fault:
    owner: Any
    attribute: str
    replacement: Callable
    min_latent_frames: int = 1  # shorter clips cannot show it


FAULTS = {
    "norm weight": Fault(wan.WanRMS_norm, "forward", _norm_without_weight),
    "shortcut": Fault(wan.DupUp3D, "forward", _no_shortcut),
    "history": Fault(wan.WanCausalConv3d, "forward", _conv_without_history, 2),
    "attention": Fault(wan.WanAttentionBlock, "forward", _no_attention),
    "time conv": Fault(wan.WanCausalConv3d, "forward", _repeat_frames, 2),
    "patch order": Fault(wan, "unpatchify", _unpatchify_row_first),
}


def damage(
    vae: AutoencoderKLWan, latents: torch.Tensor, video: torch.Tensor
) -> dict[str, float | None]:
    """max|d| of the decode under each fault; None where the clip is too short to show it."""
    result: dict[str, float | None] = {}
    for name, fault in FAULTS.items():
        if latents.shape[-3] < fault.min_latent_frames:
            result[name] = None
            continue
        with mock.patch.object(fault.owner, fault.attribute, fault.replacement):
            result[name] = (decode(vae, latents) - video).abs().max().item()
    return result
