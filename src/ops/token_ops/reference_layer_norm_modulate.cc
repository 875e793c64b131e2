// Sums are taken in f64: their order, which differs between devices, then hardly shows.
#include <cmath>
#include <vector>

#include "ops/token_ops/element.h"
#include "ops/token_ops/reference.h"

namespace pantograph::ops::reference {
namespace {

// Column sums of the rows of one sample, or of all where the table is shared, rounded at the end.
template <typename T>
class ColumnSums {
 public:
  ColumnSums(const TokenShape& shape, const Table& table, void* output)
      : shape_(shape),
        shared_(table.stride == 0),
        output_(static_cast<T*>(output)),
        sums_(static_cast<std::size_t>((shared_ ? 1 : shape.batch) * shape.channels)) {}

  void add(std::int64_t sample, std::int64_t column, Compute<T> a, Compute<T> b) {
    sums_[static_cast<std::size_t>((shared_ ? 0 : sample) * shape_.channels + column)] +=
        double{a} * double{b};
  }

  void write() const {
    for (std::size_t i = 0; i < sums_.size(); ++i) {
      output_[i] = narrow<T>(static_cast<Compute<T>>(sums_[i]));
    }
  }

 private:
  TokenShape shape_;
  bool shared_;
  T* output_;
  std::vector<double> sums_;
};

template <typename T>
void gated_sum(const TokenShape& shape, const T* x, const T* y, const T* gate, T* out) {
  for (std::int64_t c = 0; c < shape.channels; ++c) {
    out[c] = narrow<T>(std::fma(widen(y[c]), widen(gate[c]), widen(x[c])));
  }
}

template <typename T>
void forward(const LayerNormModulate& problem) {
  using Real = Compute<T>;
  const TokenShape& shape = problem.shape;
  const auto channels = static_cast<double>(shape.channels);
  for_each_row(shape, [&](std::int64_t sample, std::int64_t token) {
    const T* x = row_of<T>(problem.x, sample, token);
    if (problem.y.data != nullptr) {
      T* sum = dense_row<T>(problem.sum, shape, sample, token);
      gated_sum(shape, x, row_of<T>(problem.y, sample, token), entry_of<T>(problem.gate, sample),
                sum);
      x = sum;
    }
    double total = 0;
    for (std::int64_t c = 0; c < shape.channels; ++c) total += widen(x[c]);
    const auto mean = static_cast<Real>(total / channels);
    double squares = 0;
    for (std::int64_t c = 0; c < shape.channels; ++c) {
      const auto centred = static_cast<double>(widen(x[c]) - mean);
      squares += centred * centred;
    }
    const Real rstd =
        1 / std::sqrt(static_cast<Real>(squares / channels) + static_cast<Real>(problem.eps));
    if (problem.mean != nullptr) {
      const std::int64_t row = sample * shape.tokens + token;
      static_cast<Real*>(problem.mean)[row] = mean;
      static_cast<Real*>(problem.rstd)[row] = rstd;
    }

    const T* scale = entry_of<T>(problem.scale, sample);
    const T* shift = entry_of<T>(problem.shift, sample);
    T* out = dense_row<T>(problem.out, shape, sample, token);
    for (std::int64_t c = 0; c < shape.channels; ++c) {
      out[c] = narrow<T>((widen(x[c]) - mean) * rstd * widen(scale[c]) + widen(shift[c]));
    }
  });
}

template <typename T>
void backward(const LayerNormModulateBackward& problem) {
  using Real = Compute<T>;
  const TokenShape& shape = problem.shape;
  const auto channels = static_cast<double>(shape.channels);
  ColumnSums<T> grad_scale(shape, problem.scale, problem.grad_scale);
  ColumnSums<T> grad_shift(shape, problem.scale, problem.grad_shift);
  for_each_row(shape, [&](std::int64_t sample, std::int64_t token) {
    const std::int64_t row = sample * shape.tokens + token;
    const T* grad = row_of<T>(problem.grad, sample, token);
    const T* x = row_of<T>(problem.x, sample, token);
    const T* scale = entry_of<T>(problem.scale, sample);
    const Real mean = static_cast<const Real*>(problem.mean)[row];
    const Real rstd = static_cast<const Real*>(problem.rstd)[row];
    double sum_g = 0;
    double sum_gn = 0;
    for (std::int64_t c = 0; c < shape.channels; ++c) {
      const Real n = (widen(x[c]) - mean) * rstd;
      const Real g = widen(grad[c]) * widen(scale[c]);
      grad_scale.add(sample, c, widen(grad[c]), n);
      grad_shift.add(sample, c, widen(grad[c]), 1);
      sum_g += g;
      sum_gn += double{g} * double{n};
    }
    const auto mean_g = static_cast<Real>(sum_g / channels);
    const auto mean_gn = static_cast<Real>(sum_gn / channels);
    T* grad_x = dense_row<T>(problem.grad_x, shape, sample, token);
    for (std::int64_t c = 0; c < shape.channels; ++c) {
      const Real n = (widen(x[c]) - mean) * rstd;
      Real value = rstd * (widen(grad[c]) * widen(scale[c]) - mean_g - n * mean_gn);
      if (problem.grad_sum.data != nullptr) {
        value += widen(row_of<T>(problem.grad_sum, sample, token)[c]);
      }
      grad_x[c] = narrow<T>(value);
    }
  });
  grad_scale.write();
  grad_shift.write();
}

}  // namespace

void layer_norm_modulate(const LayerNormModulate& problem) {
  with_element_type(problem.dtype, [&]<typename T>(T) { forward<T>(problem); });
}

void layer_norm_modulate_backward(const LayerNormModulateBackward& problem) {
  with_element_type(problem.dtype, [&]<typename T>(T) { backward<T>(problem); });
}

void gated_residual(const GatedResidual& problem) {
  with_element_type(problem.dtype, [&]<typename T>(T) {
    for_each_row(problem.shape, [&](std::int64_t sample, std::int64_t token) {
      gated_sum(problem.shape, row_of<T>(problem.x, sample, token),
                row_of<T>(problem.y, sample, token), entry_of<T>(problem.gate, sample),
                dense_row<T>(problem.out, problem.shape, sample, token));
    });
  });
}

void gated_residual_backward(const GatedResidualBackward& problem) {
  with_element_type(problem.dtype, [&]<typename T>(T) {
    ColumnSums<T> grad_gate(problem.shape, problem.gate, problem.grad_gate);
    for_each_row(problem.shape, [&](std::int64_t sample, std::int64_t token) {
      const T* grad = row_of<T>(problem.grad, sample, token);
      const T* y = row_of<T>(problem.y, sample, token);
      const T* gate = entry_of<T>(problem.gate, sample);
      T* grad_y = dense_row<T>(problem.grad_y, problem.shape, sample, token);
      for (std::int64_t c = 0; c < problem.shape.channels; ++c) {
        grad_y[c] = narrow<T>(widen(grad[c]) * widen(gate[c]));
        grad_gate.add(sample, c, widen(grad[c]), widen(y[c]));
      }
    });
    grad_gate.write();
  });
}

}  // namespace pantograph::ops::reference
