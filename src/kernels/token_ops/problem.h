// What a token op computes on: sizes, strides and pointers, the same for a CPU and a GPU.
//
// x is [B, S, C] (or [B, S, H, D]) of f32, bf16 or f16; the CPU reference takes f64 too. Strides
// are in elements, the last dimension is contiguous, and every output is dense. Tables (scale,
// shift, gate) are [B, C] with a stride between samples, or [C] shared by all samples: stride 0.
// Statistics, cosines and sines are f32, or f64 where x is.
#pragma once

#include <cstdint>

#include "pantograph/tensor_view.h"

namespace pantograph {

struct TokenShape {
  std::int64_t batch = 0, tokens = 0, channels = 0;
  [[nodiscard]] constexpr std::int64_t rows() const { return batch * tokens; }
};

struct RowStrides {
  std::int64_t batch = 0, token = 0;
};

struct HeadStrides {
  std::int64_t batch = 0, token = 0, head = 0;
};

struct Rows {
  const void* data = nullptr;
  RowStrides strides{};
};

struct Table {
  const void* data = nullptr;
  std::int64_t stride = 0;
};

// out = rope(round(round(x * rstd) * weight)) for q and k, each [B, S, H, D], with
// rstd = 1 / sqrt(mean(x^2) + eps) of each head.
struct QkRmsNormRope {
  struct Tensor {
    const void* x = nullptr;
    HeadStrides strides{};
    const void* weight = nullptr;  // [D]
    void* out = nullptr;
    void* rstd = nullptr;  // [B, S, H], for the backward pass; nullptr: not wanted
  };
  DType dtype = DType::kF32;
  std::int64_t batch = 0, tokens = 0, heads = 0, head_dim = 0;
  double eps = 0;
  Tensor q{}, k{};
  const void* cos = nullptr;  // [S, D/2] of interleaved pairs; nullptr: no rotation
  const void* sin = nullptr;
};

struct QkRmsNormRopeBackward {
  struct Tensor {
    const void* grad = nullptr;
    HeadStrides grad_strides{};
    const void* x = nullptr;
    HeadStrides strides{};
    const void* weight = nullptr;
    const void* rstd = nullptr;
    void* grad_x = nullptr;
    void* grad_weight = nullptr;
  };
  DType dtype = DType::kF32;
  std::int64_t batch = 0, tokens = 0, heads = 0, head_dim = 0;
  Tensor q{}, k{};
  const void* cos = nullptr;
  const void* sin = nullptr;
};

// out = layer_norm(x) * scale + shift. Where y is given, x + y * gate takes the place of x, is
// rounded and written to `sum`, and the statistics are those of the rounded values.
struct LayerNormModulate {
  DType dtype = DType::kF32;
  TokenShape shape{};
  double eps = 0;
  Rows x{};
  Rows y{};
  Table gate{};
  void* sum = nullptr;
  Table scale{}, shift{};
  void* out = nullptr;
  void* mean = nullptr;  // [B, S], for the backward pass; nullptr: neither is wanted
  void* rstd = nullptr;  // [B, S]
};

struct LayerNormModulateBackward {
  DType dtype = DType::kF32;
  TokenShape shape{};
  Rows grad{};
  Rows grad_sum{};  // of `sum` from its other readers, added to grad_x; data nullptr: none
  Rows x{};
  Table scale{};
  const void* mean = nullptr;
  const void* rstd = nullptr;
  void* grad_x = nullptr;
  void* grad_scale = nullptr;  // [B, C], or [C] where scale.stride is 0
  void* grad_shift = nullptr;
};

// out = x + y * gate, rounded once.
struct GatedResidual {
  DType dtype = DType::kF32;
  TokenShape shape{};
  Rows x{}, y{};
  Table gate{};
  void* out = nullptr;
};

// The gradient of x is `grad` itself.
struct GatedResidualBackward {
  DType dtype = DType::kF32;
  TokenShape shape{};
  Rows grad{}, y{};
  Table gate{};
  void* grad_y = nullptr;
  void* grad_gate = nullptr;  // [B, C], or [C] where gate.stride is 0
};

// out = value * round(silu(gate)).
struct SwiGlu {
  DType dtype = DType::kF32;
  TokenShape shape{};
  Rows value{}, gate{};
  void* out = nullptr;
};

struct SwiGluBackward {
  DType dtype = DType::kF32;
  TokenShape shape{};
  Rows grad{}, value{}, gate{};
  void* grad_value = nullptr;
  void* grad_gate = nullptr;
};

// GELU in its tanh form.
struct GeluTanh {
  DType dtype = DType::kF32;
  TokenShape shape{};
  Rows x{};
  void* out = nullptr;
};

struct GeluTanhBackward {
  DType dtype = DType::kF32;
  TokenShape shape{};
  Rows grad{}, x{};
  void* grad_x = nullptr;
};

}  // namespace pantograph
