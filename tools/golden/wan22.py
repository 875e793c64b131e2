"""Seeded models, checkpoints and latents of the Wan2.2 VAE family."""

import json
import math
import zlib
from dataclasses import dataclass
from pathlib import Path

import torch
from diffusers import AutoencoderKLWan
from huggingface_hub import split_torch_state_dict_into_shards
from safetensors.torch import load_file, save_file

Tensors = dict[str, torch.Tensor]

LATENT_CHANNELS = 48
WEIGHTS_NAME = "diffusion_pytorch_model"
DECODER_PREFIXES = ("decoder.", "post_quant_conv.")


@dataclass(frozen=True)
class Checkpoint:
    """How to make one checkpoint folder; equal seeds and sizes mean equal weights."""

    name: str
    seed: int
    base_dim: int
    decoder_base_dim: int
    num_res_blocks: int = 2
    temporal_downsample: tuple[bool, ...] = (False, True, True)
    encoder: bool = False
    dtype: torch.dtype = torch.float32
    max_shard_size: str | None = None  # one file unless given

    def config(self) -> dict:
        generator = torch.Generator().manual_seed(self.seed)
        mean = torch.rand(LATENT_CHANNELS, generator=generator) * 2 - 1
        std = torch.rand(LATENT_CHANNELS, generator=generator) * 1.5 + 0.5
        return {
            "z_dim": LATENT_CHANNELS,
            "base_dim": self.base_dim,
            "decoder_base_dim": self.decoder_base_dim,
            "dim_mult": [1, 2, 4, 4],
            "num_res_blocks": self.num_res_blocks,
            "temperal_downsample": list(self.temporal_downsample),
            "is_residual": True,
            "in_channels": 12,
            "out_channels": 12,
            "patch_size": 2,
            "scale_factor_spatial": 16,
            "scale_factor_temporal": 2 ** sum(self.temporal_downsample),
            "latents_mean": [round(x, 4) for x in mean.tolist()],
            "latents_std": [round(x, 4) for x in std.tolist()],
        }


def standard_normal(shape: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
    # Drawn in fp64: in fp32 the last bit depends on the CPU's vector instructions.
    return torch.randn(shape, generator=generator, dtype=torch.float64).float()


def seeded_weights(shapes: Tensors, seed: int) -> Tensors:
    """Weights that keep activations near unit size and leave nothing at a neutral value.

    Convolutions are uniform within 1.2 / sqrt(fan in), so that the video's standard deviation comes
    out near 0.4; norm weights are 1 + 0.2 N(0, 1). A tensor's values depend on its own name alone,
    so that leaving out the encoder changes none of the decoder's.
    """
    weights = {}
    for name, tensor in shapes.items():
        shape = tensor.shape
        generator = torch.Generator().manual_seed(seed + zlib.crc32(name.encode()))
        if name.endswith(".gamma"):
            weights[name] = 1 + 0.2 * standard_normal(shape, generator)
            continue
        fan_in = math.prod(shapes[name.rpartition(".")[0] + ".weight"].shape[1:])
        bound = 1.2 / math.sqrt(fan_in)
        weights[name] = (torch.rand(shape, generator=generator) * 2 - 1) * bound
    return weights


def write_checkpoint(checkpoint: Checkpoint, folder: Path) -> None:
    """Writes config.json and the weights as diffusers lays them out."""
    config = checkpoint.config()
    with torch.device("meta"):
        vae = AutoencoderKLWan(**config)
    vae.save_config(folder)

    shapes = {
        name: tensor
        for name, tensor in vae.state_dict().items()
        if checkpoint.encoder or name.startswith(DECODER_PREFIXES)
    }
    weights = seeded_weights(shapes, checkpoint.seed)
    weights = {name: tensor.to(checkpoint.dtype) for name, tensor in weights.items()}
    if checkpoint.max_shard_size is None:
        save_file(weights, folder / f"{WEIGHTS_NAME}.safetensors", metadata={"format": "pt"})
        return
    split = split_torch_state_dict_into_shards(
        weights,
        filename_pattern=WEIGHTS_NAME + "{suffix}.safetensors",
        max_shard_size=checkpoint.max_shard_size,
    )
    for file_name, names in split.filename_to_tensors.items():
        shard = {name: weights[name] for name in names}
        save_file(shard, folder / file_name, metadata={"format": "pt"})
    index = {"metadata": split.metadata, "weight_map": split.tensor_to_filename}
    text = json.dumps(index, indent=2, sort_keys=True) + "\n"
    (folder / f"{WEIGHTS_NAME}.safetensors.index.json").write_text(text)


def load_vae(folder: Path) -> AutoencoderKLWan:
    """The model in `folder` with its weights widened to fp32; an encoder left out stays empty."""
    config = AutoencoderKLWan.load_config(folder)
    with torch.device("meta"):
        vae = AutoencoderKLWan.from_config(config)
    weights: Tensors = {}
    for file in sorted(folder.glob("*.safetensors")):
        weights |= {name: tensor.float() for name, tensor in load_file(file).items()}
    missing, unexpected = vae.load_state_dict(weights, strict=False, assign=True)
    if unexpected or any(name.startswith(DECODER_PREFIXES) for name in missing):
        raise ValueError(f"{folder}: missing {missing}, unexpected {unexpected}")
    return vae.eval()


def seeded_latents(vae: AutoencoderKLWan, shape: tuple[int, ...], seed: int) -> Tensors:
    """Normalised latents [..., 48, T, h, w] from N(0, 1), and the raw ones they stand for."""
    generator = torch.Generator().manual_seed(seed)
    normalized = standard_normal(shape, generator)
    mean = torch.tensor(vae.config.latents_mean).view(-1, 1, 1, 1)
    std = torch.tensor(vae.config.latents_std).view(-1, 1, 1, 1)
    return {"latents": normalized * std + mean, "latents_normalized": normalized}


@torch.inference_mode()
def decode(vae: AutoencoderKLWan, latents: torch.Tensor) -> torch.Tensor:
    """The video [..., 3, F, H, W] of raw latents [..., 48, T, h, w], batched or not."""
    if latents.dim() == 4:
        return vae.decode(latents.unsqueeze(0)).sample.squeeze(0)
    return vae.decode(latents).sample
