"""Writes tests/golden/first_frame: image files, and what Pillow makes of them as a first frame."""

import sys
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps
from safetensors.numpy import save_file

FOLDER = Path(__file__).resolve().parents[2] / "tests" / "golden" / "first_frame"

# file, mode, (width, height), options of its encoder, EXIF orientation, (height, width) wanted
CASES = [
    ("wide.png", "RGB", (97, 41), {}, 1, (32, 32)),
    ("tall.png", "RGB", (23, 61), {}, 1, (64, 32)),
    ("enlarged.png", "RGB", (15, 9), {}, 1, (32, 64)),
    ("same.png", "RGB", (32, 32), {}, 1, (32, 32)),
    ("alpha.png", "RGBA", (40, 37), {}, 1, (32, 32)),
    ("grey.png", "L", (40, 33), {}, 1, (32, 32)),
    ("lossless.webp", "RGB", (45, 38), {"lossless": True}, 1, (32, 32)),
    *(
        (f"turned_{k}.jpg", "RGB", (48, 36), {"quality": 95, "subsampling": 0}, k, (32, 32))
        for k in range(1, 9)
    ),
]


def smooth_picture(mode: str, size: tuple[int, int], seed: int) -> Image.Image:
    """A gradient with detail, so that a wrong window, turn or centre moves it by many levels."""
    width, height = size
    y, x = np.mgrid[0:height, 0:width]
    generator = np.random.default_rng(seed)
    channels = []
    for _ in range(len(Image.new(mode, (1, 1)).getbands())):
        a, b, c = generator.uniform(0.05, 0.25, 3)
        wave = np.sin(a * x + b * y) + np.sin(c * x - a * y + 1) + x / width - 0.6 * y / height
        channels.append(np.clip(wave * 45 + 120, 0, 255))
    array = np.stack(channels, axis=-1).round().astype(np.uint8)
    return Image.fromarray(array.squeeze(), mode)


def first_frame(image: Image.Image, height: int, width: int) -> np.ndarray:
    """Upright, RGB, scaled to cover with Lanczos, cut from the centre."""
    image = ImageOps.exif_transpose(image).convert("RGB")
    scale = max(height / image.height, width / image.width)
    image = image.resize(
        (round(image.width * scale), round(image.height * scale)), Image.Resampling.LANCZOS
    )
    top, left = round((image.height - height) / 2), round((image.width - width) / 2)
    return np.asarray(image.crop((left, top, left + width, top + height)))


def main() -> int:
    FOLDER.mkdir(parents=True, exist_ok=True)
    expected = {}
    for seed, (name, mode, size, options, orientation, (height, width)) in enumerate(CASES):
        image = smooth_picture(mode, size, seed)
        if orientation != 1:
            exif = Image.Exif()
            exif[0x0112] = orientation
            options = options | {"exif": exif}
        image.save(FOLDER / name, **options)
        with Image.open(FOLDER / name) as stored:
            expected[name] = np.ascontiguousarray(first_frame(stored, height, width))
    save_file(expected, FOLDER / "expected.safetensors")
    return 0


if __name__ == "__main__":
    sys.exit(main())
