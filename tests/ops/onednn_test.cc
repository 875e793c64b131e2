#include <gtest/gtest.h>

#include "ops/onednn/product.h"
#include "support/expect_error.h"

namespace pantograph::ops::onednn {
namespace {

using test::expect_error;

TEST(OneDnn, WhatItRefusesIsAnErrorOfOurs) {
  const auto matrix_of = [](std::int64_t rows, std::int64_t columns) {
    return matrix(RowsView::dense(nullptr, rows, columns));
  };
  EXPECT_NO_THROW(Product(matrix_of(2, 3), matrix_of(3, 4), matrix_of(2, 4)));
  expect_error(ErrorKind::kInternal, {"oneDNN"},
               [&] { return Product(matrix_of(2, 3), matrix_of(5, 4), matrix_of(2, 4)); });
}

TEST(OneDnn, ItsStatusDecidesTheKind) {
  expect_error(ErrorKind::kOutOfMemory, {"oneDNN", "words"},
               [] { rethrow(dnnl::error(dnnl_out_of_memory, "words")); });
  expect_error(ErrorKind::kUnsupported, {"oneDNN", "words"},
               [] { rethrow(dnnl::error(dnnl_unimplemented, "words")); });
  expect_error(ErrorKind::kInternal, {"oneDNN", "words"},
               [] { rethrow(dnnl::error(dnnl_runtime_error, "words")); });
}

}  // namespace
}  // namespace pantograph::ops::onednn
