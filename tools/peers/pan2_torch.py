"""Times PyTorch on what `pantograph bench generate` times, on the same CPU cores, in one run.

    pantograph make pan2 --tiny tiny
    python tools/peers/pan2_torch.py --program build/bin/pantograph --model tiny --json result.json

The peer is transformers' text tower, the DiT of tools/golden/pan2_dit.py and diffusers' VAE, all
in fp32. Both sides take turns, so that whatever else the machine does meets both; the ratio is of
the fastest of each. Needs torch, transformers and diffusers.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import diffusers
import torch
import transformers
from diffusers import AutoencoderKLWan
from torch import Tensor
from transformers import AutoTokenizer, Qwen3_5TextModel

sys.path.append(str(Path(__file__).resolve().parents[1] / "golden"))
import pan2_dit

STAGES = ("text", "step", "decode")
RUNS = 3  # a round, on either side
SYSTEM = "You are a helpful assistant. Generate the video with the following instructions."
USER_HEADER = "<|im_start|>user\n"


def seconds(work: Callable[[], Any]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


class Peer:
    """One generation's stages for the workload that a result of ours describes."""

    def __init__(self, model: Path, workload: dict[str, Any]) -> None:
        self.workload = workload
        self.tokenizer = AutoTokenizer.from_pretrained(model / "tokenizer")
        self.tower = Qwen3_5TextModel.from_pretrained(model / "text_encoder", dtype=torch.float32)
        config = json.loads((model / "transformer" / "config.json").read_text())
        config.pop("_class_name")
        self.config = pan2_dit.Config(**config)
        self.weights = pan2_dit.read_weights(model / "transformer")
        self.vae = AutoencoderKLWan.from_pretrained(model / "vae", torch_dtype=torch.float32)
        t, h, w = (workload["frames"] + 3) // 4, workload["height"] // 16, workload["width"] // 16
        self.latents = torch.randn(self.config.out_channels, t, h, w)
        self.texts = self.encode()
        for text, key in zip(self.texts, ("text_tokens", "negative_tokens"), strict=True):
            if len(text) != workload[key]:
                raise SystemExit(f"{key}: {len(text)} here, {workload[key]} in Pantograph")
        # A text is refined once, as Pantograph does.
        refined = {
            id(text): pan2_dit.context(self.config, self.weights, text, {}) for text in self.texts
        }
        pan2_dit.context = lambda _config, _weights, text, _seen: refined[id(text)]

    @torch.inference_mode()
    def encode(self) -> list[Tensor]:
        texts = []
        for prompt in (self.workload["prompt"], self.workload["negative_prompt"]):
            chat = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": prompt}]
            text = self.tokenizer.apply_chat_template(
                chat, tokenize=False, add_generation_prompt=True
            )
            before = text[: text.index(USER_HEADER) + len(USER_HEADER)]
            ids = self.tokenizer(text, return_tensors="pt").input_ids
            begin = len(self.tokenizer(before).input_ids)
            states = self.tower(input_ids=ids, output_hidden_states=True, use_cache=False)
            texts.append(states.hidden_states[-3][0, begin:])
        return texts

    @torch.inference_mode()
    def step(self) -> None:
        zeros, mask = torch.zeros_like(self.latents), torch.zeros_like(self.latents[:1])
        positive, negative = (
            pan2_dit.forward(
                self.config, self.weights, self.latents, zeros, mask, text, timestep=900.0
            )
            for text in self.texts
        )
        velocity = negative + self.workload["guidance"] * (positive - negative)
        self.latents = self.latents - 0.01 * velocity

    @torch.inference_mode()
    def decode(self) -> None:
        self.vae.decode(self.latents[None], return_dict=False)

    def run(self) -> dict[str, float]:
        return {
            "text": min(seconds(self.encode) for _ in range(RUNS)),
            "step": min(seconds(self.step) for _ in range(RUNS * self.workload["steps"])),
            "decode": seconds(self.decode),  # so long that once a round is enough
        }


def ours(program: Path, model: Path, threads: int, sizes: list[str]) -> dict[str, Any]:
    command = [program, "bench", "generate", "--model", model, "--threads", threads, "--runs", RUNS]
    output = subprocess.run([*map(str, command), *sizes], check=True, stdout=subprocess.PIPE)
    return json.loads(output.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", type=Path, required=True)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    parser.add_argument("sizes", nargs="*", help="after --: options of bench generate, --frames 5")
    arguments = parser.parse_args()

    torch.set_num_threads(arguments.threads)
    torch.manual_seed(0)
    peer, times = None, {who: {stage: [] for stage in STAGES} for who in ("pantograph", "torch")}
    for _ in range(arguments.rounds):
        result = ours(arguments.program, arguments.model, arguments.threads, arguments.sizes)
        if peer is None:
            peer = Peer(arguments.model, result)
            peer.run()  # warms up
        theirs = peer.run()
        for stage in STAGES:
            times["pantograph"][stage].append(result[stage]["seconds_min"])
            times["torch"][stage].append(theirs[stage])

    fastest = {
        who: {stage: min(all_) for stage, all_ in stages.items()} for who, stages in times.items()
    }
    for stages in fastest.values():
        stages["all"] = stages["text"] + result["steps"] * stages["step"] + stages["decode"]
    ratio = {
        stage: fastest["torch"][stage] / fastest["pantograph"][stage] for stage in (*STAGES, "all")
    }
    for stage, value in ratio.items():
        print(
            f"{stage:8}{fastest['pantograph'][stage]:9.3f} s, torch "
            f"{fastest['torch'][stage]:9.3f} s, ratio {value:.2f}"
        )
    if arguments.json:
        workload = {key: value for key, value in result.items() if key not in STAGES}
        versions = {m.__name__: m.__version__ for m in (torch, transformers, diffusers)}
        summary = {
            "workload": workload | {"model": "tiny synthetic"},
            "versions": versions,
            "rounds": arguments.rounds,
            "seconds": fastest,
            "torch_over_pantograph": ratio,
        }
        arguments.json.write_text(json.dumps(summary, indent=2) + "\n")


if __name__ == "__main__":
    main()
