"""Prints what `./run gpu` measured: one short table of the JSON files in a folder.

python tools/peers/table.py out/gpu
"""

import json
import sys
from pathlib import Path


def read(path: Path) -> dict:
    return json.loads(path.read_text()) if path.exists() else {}


PEERS_SIZE = (704, 1248)  # of diffusers' clip
DECODES = {
    "vae_decode": "decode",
    "vae_decode_general": "--algorithm general",
    "vae_decode_sizes": "other sizes",
    "vae_decode_long": "longer clips",
    "vae_decode_streaming": "one latent frame a pass",
    "vae_decode_small": "--max-memory 8",
    "vae_decode_stream": "to YUV4MPEG2 on a pipe",
    "vae_decode_mp4": "to an mp4",
}


def waiting_lines(workload: dict) -> list[str]:
    """What a user waits for who streams, or who writes a file."""
    lines = []
    if "first_frame_seconds" in workload:
        line = f"  first frame after {1000 * workload['first_frame_seconds']:.1f} ms"
        if "push_seconds" in workload:
            line += f", each later latent frame {1000 * workload['push_seconds']:.1f} ms"
        lines.append(line)
    if "file_seconds" in workload:
        file, encoder = workload["file_seconds"], workload["encoder_seconds"]
        lines.append(
            f"  with the file {file:.3f} s: {workload['file_over_decode']:.2f} x the decode alone, "
            f"{file / encoder:.2f} x its encoder alone ({encoder:.3f} s)"
        )
    return lines


def decode_lines(title: str, ours: dict, peer: dict) -> list[str]:
    if not ours:
        return []
    errors = {4 * (int(n) - 1) + 1: e for n, e in peer.get("errors", {}).items()}
    times = {4 * (int(n) - 1) + 1: t["seconds"] for n, t in peer.get("times", {}).items()}
    lines = [
        f"{title}, {ours['gpu']}, bf16 product {ours['matrix_rate_tflops']:.0f} TFLOP/s",
        "workload      seconds    gap  peak GiB  planned  max / M  rms / R  diffusers",
    ]
    for w in ours["workloads"]:
        same_clip = (w["height"], w["width"]) == PEERS_SIZE
        line = f"{w['name']:<12}{w.get('seconds', 0):9.3f}{w.get('gap', 0):7.3f}"
        line += f"{w['peak_bytes'] / 2**30:10.2f}{w['planned_bytes'] / 2**30:9.2f}"
        error = errors.get(w["frames"])
        if same_clip and error and "max_error" in w:
            line += f"{w['max_error'] / error['M']:9.2f}{w['rms_error'] / error['R']:9.2f}"
        else:
            line += " " * 18
        if same_clip and w["frames"] in times:
            line += f"{times[w['frames']]:8.3f} s"
        lines += [line, *waiting_lines(w)]
    return lines


def kernel_lines(bench: dict) -> list[str]:
    if not bench:
        return []
    shares: dict[str, list[float]] = {}
    for kernel in bench["kernels"]:
        shares.setdefault(kernel["name"], []).append(kernel["share"])
    lines = ["kernel alone, at each of its sizes             share of cuBLAS's or a copy's rate"]
    return lines + [f"{n:<46} {' '.join(f'{s:.2f}' for s in row)}" for n, row in shares.items()]


def token_op_lines(ops: dict) -> list[str]:
    if not ops:
        return []
    lines = ["token operator               forward ms (floor)  backward ms (floor)  call us"]
    for name, row in ops["milliseconds"].items():
        forward, backward, call = row["forward"], row["backward"], row["overhead_us"]
        lines.append(
            f"{name:<28}{forward['pantograph']:9.3f} ({forward['floor_ms']:.3f})"
            f"{backward['pantograph']:13.3f} ({backward['floor_ms']:.3f})"
            f"{call['no_grad']:9.1f} / {call['grad']:.1f}"
        )
    return lines


def main() -> None:
    folder = Path(sys.argv[1])
    peer = read(folder / "diffusers.json")
    lines = []
    for name, title in DECODES.items():
        lines += decode_lines(title, read(folder / f"{name}.json"), peer)
    lines += kernel_lines(read(folder / "kernels.json"))
    lines += token_op_lines(read(folder / "token_ops.json"))
    print("\n".join(lines))


if __name__ == "__main__":
    main()
