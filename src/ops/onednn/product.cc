#include "ops/onednn/product.h"

namespace pantograph::ops::onednn {

using dnnl::memory;

Product::Product(const memory::desc& a, const memory::desc& b, const memory::desc& c)
    : description_(matmul(a, b, c, attributes())),
      primitive_(translated([&] { return dnnl::matmul(description_); })) {}

void Product::run(float* a, float* b, float* c, std::byte* workspace) const {
  const dnnl::engine& engine = cpu_engine();
  execute(primitive_,
          {{DNNL_ARG_SRC, memory(description_.src_desc(), engine, a)},
           {DNNL_ARG_WEIGHTS, memory(description_.weights_desc(), engine, b)},
           {DNNL_ARG_DST, memory(description_.dst_desc(), engine, c)},
           {DNNL_ARG_SCRATCHPAD, memory(description_.scratchpad_desc(), engine, workspace)}});
}

memory::desc matrix(const RowsView& x) {
  return {memory::dims{x.rows, x.columns}, memory::data_type::f32, memory::dims{x.stride, 1}};
}

memory::desc transposed(const RowsView& x) {
  return {memory::dims{x.columns, x.rows}, memory::data_type::f32, memory::dims{1, x.stride}};
}

}  // namespace pantograph::ops::onednn
