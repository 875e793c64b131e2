"""Times diffusers' own decode of the Wan2.2 VAE, and measures its bf16 error on a GPU.

    pantograph make vae --dtype bf16 vae
    pantograph make latents --shape 31,44,78 latents.safetensors
    python tools/peers/diffusers_decode.py --vae vae --latents latents.safetensors --json peer.json

Needs torch and diffusers: installed, or as a folder or wheel on PYTHONPATH. The error (M, R), the
largest and the root mean square difference of its bf16 decode from its f32 decode, is what ours is
held against.

On a CPU, in f32 and by turns with ours, whose weights and latents are of the same kind:

    pantograph make vae vae
    pantograph make latents --shape 5,8,8 latents.safetensors
    python tools/peers/diffusers_decode.py --device cpu --threads 2 --program pantograph \\
        --vae vae --latents latents.safetensors --frames 2 5 --json vae_decode.json
"""

import argparse
import json
import math
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import diffusers
import torch
from diffusers import AutoencoderKLWan
from safetensors.torch import load_file


def load(folder: Path, dtype: torch.dtype, device: str) -> AutoencoderKLWan:
    """The decoder of a checkpoint that may have no encoder."""
    config = json.loads((folder / "config.json").read_text())
    with torch.device(device):
        vae = AutoencoderKLWan.from_config(config)
    state = load_file(folder / "diffusion_pytorch_model.safetensors", device=device)
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


def error(rounded: torch.Tensor, exact: torch.Tensor, frames: int) -> dict:
    """Of the first frames of a video [1, 3, F, H, W], a frame at a time to save memory."""
    largest, squared = 0.0, 0.0
    for frame in range(frames):
        difference = rounded[:, :, frame].double() - exact[:, :, frame].double()
        largest = max(largest, difference.abs().max().item())
        squared += difference.pow(2).mean().item()
    return {"M": largest, "R": math.sqrt(squared / frames)}


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


def ours(program: Path, latents: torch.Tensor, threads: int) -> dict:
    """What `bench decode` says of a decode in a process of its own, after one that warms up."""
    frames, height, width = latents.shape[2:]
    workload = f"{4 * frames - 3}x{16 * height}x{16 * width}"
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        command = [program, "bench", "decode", "--device", "cpu", "--runs", "1"]
        command += ["--threads", str(threads), "--workload", workload, "--json", file.name]
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
        return json.load(file)


def on_cpu(arguments: argparse.Namespace) -> dict:
    torch.set_num_threads(arguments.threads)
    latents = load_file(arguments.latents)["latents"][None].float()
    vae = load(arguments.vae, torch.float32, "cpu")
    result = {
        "torch": torch.__version__,
        "diffusers": diffusers.__version__,
        "threads": arguments.threads,
        "seconds": {},
    }
    for frames in arguments.frames:
        clip = latents[:, :, :frames]
        decode(vae, clip)
        times: dict[str, list[float]] = {"pantograph": [], "diffusers": []}
        for _ in range(arguments.runs):
            bench = ours(arguments.program, clip, arguments.threads)
            result |= {"cpu": bench["cpu"], "pantograph": bench["backend"]}
            times["pantograph"].append(bench["workloads"][0]["seconds"])
            begin = time.perf_counter()
            decode(vae, clip)
            times["diffusers"].append(time.perf_counter() - begin)
        result["seconds"][frames] = times
    return result


def on_gpu(arguments: argparse.Namespace) -> dict:
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
    vae = load(arguments.vae, torch.bfloat16, "cuda")
    for frames in arguments.frames:
        result["times"][frames] = timed(vae, latents[:, :, :frames], arguments.runs)
    if not arguments.error_frames:
        return result
    # Diffusers decodes latent frame by latent frame, so the longest clip begins with the others.
    clip = latents[:, :, : max(arguments.error_frames)]
    rounded = decode(vae, clip)
    del vae
    torch.cuda.empty_cache()
    exact = decode(load(arguments.vae, torch.float32, "cuda"), clip)
    for frames in arguments.error_frames:
        result["errors"][frames] = error(rounded, exact, 4 * frames - 3)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--vae", type=Path, required=True)
    parser.add_argument("--latents", type=Path, required=True)
    parser.add_argument("--frames", type=int, nargs="*", default=[31], help="latent frames to time")
    parser.add_argument("--error-frames", type=int, nargs="*", default=[1, 2, 5])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads(), help="of a CPU")
    parser.add_argument("--program", type=Path, help="pantograph, to take turns with on a CPU")
    parser.add_argument("--json", type=Path, required=True)
    arguments = parser.parse_args()
    result = on_cpu(arguments) if arguments.device == "cpu" else on_gpu(arguments)
    arguments.json.write_text(json.dumps(result, indent=2) + "\n")
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
