"""Writes tests/golden/pan2_video: a whole PAN 2 checkpoint, and videos made with it from prompts.

Nothing of the program is used: transformers runs tokenizer and text tower, the transcription the
DiT, diffusers the scheduler and the VAE, Pillow prepares the first frame.
"""

import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from safetensors.torch import save_file
from torch import Tensor
from transformers import PreTrainedTokenizerFast

import pan2_dit as dit
import pan2_sampling as sampling
from first_frame import first_frame
from generate_encoder import encode
from pan2_sampling import Sampling
from text_tower import CONFIG, make_model, write_checkpoint
from wan22 import decode, load_vae

GOLDEN = Path(__file__).resolve().parents[2] / "tests" / "golden"
FOLDER = GOLDEN / "pan2_video"
# Components that other generators made.
LINKS = {"transformer": "pan2_dit/tiny", "vae": "odd", "tokenizer": "qwen35_tokenizer"}
# Four layers, of which the entry -3 of the hidden states needs the first two: one of each kind.
TEXT_CONFIG = CONFIG | {
    "vocab_size": 706,
    "hidden_size": 40,
    "intermediate_size": 16,
    "num_attention_heads": 4,
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 4,
    "num_hidden_layers": 4,
    "layer_types": ["linear_attention", "full_attention"] * 2,
}
SHIFT = 9.0
SYSTEM = "You are a helpful assistant. Generate the video with the following instructions."
MOST_PROMPT_TOKENS = 1536

TOLERANCE = 1e-3  # of latents and frames, what the C++ tests allow
DETECTION = 100


@dataclass(frozen=True)
class Request:
    prompt: str
    negative_prompt: str = ""
    image: str | None = None  # of tests/golden/first_frame
    frames: int = 5
    height: int = 32
    width: int = 64
    seed: int = 0
    steps: int = 4
    guidance: float = 2.5
    entry: int = -3  # of the hidden states
    normalized: bool = True  # the first frame


REQUESTS = {
    "t2v": Request("A red fox walks through fresh snow.", "blurred, \u00e9t\u00e9", seed=7),
    "i2v": Request("The fox runs.", image="wide.png", height=64, width=32, guidance=3.5, seed=8),
}

_MASK = (1 << 64) - 1


def _mix(z: np.ndarray) -> np.ndarray:
    """SplitMix64's finaliser."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def seeded_noise(shape: tuple[int, ...], seed: int) -> Tensor:
    """N(0, 1) by Box and Muller; element i depends on (seed, i) alone."""
    key = _mix(_mix(np.array([seed], np.uint64)) ^ np.uint64(0))
    index = np.arange(2 * np.prod(shape), dtype=np.uint64)
    bits = _mix(key + index * np.uint64(0x9E3779B97F4A7C15))
    uniform = ((bits >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
    radius, turn = uniform[0::2], uniform[1::2]
    values = np.sqrt(-2 * np.log(radius)) * np.cos(2 * np.pi * turn)
    return torch.from_numpy(values.astype(np.float32)).reshape(shape)


def hidden_states(prompt: str, entry: int) -> Tensor:
    """[tokens, width], from the first token after the user's header."""
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_file=str(FOLDER / "tokenizer" / "tokenizer.json"),
        chat_template=json.loads((FOLDER / "tokenizer" / "tokenizer_config.json").read_text())[
            "chat_template"
        ],
    )
    messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": prompt or " "}]
    ids = tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_dict=False)
    header = tokenizer.encode("<|im_start|>user\n", add_special_tokens=False)
    begin = next(i for i in range(len(ids)) if ids[i : i + len(header)] == header) + len(header)
    ids = ids[: begin + MOST_PROMPT_TOKENS]
    output = make_model(TEXT_CONFIG)(
        input_ids=torch.tensor([ids]), output_hidden_states=True, use_cache=False
    )
    return output.hidden_states[entry][0, begin:]


def mean_and_std(vae: torch.nn.Module) -> tuple[Tensor, Tensor]:
    shape = (-1, 1, 1, 1)
    config = vae.config
    return torch.tensor(config.latents_mean).view(shape), torch.tensor(config.latents_std).view(
        shape
    )


