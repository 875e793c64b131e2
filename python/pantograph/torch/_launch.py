"""Calls of the native module, which checks the tensors and launches on their current stream."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

# torch.cuda.current_device() without its look at whether CUDA has begun: a tensor on a GPU says so.
_current_device = getattr(torch._C, "_cuda_getDevice", torch.cuda.current_device)


def new_like(tensor: Tensor) -> Tensor:
    """Empty and contiguous, with the tensor's shape, type and device."""
    if tensor.layout is not torch.strided:  # the native module says that it is no dense tensor
        return tensor.new_empty(tensor.shape)
    return torch.empty_like(tensor, memory_format=torch.contiguous_format)


def launch(function: Callable[..., bool], first: Tensor, *args: Any) -> None:
    """Runs the function on the tensors, or on contiguous copies of those that it cannot walk."""
    if _elsewhere(first):
        with torch.cuda.device(first.device):
            return launch(function, first, *args)
    if not function(first, *args):
        function(*_contiguous(first, *args))
    return None


def launch_with_workspace(function: Callable[..., int], first: Tensor, *args: Any) -> None:
    """As launch, with memory as large as the function asks for when given none."""
    if _elsewhere(first):
        with torch.cuda.device(first.device):
            return launch_with_workspace(function, first, *args)
    inputs = (first, *args)
    size = function(*inputs, None)
    if size < 0:
        inputs = _contiguous(*inputs)
        size = function(*inputs, None)
    workspace = first.new_empty(size, dtype=torch.uint8)
    function(*inputs, workspace.data_ptr())
    return None


def statistics_dtype(tensor: Tensor) -> torch.dtype:
    return torch.float64 if tensor.dtype is torch.float64 else torch.float32


def _elsewhere(tensor: Tensor) -> bool:
    """Whether it is on a GPU that is not the current one."""
    return tensor.is_cuda and tensor.get_device() != _current_device()


def _contiguous(*args: Any) -> tuple[Any, ...]:
    return tuple(a.contiguous() if isinstance(a, Tensor) else a for a in args)
