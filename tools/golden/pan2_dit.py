"""The DiT of PAN 2 in plain PyTorch, and seeded checkpoints in its layout.

The model is a set of small functions, so that a fault can replace any one of them.
"""

import json
import math
import zlib
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import torch
import torch.nn.functional as F  # noqa: N812 (torch's own name for it)
from diffusers.models.embeddings import get_timestep_embedding
from safetensors.torch import load_file, save_file
from torch import Tensor

Tensors = dict[str, Tensor]
Streams = tuple[Tensor, Tensor]  # video [S, C] and text [L, C]

TIMESTEP_CHANNELS = 256
BLOCK_EPS = 1e-6
TEXT_EPS = 1e-5
WEIGHTS_NAME = "diffusion_pytorch_model.safetensors"


@dataclass(frozen=True)
class Config:
    patch_size: tuple[int, int, int] = (1, 2, 2)
    in_channels: int = 97
    out_channels: int = 48
    num_attention_heads: int = 3
    attention_head_dim: int = 32
    num_layers: int = 3
    num_refiner_layers: int = 2
    mlp_ratio: float = 2.0
    context_mlp_ratio: float = 1.5
    refiner_mlp_ratio: float = 1.0
    text_embed_dim: int = 40
    rope_axes_dim: tuple[int, int, int] = (4, 14, 14)
    rope_theta: float = 256.0
    rope_temporal_scale: float = 2 / 3

    @property
    def hidden(self) -> int:
        return self.num_attention_heads * self.attention_head_dim

    def to_json(self) -> str:
        return (
            json.dumps({"_class_name": "PAN2Transformer3DModel", **asdict(self)}, indent=2) + "\n"
        )


def shapes(config: Config) -> dict[str, tuple[int, ...]]:
    """Every tensor of a checkpoint."""
    h, d = config.hidden, config.attention_head_dim
    result: dict[str, tuple[int, ...]] = {}

    def linear(name: str, inputs: int, outputs: int, bias: bool = True) -> None:
        result[f"{name}.weight"] = (outputs, inputs)
        if bias:
            result[f"{name}.bias"] = (outputs,)

    result["x_embedder.weight"] = (h, config.in_channels, *config.patch_size)
    result["x_embedder.bias"] = (h,)
    linear("time_embedder.linear_1", TIMESTEP_CHANNELS, h)
    linear("time_embedder.linear_2", h, h)
    result["context_embedder.0.weight"] = (config.text_embed_dim,)
    linear("context_embedder.1", config.text_embed_dim, h)
    for i in range(config.num_refiner_layers):
        name = f"context_refiner.{i}"
        inner = int(h * config.refiner_mlp_ratio)
        result |= {f"{name}.norm1.weight": (h,), f"{name}.norm2.weight": (h,)}
        result |= {f"{name}.attn.norm_{x}.weight": (d,) for x in "qk"}
        for projection in ("to_q", "to_k", "to_v", "to_out.0"):
            linear(f"{name}.attn.{projection}", h, h, bias=False)
        linear(f"{name}.ff.net.0.proj", h, 2 * inner, bias=False)
        linear(f"{name}.ff.net.2", inner, h, bias=False)
    result["context_type_embedding"] = (h,)
    for i in range(config.num_layers):
        name = f"transformer_blocks.{i}"
        linear(f"{name}.norm1.linear", h, 6 * h)
        result[f"{name}.scale_shift_table_context"] = (6 * h,)
        for projection in ("to_q", "to_k", "to_v", "add_q_proj", "add_k_proj", "add_v_proj"):
            linear(f"{name}.attn.{projection}", h, h)
        for norm in ("norm_q", "norm_k", "norm_added_q", "norm_added_k"):
            result[f"{name}.attn.{norm}.weight"] = (d,)
        linear(f"{name}.attn.to_out.0", h, h)
        linear(f"{name}.attn.to_add_out", h, h)
        for ff, ratio in (("ff", config.mlp_ratio), ("ff_context", config.context_mlp_ratio)):
            linear(f"{name}.{ff}.net.0.proj", h, int(h * ratio))
            linear(f"{name}.{ff}.net.2", int(h * ratio), h)
    linear("norm_out.linear", h, 2 * h)
    linear("proj_out", h, config.out_channels * math.prod(config.patch_size))
    return result


