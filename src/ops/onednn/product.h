// C = A B of fp32 matrices that lie anywhere, with everything but their places fixed.
#pragma once

#include <cstddef>

#include "core/rows.h"
#include "ops/onednn/adapter.h"

namespace pantograph::ops::onednn {

class Product {
 public:
  Product(const dnnl::memory::desc& a, const dnnl::memory::desc& b, const dnnl::memory::desc& c);

  [[nodiscard]] std::size_t workspace_bytes() const {
    return description_.scratchpad_desc().get_size();
  }
  void run(float* a, float* b, float* c, std::byte* workspace) const;

 private:
  dnnl::matmul::primitive_desc description_;
  dnnl::matmul primitive_;
};

// Rows and their transpose as oneDNN describes them.
dnnl::memory::desc matrix(const RowsView& x);
dnnl::memory::desc transposed(const RowsView& x);

}  // namespace pantograph::ops::onednn
