"""Compares a decoded video with a golden clip; exits 1 beyond the tolerance."""

import argparse
import sys
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file


def load_video(path: Path) -> np.ndarray:
    tensors = load_file(path)
    if "video" not in tensors:
        raise SystemExit(f"{path}: no tensor 'video', only {sorted(tensors)}")
    video = tensors["video"]
    if video.dtype != np.float32:
        raise SystemExit(f"{path}: 'video' is {video.dtype}, expected float32")
    return video


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("video", type=Path, help="decoded: 'video' [F, 3, H, W], f32")
    parser.add_argument("clip", type=Path, help="golden: 'video' [3, F, H, W], f32")
    parser.add_argument("--tolerance", type=float, default=2e-4, help="of max|d| (default 2e-4)")
    arguments = parser.parse_args()

    video = load_video(arguments.video)
    reference = np.moveaxis(load_video(arguments.clip), -4, -3)
    if video.shape != reference.shape:
        raise SystemExit(f"{arguments.video}: 'video' is {video.shape}, the clip {reference.shape}")

    difference = video.astype(np.float64) - reference
    largest = np.abs(difference).max()
    rms = np.sqrt(np.mean(difference**2))
    # A NaN fails both comparisons.
    passed = bool(np.abs(video).max() <= 1 and largest <= arguments.tolerance)
    print(f"max|d| {largest:.3g}, rms {rms:.3g}, tolerance {arguments.tolerance:g}:", end=" ")
    print("pass" if passed else "FAIL")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
