// The few calls in which oneDNN 2 and oneDNN 3 differ, and those that every user makes. Everything
// else of the library is used directly, and only by files named onednn.cc.
#pragma once

#include <oneapi/dnnl/dnnl.hpp>
#include <unordered_map>

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

// Throws what oneDNN threw as an Error: kOutOfMemory, kUnsupported or kInternal.
[[noreturn]] void rethrow(const dnnl::error& error);

// The result of a call to oneDNN.
template <typename Call>
auto translated(const Call& call) {
  try {
    return call();
  } catch (const dnnl::error& error) {
    rethrow(error);
  }
}

using Arguments = std::unordered_map<int, dnnl::memory>;
// Runs a primitive to its end.
void execute(const dnnl::primitive& primitive, const Arguments& arguments);
// Copies from one layout into another.
void reorder(dnnl::memory& from, dnnl::memory& to);

// "oneDNN 2.6.3"
const char* version();

}  // namespace pantograph::ops::onednn
