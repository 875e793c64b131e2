// Winograd's transforms of squares, in doubles.
#pragma once

#include <array>
#include <cmath>

#include "geometry/winograd.h"

namespace pantograph::test {

template <std::size_t kRows, std::size_t kColumns>
using Matrix = std::array<std::array<double, kColumns>, kRows>;
template <std::size_t kSide>
using Square = Matrix<kSide, kSide>;

template <std::size_t kRows, std::size_t kColumns>
Matrix<kRows, kColumns> to_doubles(const geometry::RationalMatrix<kRows, kColumns>& matrix) {
  Matrix<kRows, kColumns> result{};
  for (std::size_t i = 0; i < kRows; ++i) {
    for (std::size_t k = 0; k < kColumns; ++k) {
      result[i][k] = static_cast<double>(matrix[i][k].numerator) /
                     static_cast<double>(matrix[i][k].denominator);
    }
  }
  return result;
}

template <std::size_t kRows, std::size_t kColumns>
Matrix<kRows, kColumns> absolute(Matrix<kRows, kColumns> matrix) {
  for (auto& row : matrix) {
    for (double& value : row) value = std::abs(value);
  }
  return matrix;
}

// matrix * square * matrix^T
template <std::size_t kRows, std::size_t kColumns>
Square<kRows> transform(const Matrix<kRows, kColumns>& matrix, const Square<kColumns>& square) {
  Matrix<kRows, kColumns> half{};
  Square<kRows> result{};
  for (std::size_t i = 0; i < kRows; ++i) {
    for (std::size_t k = 0; k < kColumns; ++k) {
      for (std::size_t l = 0; l < kColumns; ++l) half[i][l] += matrix[i][k] * square[k][l];
    }
    for (std::size_t j = 0; j < kRows; ++j) {
      for (std::size_t l = 0; l < kColumns; ++l) result[i][j] += half[i][l] * matrix[j][l];
    }
  }
  return result;
}

}  // namespace pantograph::test