def normal(shape: tuple[int, ...], seed: int) -> Tensor:
    # Drawn in fp64: in fp32 the last bit depends on the CPU's vector instructions.
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=torch.float64).float()


def seeded_weights(config: Config, seed: int) -> Tensors:
    """Weights that keep activations near unit size and leave nothing at a neutral value."""
    weights: Tensors = {}
    for name, shape in shapes(config).items():
        values = normal(shape, seed + zlib.crc32(name.encode()))
        if name.endswith(".bias") or len(shape) == 1:
            is_norm = "norm" in name or name == "context_embedder.0.weight"
            weights[name] = 1 + 0.2 * values if is_norm and "bias" not in name else 0.4 * values
        else:
            weights[name] = values / math.sqrt(math.prod(shape[1:]))
    return weights


def write_checkpoint(folder: Path, config: Config, seed: int, dtype: torch.dtype) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(config.to_json())
    weights = {name: w.to(dtype) for name, w in seeded_weights(config, seed).items()}
    save_file(weights, folder / WEIGHTS_NAME, metadata={"format": "pt"})


def read_weights(folder: Path) -> Tensors:
    return {name: w.float() for name, w in load_file(folder / WEIGHTS_NAME).items()}


# The model's parts. `w` holds all weights, `name` says whose.


def linear(w: Tensors, name: str, x: Tensor) -> Tensor:
    return F.linear(x, w[f"{name}.weight"], w.get(f"{name}.bias"))


def rms_norm(w: Tensors, name: str, x: Tensor, eps: float) -> Tensor:
    weight = w[f"{name}.weight"]
    return F.rms_norm(x, weight.shape, weight, eps)


def stack_channels(noisy: Tensor, conditioning: Tensor, mask: Tensor) -> Tensor:
    return torch.cat([noisy, conditioning, mask])


def patchify(config: Config, w: Tensors, x: Tensor) -> Tensor:
    """[channels, T, h, w] to tokens [T h/2 w/2, hidden]."""
    x = F.conv3d(x[None], w["x_embedder.weight"], w["x_embedder.bias"], stride=config.patch_size)
    return x[0].flatten(1).T


def unpatchify(config: Config, x: Tensor, latent_shape: tuple[int, ...]) -> Tensor:
    """Tokens [S, channels p_t p_h p_w] to [channels, T, h, w]."""
    p_t, p_h, p_w = config.patch_size
    t, h, w = (size // p for size, p in zip(latent_shape[1:], config.patch_size, strict=True))
    x = x.reshape(t, h, w, config.out_channels, p_t, p_h, p_w)
    return torch.einsum("thwcabd->ctahbwd", x).reshape(latent_shape)


def temporal_positions(config: Config, count: int) -> Tensor:
    return torch.arange(count, dtype=torch.float32) * config.rope_temporal_scale


def rope_table(config: Config, t: int, h: int, w: int) -> Tensor:
    """Complex unit numbers [t h w, head_dim / 2], tokens in the order (t, y, x)."""
    axes = (temporal_positions(config, t), torch.arange(h).float(), torch.arange(w).float())
    parts = []
    grid = torch.meshgrid(*axes, indexing="ij")
    for positions, d in zip(grid, config.rope_axes_dim, strict=True):
        frequencies = 1 / config.rope_theta ** (torch.arange(0, d, 2).float() / d)
        angles = torch.outer(positions.flatten(), frequencies)
        parts.append(torch.polar(torch.ones_like(angles), angles))
    return torch.cat(parts, dim=1)


def rotate(x: Tensor, table: Tensor) -> Tensor:
    """x [heads, S, d]: neighbours 2j and 2j + 1 are a complex number."""
    pairs = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous())
    return torch.view_as_real(pairs * table).flatten(-2)


