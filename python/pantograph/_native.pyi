from torch import Tensor

def qk_rmsnorm_rope(
    q: Tensor,
    k: Tensor,
    wq: Tensor,
    wk: Tensor,
    eps: float,
    cos: Tensor | None,
    sin: Tensor | None,
    q_out: Tensor,
    k_out: Tensor,
    rstd: Tensor | None,
) -> bool: ...
def qk_rmsnorm_rope_backward(
    grad_q_out: Tensor,
    grad_k_out: Tensor,
    q: Tensor,
    k: Tensor,
    wq: Tensor,
    wk: Tensor,
    cos: Tensor | None,
    sin: Tensor | None,
    rstd: Tensor,
    grad_q: Tensor,
    grad_k: Tensor,
    grad_wq: Tensor,
    grad_wk: Tensor,
    workspace: int | None,
) -> int: ...
def layer_norm_modulate(
    x: Tensor,
    scale: Tensor,
    shift: Tensor,
    eps: float,
    out: Tensor,
    statistics: Tensor | None,
) -> bool: ...
def gated_residual_layer_norm(
    x: Tensor,
    y: Tensor,
    gate: Tensor,
    scale: Tensor,
    shift: Tensor,
    eps: float,
    sum: Tensor,
    out: Tensor,
    statistics: Tensor | None,
) -> bool: ...
def layer_norm_modulate_backward(
    grad: Tensor,
    grad_sum: Tensor | None,
    x: Tensor,
    scale: Tensor,
    statistics: Tensor,
    grad_x: Tensor,
    grad_scale: Tensor,
    grad_shift: Tensor,
    workspace: int | None,
) -> int: ...
def gated_residual(x: Tensor, y: Tensor, gate: Tensor, out: Tensor) -> bool: ...
def gated_residual_backward(
    grad: Tensor,
    y: Tensor,
    gate: Tensor,
    grad_y: Tensor,
    grad_gate: Tensor,
    workspace: int | None,
) -> int: ...
def swiglu(value: Tensor, gate: Tensor, out: Tensor) -> bool: ...
def swiglu_backward(
    grad: Tensor, value: Tensor, gate: Tensor, grad_value: Tensor, grad_gate: Tensor, /
) -> bool: ...
def gelu_tanh(x: Tensor, out: Tensor) -> bool: ...
def gelu_tanh_backward(grad: Tensor, x: Tensor, grad_x: Tensor) -> bool: ...
