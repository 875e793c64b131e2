// The few calls in which oneDNN 2 and oneDNN 3 differ. Everything else of the library is used
// directly, and only by files named onednn.cc.
#pragma once

#include <oneapi/dnnl/dnnl.hpp>

namespace pantograph::ops::onednn {

const dnnl::engine& cpu_engine();

// Attributes of all our primitives: their scratchpad is the caller's.
dnnl::primitive_attr attributes();

// Stride 1, fp32. Padding is the same on both sides.
dnnl::convolution_forward::primitive_desc convolution(const dnnl::memory::desc& source,
                                                      const dnnl::memory::desc& weights,
                                                      const dnnl::memory::desc& bias,
                                                      const dnnl::memory::desc& target,
                                                      const dnnl::memory::dims& padding,
                                                      const dnnl::primitive_attr& attributes);

dnnl::matmul::primitive_desc matmul(const dnnl::memory::desc& source,
                                    const dnnl::memory::desc& weights,
                                    const dnnl::memory::desc& target,
                                    const dnnl::primitive_attr& attributes);
dnnl::matmul::primitive_desc matmul(const dnnl::memory::desc& source,
                                    const dnnl::memory::desc& weights,
                                    const dnnl::memory::desc& bias,
                                    const dnnl::memory::desc& target,
                                    const dnnl::primitive_attr& attributes);

// "oneDNN 2.6.3"
const char* version();

}  // namespace pantograph::ops::onednn