def heads(config: Config, x: Tensor) -> Tensor:
    return x.unflatten(-1, (config.num_attention_heads, -1)).transpose(0, 1)


def attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return F.scaled_dot_product_attention(q, k, v).transpose(0, 1).flatten(1)


def sinusoid(timestep: Tensor) -> Tensor:
    """cos first, then sin; max period 10000."""
    return get_timestep_embedding(
        timestep, TIMESTEP_CHANNELS, flip_sin_to_cos=True, downscale_freq_shift=0
    )


def time_embedding(w: Tensors, timestep: float) -> Tensor:
    x = sinusoid(torch.tensor([timestep], dtype=torch.float32))
    x = x.to(w["time_embedder.linear_1.weight"].dtype)
    return linear(w, "time_embedder.linear_2", F.silu(linear(w, "time_embedder.linear_1", x)))[0]


def gated_silu(x: Tensor) -> Tensor:
    value, gate = x.chunk(2, dim=-1)
    return value * F.silu(gate)


def refiner(config: Config, w: Tensors, name: str, x: Tensor) -> Tensor:
    n = rms_norm(w, f"{name}.norm1", x, TEXT_EPS)
    q, k, v = (heads(config, linear(w, f"{name}.attn.to_{p}", n)) for p in "qkv")
    q = rms_norm(w, f"{name}.attn.norm_q", q, TEXT_EPS)
    k = rms_norm(w, f"{name}.attn.norm_k", k, TEXT_EPS)
    x = x + linear(w, f"{name}.attn.to_out.0", attention(q, k, v))
    n = rms_norm(w, f"{name}.norm2", x, TEXT_EPS)
    return x + linear(w, f"{name}.ff.net.2", gated_silu(linear(w, f"{name}.ff.net.0.proj", n)))


def add_type_embedding(w: Tensors, text: Tensor) -> Tensor:
    return text + w["context_type_embedding"]


def video_modulation(w: Tensors, name: str, temb: Tensor) -> tuple[Tensor, ...]:
    """shift1, scale1, gate1, shift2, scale2, gate2."""
    return linear(w, f"{name}.norm1.linear", F.silu(temb)).chunk(6)


def text_modulation(w: Tensors, name: str) -> tuple[Tensor, ...]:
    return w[f"{name}.scale_shift_table_context"].chunk(6)


def modulate(x: Tensor, scale: Tensor, shift: Tensor) -> Tensor:
    return F.layer_norm(x, x.shape[-1:], eps=BLOCK_EPS) * (1 + scale) + shift


def gated(x: Tensor, gate: Tensor, y: Tensor) -> Tensor:
    return x + gate * y


def mlp(w: Tensors, name: str, x: Tensor) -> Tensor:
    x = F.gelu(linear(w, f"{name}.net.0.proj", x), approximate="tanh")
    return linear(w, f"{name}.net.2", x)


def joint_attention(
    config: Config, w: Tensors, name: str, streams: Streams, table: Tensor
) -> Streams:
    video, text = streams
    q, k, v = (heads(config, linear(w, f"{name}.to_{p}", video)) for p in "qkv")
    tq, tk, tv = (heads(config, linear(w, f"{name}.add_{p}_proj", text)) for p in "qkv")
    q, k = (
        rotate(rms_norm(w, f"{name}.norm_{n}", x, BLOCK_EPS), table)
        for n, x in (("q", q), ("k", k))
    )
    tq, tk = (
        rms_norm(w, f"{name}.norm_added_{n}", x, BLOCK_EPS) for n, x in (("q", tq), ("k", tk))
    )
    joined = attention(*(torch.cat(pair, dim=1) for pair in ((q, tq), (k, tk), (v, tv))))
    return (
        linear(w, f"{name}.to_out.0", joined[: len(video)]),
        linear(w, f"{name}.to_add_out", joined[len(video) :]),
    )


