"""The fused token operators of the PAN 2 diffusion transformer, for training and sampling.

Each runs in one pass over its tensors, forward and backward, on CUDA GPUs and, slowly, on CPUs;
each is one operator to torch.compile, activation checkpointing and CUDA graphs.
"""

from ._activations import gelu_tanh, swiglu
from ._gated_residual import gated_residual, gated_residual_layer_norm
from ._layer_norm_modulate import layer_norm_modulate
from ._qk_rmsnorm_rope import qk_rmsnorm_rope

__all__ = [
    "gated_residual",
    "gated_residual_layer_norm",
    "gelu_tanh",
    "layer_norm_modulate",
    "qk_rmsnorm_rope",
    "swiglu",
]
