// Sums are taken in f64: their order, which differs between devices, then hardly shows.
#include <array>
#include <cmath>
#include <vector>

#include "ops/token_ops/element.h"
#include "ops/token_ops/reference.h"
#include "ops/token_ops/token_ops.h"

namespace pantograph::ops::reference {
namespace {

template <typename T>
const T* head_of(const void* data, const HeadStrides& strides, std::int64_t sample,
                 std::int64_t token, std::int64_t head) {
  return static_cast<const T*>(data) + sample * strides.batch + token * strides.token +
         head * strides.head;
}

// Turns the pair by the angle whose cosine and sine are given.
template <typename Real>
void rotate(Real& even, Real& odd, Real cos, Real sin) {
  const Real x = even;
  const Real y = odd;
  even = x * cos - y * sin;
  odd = y * cos + x * sin;
}

template <typename T>
void forward(const QkRmsNormRope& problem, const QkRmsNormRope::Tensor& tensor) {
  using Real = Compute<T>;
  const std::int64_t d = problem.head_dim;
  const auto* weight = static_cast<const T*>(tensor.weight);
  std::array<Real, kMaxHeadDim> value{};
  for_each_row({problem.batch, problem.tokens, 0}, [&](std::int64_t sample, std::int64_t token) {
    for (std::int64_t head = 0; head < problem.heads; ++head) {
      const std::int64_t index = (sample * problem.tokens + token) * problem.heads + head;
      const T* x = head_of<T>(tensor.x, tensor.strides, sample, token, head);
      double squares = 0;
      for (std::int64_t i = 0; i < d; ++i) squares += double{widen(x[i])} * double{widen(x[i])};
      const auto mean = static_cast<Real>(squares / static_cast<double>(d));
      const Real rstd = 1 / std::sqrt(mean + static_cast<Real>(problem.eps));
      if (tensor.rstd != nullptr) static_cast<Real*>(tensor.rstd)[index] = rstd;
      for (std::int64_t i = 0; i < d; ++i) {
        value[i] = rounded<T>(rounded<T>(widen(x[i]) * rstd) * widen(weight[i]));
      }
      for (std::int64_t i = 0; problem.cos != nullptr && i < d; i += 2) {
        const std::int64_t angle = (token * d + i) / 2;
        rotate(value[i], value[i + 1], static_cast<const Real*>(problem.cos)[angle],
               static_cast<const Real*>(problem.sin)[angle]);
      }
      T* out = static_cast<T*>(tensor.out) + index * d;
      for (std::int64_t i = 0; i < d; ++i) out[i] = narrow<T>(value[i]);
    }
  });
}

template <typename T>
void backward(const QkRmsNormRopeBackward& problem, const QkRmsNormRopeBackward::Tensor& tensor) {
  using Real = Compute<T>;
  const std::int64_t d = problem.head_dim;
  const auto* weight = static_cast<const T*>(tensor.weight);
  std::array<Real, kMaxHeadDim> g{};
  std::array<double, kMaxHeadDim> grad_weight{};
  for_each_row({problem.batch, problem.tokens, 0}, [&](std::int64_t sample, std::int64_t token) {
    for (std::int64_t head = 0; head < problem.heads; ++head) {
      const std::int64_t index = (sample * problem.tokens + token) * problem.heads + head;
      const T* grad = head_of<T>(tensor.grad, tensor.grad_strides, sample, token, head);
      const T* x = head_of<T>(tensor.x, tensor.strides, sample, token, head);
      const Real rstd = static_cast<const Real*>(tensor.rstd)[index];
      for (std::int64_t i = 0; i < d; ++i) g[i] = widen(grad[i]);
      for (std::int64_t i = 0; problem.cos != nullptr && i < d; i += 2) {
        const std::int64_t angle = (token * d + i) / 2;
        rotate(g[i], g[i + 1], static_cast<const Real*>(problem.cos)[angle],
               -static_cast<const Real*>(problem.sin)[angle]);
      }
      double dot = 0;
      for (std::int64_t i = 0; i < d; ++i) {
        const Real n = widen(x[i]) * rstd;
        grad_weight[i] += double{g[i]} * double{rounded<T>(n)};
        g[i] *= widen(weight[i]);
        dot += double{g[i]} * double{n};
      }
      const auto mean = static_cast<Real>(dot / static_cast<double>(d));
      T* grad_x = static_cast<T*>(tensor.grad_x) + index * d;
      for (std::int64_t i = 0; i < d; ++i) {
        grad_x[i] = narrow<T>(rstd * (g[i] - widen(x[i]) * rstd * mean));
      }
    }
  });
  for (std::int64_t i = 0; i < d; ++i) {
    static_cast<T*>(tensor.grad_weight)[i] = narrow<T>(static_cast<Real>(grad_weight[i]));
  }
}

}  // namespace

void qk_rmsnorm_rope(const QkRmsNormRope& problem) {
  with_element_type(problem.dtype, [&]<typename T>(T) {
    forward<T>(problem, problem.q);
    forward<T>(problem, problem.k);
  });
}

void qk_rmsnorm_rope_backward(const QkRmsNormRopeBackward& problem) {
  with_element_type(problem.dtype, [&]<typename T>(T) {
    backward<T>(problem, problem.q);
    backward<T>(problem, problem.k);
  });
}

}  // namespace pantograph::ops::reference