def block(
    config: Config, w: Tensors, name: str, streams: Streams, temb: Tensor, table: Tensor
) -> Streams:
    video, text = streams
    shift1, scale1, gate1, shift2, scale2, gate2 = video_modulation(w, name, temb)
    t_shift1, t_scale1, t_gate1, t_shift2, t_scale2, t_gate2 = text_modulation(w, name)
    modulated = (modulate(video, scale1, shift1), modulate(text, t_scale1, t_shift1))
    y, t_y = joint_attention(config, w, f"{name}.attn", modulated, table)
    video, text = gated(video, gate1, y), gated(text, t_gate1, t_y)
    y = mlp(w, f"{name}.ff", modulate(video, scale2, shift2))
    t_y = mlp(w, f"{name}.ff_context", modulate(text, t_scale2, t_shift2))
    return gated(video, gate2, y), gated(text, t_gate2, t_y)


def output(w: Tensors, video: Tensor, temb: Tensor) -> Tensor:
    scale, shift = linear(w, "norm_out.linear", F.silu(temb)).chunk(2)
    return linear(w, "proj_out", modulate(video, scale, shift))


def context(config: Config, w: Tensors, hidden_states: Tensor, seen: Tensors) -> Tensor:
    normed = rms_norm(w, "context_embedder.0", hidden_states, TEXT_EPS)
    text = linear(w, "context_embedder.1", normed)
    for i in range(config.num_refiner_layers):
        text = refiner(config, w, f"context_refiner.{i}", text)
        seen[f"refiner.{i}"] = text
    return add_type_embedding(w, text)


@torch.inference_mode()
def forward(
    config: Config,
    w: Tensors,
    noisy: Tensor,
    conditioning: Tensor,
    mask: Tensor,
    hidden_states: Tensor,
    timestep: float,
    seen: Tensors | None = None,
) -> Tensor:
    """The velocity, of noisy's shape [48, T, h, w]; what happens on the way goes into `seen`."""
    seen = {} if seen is None else seen
    video = patchify(config, w, stack_channels(noisy, conditioning, mask))
    temb = time_embedding(w, timestep)
    text = context(config, w, hidden_states, seen)
    seen |= {"tokens": video, "temb": temb, "text": text}
    grid = [size // p for size, p in zip(noisy.shape[1:], config.patch_size, strict=True)]
    table = rope_table(config, *grid)
    for i in range(config.num_layers):
        video, text = block(config, w, f"transformer_blocks.{i}", (video, text), temb, table)
        seen |= {f"block.{i}.video": video, f"block.{i}.text": text}
    return unpatchify(config, output(w, video, temb), noisy.shape)


def with_lora(w: Tensors, adapter: Tensors, scale: float) -> Tensors:
    """The weights with an adapter of peft's names merged: W + scale alpha / rank B A."""
    merged = dict(w)
    for key, down in adapter.items():
        if not key.endswith(".lora_A.weight"):
            continue
        stem = key.removesuffix(".lora_A.weight")
        name = stem.removeprefix("transformer.") + ".weight"
        alpha = adapter[f"{stem}.alpha"].item() if f"{stem}.alpha" in adapter else len(down)
        delta = adapter[f"{stem}.lora_B.weight"] @ down
        merged[name] = w[name] + scale * alpha / len(down) * delta.reshape(w[name].shape)
    return merged


def exact(w: Tensors) -> Tensors:
    return {name: tensor.double() for name, tensor in w.items()}


TINY = Config()
# Heads of another size, an even patch in time, axes in other proportions.
ODD = replace(
    TINY,
    in_channels=9,
    out_channels=4,
    patch_size=(2, 1, 3),
    num_attention_heads=2,
    attention_head_dim=12,
    num_layers=1,
    num_refiner_layers=1,
    mlp_ratio=2.5,
    text_embed_dim=5,
    rope_axes_dim=(2, 6, 4),
    rope_theta=100.0,
    rope_temporal_scale=0.5,
)
