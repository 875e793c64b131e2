#include <cmath>

#include "ops/token_ops/element.h"
#include "ops/token_ops/reference.h"

namespace pantograph::ops::reference {
namespace {

template <typename Real>
Real sigmoid(Real x) {
  return 1 / (1 + std::exp(-x));
}

// GELU's tanh form, 0.5 x (1 + tanh(u)) with u = sqrt(2 / pi) (x + 0.044715 x^3), is
// x sigmoid(2 u), which keeps its accuracy where tanh(u) nears -1.
constexpr double kTwoSqrt2OverPi = 1.59576912160573071176;
constexpr double kCubic = 0.044715;

template <typename Real>
Real gelu(Real x) {
  return x * sigmoid(Real(kTwoSqrt2OverPi) * (x + Real(kCubic) * x * x * x));
}

template <typename Real>
Real gelu_slope(Real x) {
  const Real s = sigmoid(Real(kTwoSqrt2OverPi) * (x + Real(kCubic) * x * x * x));
  return s + x * s * (1 - s) * Real(kTwoSqrt2OverPi) * (1 + 3 * Real(kCubic) * x * x);
}

// Calls body(offset of the dense row, sample, token) for every row.
template <typename Body>
void for_each_offset(const TokenShape& shape, Body body) {
  for_each_row(shape, [&](std::int64_t sample, std::int64_t token) {
    body((sample * shape.tokens + token) * shape.channels, sample, token);
  });
}

}  // namespace

void swiglu(const SwiGlu& problem) {
  with_element_type(problem.dtype, [&]<typename T>(T) {
    for_each_offset(problem.shape, [&](std::int64_t at, std::int64_t sample, std::int64_t token) {
      const T* value = row_of<T>(problem.value, sample, token);
      const T* gate = row_of<T>(problem.gate, sample, token);
      T* out = static_cast<T*>(problem.out) + at;
      for (std::int64_t c = 0; c < problem.shape.channels; ++c) {
        const Compute<T> g = widen(gate[c]);
        out[c] = narrow<T>(widen(value[c]) * rounded<T>(g * sigmoid(g)));
      }
    });
  });
}

void swiglu_backward(const SwiGluBackward& problem) {
  with_element_type(problem.dtype, [&]<typename T>(T) {
    for_each_offset(problem.shape, [&](std::int64_t at, std::int64_t sample, std::int64_t token) {
      const T* grad = row_of<T>(problem.grad, sample, token);
      const T* value = row_of<T>(problem.value, sample, token);
      const T* gate = row_of<T>(problem.gate, sample, token);
      T* grad_value = static_cast<T*>(problem.grad_value) + at;
      T* grad_gate = static_cast<T*>(problem.grad_gate) + at;
      for (std::int64_t c = 0; c < problem.shape.channels; ++c) {
        const Compute<T> g = widen(gate[c]);
        const Compute<T> s = sigmoid(g);
        grad_value[c] = narrow<T>(widen(grad[c]) * rounded<T>(g * s));
        grad_gate[c] = narrow<T>(widen(grad[c]) * widen(value[c]) * (s * (1 + g * (1 - s))));
      }
    });
  });
}

void gelu_tanh(const GeluTanh& problem) {
  with_element_type(problem.dtype, [&]<typename T>(T) {
    for_each_offset(problem.shape, [&](std::int64_t at, std::int64_t sample, std::int64_t token) {
      const T* x = row_of<T>(problem.x, sample, token);
      T* out = static_cast<T*>(problem.out) + at;
      for (std::int64_t c = 0; c < problem.shape.channels; ++c) {
        out[c] = narrow<T>(gelu(widen(x[c])));
      }
    });
  });
}

void gelu_tanh_backward(const GeluTanhBackward& problem) {
  with_element_type(problem.dtype, [&]<typename T>(T) {
    for_each_offset(problem.shape, [&](std::int64_t at, std::int64_t sample, std::int64_t token) {
      const T* grad = row_of<T>(problem.grad, sample, token);
      const T* x = row_of<T>(problem.x, sample, token);
      T* grad_x = static_cast<T*>(problem.grad_x) + at;
      for (std::int64_t c = 0; c < problem.shape.channels; ++c) {
        grad_x[c] = narrow<T>(widen(grad[c]) * gelu_slope(widen(x[c])));
      }
    });
  });
}

}  // namespace pantograph::ops::reference
