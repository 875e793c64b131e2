"""One way to make an operator: registered with torch.library, and called past it where it can be.

PyTorch's dispatcher takes longer over a Python operator than the GPU over a small tensor. So plain
eager calls go straight to the implementation, and everything that must see the operator
(torch.compile, dispatch modes, functorch transforms, tensor subclasses) goes through torch.library.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

# Whether somebody must see operators: torch.compile, a dispatch mode, a functorch transform.
is_compiling = torch.compiler.is_compiling
count_modes = torch._C._len_torch_dispatch_stack
functorch_stack = torch._C._functorch.peek_interpreter_stack

_LIBRARY = torch.library.Library("pantograph", "DEF")

Function = Callable[..., Any]


def operator(
    schema: str,
    run: Function,
    fake: Function,
    setup_context: Function | None = None,
    backward: Function | None = None,
    *,
    kept: int = 0,
) -> Function:
    """Defines pantograph::NAME by `schema`, which takes and returns what `run` does.

    The last `kept` outputs are for `backward` alone, which has no gradients for them and may not be
    given any. A differentiable `run` is also told `save=False` where nothing will run backward, and
    may then return None for them.
    `fake` gives empty outputs for torch.compile; `setup_context(ctx, inputs, output)` and
    `backward(ctx, *grads)` are those of a torch.autograd.Function.
    """
    name = schema.partition("(")[0]
    _LIBRARY.define(schema)
    for key in ("CPU", "CUDA"):
        _LIBRARY.impl(name, run, key)
    torch.library.register_fake(f"pantograph::{name}", fake, lib=_LIBRARY)

    def backward_once(ctx: Any, *grads: Any) -> Any:
        if torch.is_grad_enabled():
            raise RuntimeError(f"{name} has no second derivative: leave out create_graph")
        return backward(ctx, *grads)  # type: ignore[misc]

    def setup_registered(ctx: Any, inputs: Any, output: Any) -> None:
        if kept:
            ctx.mark_non_differentiable(*output[-kept:])
        setup_context(ctx, inputs, output)  # type: ignore[misc]

    if backward is not None:
        torch.library.register_autograd(
            f"pantograph::{name}", backward_once, setup_context=setup_registered, lib=_LIBRARY
        )
    registered = getattr(torch.ops.pantograph, name).default

    class Differentiable(torch.autograd.Function):
        # Its own setup_context() would have PyTorch inspect the signature in every call.
        @staticmethod
        def forward(ctx: Any, *inputs: Any) -> Any:
            output = run(*inputs)
            setup_context(ctx, inputs, output)  # type: ignore[misc]
            return output[:-kept] if kept else output  # each output takes time

        backward = staticmethod(backward_once)

    Differentiable.__name__ = name

    def call(*args: Any) -> Any:
        if is_compiling() or count_modes() > 0 or functorch_stack() is not None:
            return registered(*args)
        needs_grad = False
        for arg in args:
            kind = type(arg)
            if kind is Tensor or kind is torch.nn.Parameter:
                needs_grad = needs_grad or arg.requires_grad
            elif isinstance(arg, Tensor):
                return registered(*args)
        if backward is None:
            return run(*args)
        if needs_grad and torch.is_grad_enabled():
            return Differentiable.apply(*args)
        return run(*args, save=False)

    return call