def condition(vae: torch.nn.Module, request: Request) -> Tensor:
    """The normalised mean [48, 1, h, w] of the first frame."""
    with Image.open(GOLDEN / "first_frame" / request.image) as image:
        pixels = first_frame(image, request.height, request.width)
    video = torch.from_numpy(pixels.copy()).float().permute(2, 0, 1)[:, None] / 127.5 - 1
    mean, std = mean_and_std(vae)
    raw = encode(vae, video)
    return (raw - mean) / std if request.normalized else raw


@torch.inference_mode()
def generate(request: Request) -> dict[str, Tensor]:
    vae = load_vae(FOLDER / "vae")
    w = dit.read_weights(FOLDER / "transformer")
    shape = (48, (request.frames - 1) // 4 + 1, request.height // 16, request.width // 16)
    conditioning, mask = torch.zeros(shape), torch.zeros(1, *shape[1:])
    if request.image is not None:
        conditioning[:, :1], mask[:, :1] = condition(vae, request), 1
    texts = tuple(
        hidden_states(prompt, request.entry) for prompt in (request.prompt, request.negative_prompt)
    )

    def model(latents: Tensor, text: Tensor, timestep: float) -> Tensor:
        return dit.forward(dit.TINY, w, latents, conditioning, mask, text, timestep)

    how = Sampling(steps=request.steps, shift=SHIFT, guidance=request.guidance)
    noise = seeded_noise(shape, request.seed)
    latents = sampling.sample(how, model, noise, texts, request.image is not None, [])[-1]
    mean, std = mean_and_std(vae)
    return {
        "latents": latents,
        "video": decode(vae, latents * std + mean),
        "positive": texts[0],
        "first_frame": conditioning[:, :1],
    }


def faults(request: Request) -> dict[str, Callable[[], dict[str, Tensor]]]:
    changed = {
        "prompt": replace(request, prompt=request.prompt + "."),
        "negative prompt": replace(request, negative_prompt=request.negative_prompt + "a"),
        "seed": replace(request, seed=request.seed + 1),
        "guidance": replace(request, guidance=request.guidance + 0.5),
        "hidden states": replace(request, entry=request.entry + 1),
    }
    if request.image is not None:
        changed["no image"] = replace(request, image=None)
        changed["raw image"] = replace(request, normalized=False)
    return {name: lambda other=other: generate(other) for name, other in changed.items()}


def main() -> int:
    torch.set_num_threads(1)  # with more, sums come in another order
    torch.use_deterministic_algorithms(True)
    FOLDER.mkdir(exist_ok=True)
    for name, target in LINKS.items():
        if not (FOLDER / name).is_symlink():
            os.symlink(Path("..") / target, FOLDER / name)
    write_checkpoint(make_model(TEXT_CONFIG), FOLDER / "text_encoder")
    (FOLDER / "scheduler").mkdir(exist_ok=True)
    for file, content in (
        (
            "scheduler/scheduler_config.json",
            {
                "_class_name": "FlowMatchEulerDiscreteScheduler",
                "num_train_timesteps": 1000,
                "shift": SHIFT,
            },
        ),
        ("modular_model_index.json", {"_class_name": "PAN2ModularPipeline"}),
    ):
        (FOLDER / file).write_text(json.dumps(content, indent=2) + "\n")

    passed = True
    for name, request in REQUESTS.items():
        made = generate(request)
        # f16 is within 5e-4 of every value in [-1, 1].
        between = "positive" if request.image is None else "first_frame"
        golden = {"latents": made["latents"], "video": made["video"].half().contiguous()}
        golden[between] = made[between].contiguous()
        save_file(golden, FOLDER / f"{name}.safetensors")
        std, clamped = made["video"].std().item(), (made["video"].abs() == 1).float().mean().item()
        print(f"{name}: latents std {made['latents'].std():.2f}, video std {std:.2f}, ", end="")
        print(f"{clamped:.1%} clamped; max|d| of each fault, in tolerances, of latents and video")
        for fault, broken in faults(request).items():
            other = broken()
            moved = [
                (other[key] - made[key]).abs().max().item() / TOLERANCE
                for key in ("latents", "video")
            ]
            print(f"  {fault:16} {moved[0]:8.0f} {moved[1]:8.0f}")
            passed &= min(moved) > DETECTION
        passed &= 0.1 < std < 0.7 and clamped < 0.1
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
