"""PAN 2's sampling loop around diffusers' flow-matching scheduler."""

from collections.abc import Callable
from dataclasses import dataclass
from unittest import mock

import torch
from diffusers import FlowMatchEulerDiscreteScheduler
from diffusers.schedulers import scheduling_flow_match_euler_discrete as euler
from torch import Tensor

# (latents, which text, timestep) to velocity.
Model = Callable[[Tensor, Tensor, float], Tensor]


@dataclass(frozen=True)
class Sampling:
    steps: int = 4
    shift: float = 9.0
    guidance: float = 2.5
    renoise: bool = False
    sigmas: tuple[float, ...] | None = None  # in the place of the even ones


def even_sigmas(steps: int) -> list[float]:
    return torch.linspace(1, 0, steps + 1, dtype=torch.float64)[:-1].tolist()


def schedule(sampling: Sampling) -> FlowMatchEulerDiscreteScheduler:
    scheduler = FlowMatchEulerDiscreteScheduler(
        shift=sampling.shift, stochastic_sampling=sampling.renoise
    )
    scheduler.set_timesteps(sigmas=list(sampling.sigmas or even_sigmas(sampling.steps)))
    return scheduler


def guide(positive: Tensor, negative: Tensor, guidance: float) -> Tensor:
    return negative + guidance * (positive - negative)


def keep_first_frame(velocity: Tensor, positive: Tensor) -> Tensor:
    return torch.cat([positive[:, :1], velocity[:, 1:]], dim=1)


@torch.inference_mode()
def sample(
    sampling: Sampling,
    model: Model,
    noise: Tensor,
    texts: tuple[Tensor, Tensor],
    has_first_frame: bool,
    fresh_noise: list[Tensor],
) -> list[Tensor]:
    """The latents after each step. `texts` are the positive and the negative one."""
    scheduler = schedule(sampling)
    latents, after = noise, []
    for i, timestep in enumerate(scheduler.timesteps):
        positive = velocity = model(latents, texts[0], timestep.item())
        if sampling.guidance > 1:
            negative = model(latents, texts[1], timestep.item())
            velocity = guide(positive, negative, sampling.guidance)
            if has_first_frame:
                velocity = keep_first_frame(velocity, positive)
        # Where the sampler asks for noise, it gets ours.
        with mock.patch.object(euler, "randn_tensor", lambda *_, step=i, **__: fresh_noise[step]):
            latents = scheduler.step(velocity, timestep, latents).prev_sample
        after.append(latents)
    return after
