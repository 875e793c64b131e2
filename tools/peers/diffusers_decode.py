"""Times diffusers' own decode of the Wan2.2 VAE on a GPU, and measures its bf16 error.

    pantograph make vae --dtype bf16 vae
    pantograph make latents --shape 31,44,78 latents.safetensors
    python tools/peers/diffusers_decode.py --vae vae --latents latents.safetensors --json peer.json

Needs torch and diffusers: installed, or as a folder or wheel on PYTHONPATH. The error (M, R), the
largest and the root mean square difference of its bf16 decode from its f32 decode, is what ours is
held against.
"""

import argparse
import json
import statistics
import time
from pathlib import Path

import diffusers
import torch
from diffusers import AutoencoderKLWan
from safetensors.torch import load_file


def load(folder: Path, dtype: torch.dtype) -> AutoencoderKLWan:
    """The decoder of a checkpoint that may have no encoder."""
    config = json.loads((folder / "config.json").read_text())
    with torch.device("cuda"):
        vae = AutoencoderKLWan.from_config(config)
    state = load_file(folder / "diffusion_pytorch_model.safetensors", device="cuda")
    missing = vae.load_state_dict(state, strict=False).missing_keys
    absent = [name for name in missing if name.startswith(("decoder.", "post_quant_conv."))]
    if absent:
        raise SystemExit(f"{folder} lacks {absent[0]} and {len(absent) - 1} more")
    vae.encoder = None
    return vae.to(dtype).eval()


@torch.inference_mode()
def decode(vae: AutoencoderKLWan, latents: torch.Tensor) -> torch.Tensor:
    with torch.autocast("cuda", dtype=torch.bfloat16, enabled=vae.dtype == torch.bfloat16):
        return vae.decode(latents.to(vae.dtype)).sample


def timed(vae: AutoencoderKLWan, latents: torch.Tensor, runs: int) -> dict:
    torch.cuda.reset_peak_memory_stats()
    decode(vae, latents)
    times = []
    for _ in range(runs):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        decode(vae, latents)
        torch.cuda.synchronize()
        times.append(time.perf_counter() - begin)
    return {
        "seconds": statistics.median(times),
        "seconds_min": min(times),
        "seconds_max": max(times),
        "peak_allocated_bytes": torch.cuda.max_memory_allocated(),
        "peak_reserved_bytes": torch.cuda.max_memory_reserved(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--vae", type=Path, required=True)
    parser.add_argument("--latents", type=Path, required=True)
    parser.add_argument("--frames", type=int, nargs="*", default=[31], help="latent frames to time")
    parser.add_argument("--error-frames", type=int, nargs="*", default=[1, 2, 5])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--json", type=Path, required=True)
    arguments = parser.parse_args()

    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    latents = load_file(arguments.latents, device="cuda")["latents"][None].to(torch.bfloat16)
    result = {
        "gpu": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "cudnn": torch.backends.cudnn.version(),
        "diffusers": diffusers.__version__,
        "times": {},
        "errors": {},
    }
    vae = load(arguments.vae, torch.bfloat16)
    for frames in arguments.frames:
        result["times"][frames] = timed(vae, latents[:, :, :frames], arguments.runs)
    rounded = {n: decode(vae, latents[:, :, :n]).float().cpu() for n in arguments.error_frames}
    del vae
    torch.cuda.empty_cache()
    vae = load(arguments.vae, torch.float32)
    for frames, video in rounded.items():
        difference = video - decode(vae, latents[:, :, :frames]).cpu()
        result["errors"][frames] = {
            "M": difference.abs().max().item(),
            "R": difference.double().pow(2).mean().sqrt().item(),
        }
    arguments.json.write_text(json.dumps(result, indent=2) + "\n")
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
