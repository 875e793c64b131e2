#include "ops/onednn/adapter.h"

#include <oneapi/dnnl/dnnl_version.h>

#include <string>

#include "core/check.h"

namespace pantograph::ops::onednn {

const dnnl::engine& cpu_engine() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

dnnl::primitive_attr attributes() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

dnnl::convolution_forward::primitive_desc convolution(const dnnl::memory::desc& source,
                                                      const dnnl::memory::desc& weights,
                                                      const dnnl::memory::desc& bias,
                                                      const dnnl::memory::desc& target,
                                                      const dnnl::memory::dims& padding,
                                                      const dnnl::primitive_attr& attributes) {
  constexpr auto kKind = dnnl::prop_kind::forward_inference;
  constexpr auto kAlgorithm = dnnl::algorithm::convolution_direct;
  const dnnl::memory::dims strides(padding.size(), 1);
  return translated([&] {
#if DNNL_VERSION_MAJOR >= 3
    return dnnl::convolution_forward::primitive_desc(cpu_engine(), kKind, kAlgorithm, source,
                                                     weights, bias, target, strides, padding,
                                                     padding, attributes);
#else
    const dnnl::convolution_forward::desc problem(kKind, kAlgorithm, source, weights, bias, target,
                                                  strides, padding, padding);
    return dnnl::convolution_forward::primitive_desc(problem, attributes, cpu_engine());
#endif
  });
}

dnnl::matmul::primitive_desc matmul(const dnnl::memory::desc& source,
                                    const dnnl::memory::desc& weights,
                                    const dnnl::memory::desc& target,
                                    const dnnl::primitive_attr& attributes) {
  return translated([&] {
#if DNNL_VERSION_MAJOR >= 3
    return dnnl::matmul::primitive_desc(cpu_engine(), source, weights, target, attributes);
#else
    return dnnl::matmul::primitive_desc(dnnl::matmul::desc(source, weights, target), attributes,
                                        cpu_engine());
#endif
  });
}

dnnl::matmul::primitive_desc matmul(const dnnl::memory::desc& source,
                                    const dnnl::memory::desc& weights,
                                    const dnnl::memory::desc& bias,
                                    const dnnl::memory::desc& target,
                                    const dnnl::primitive_attr& attributes) {
  return translated([&] {
#if DNNL_VERSION_MAJOR >= 3
    return dnnl::matmul::primitive_desc(cpu_engine(), source, weights, bias, target, attributes);
#else
    return dnnl::matmul::primitive_desc(dnnl::matmul::desc(source, weights, bias, target),
                                        attributes, cpu_engine());
#endif
  });
}

void rethrow(const dnnl::error& error) {
  switch (error.status) {
    case dnnl_out_of_memory:
      fail(ErrorKind::kOutOfMemory, "oneDNN has no memory left: ", error.what());
    case dnnl_unimplemented:
      fail(ErrorKind::kUnsupported, "oneDNN cannot do this: ", error.what());
    default:
      fail(ErrorKind::kInternal, "oneDNN failed: ", error.what());
  }
}

void execute(const dnnl::primitive& primitive, const Arguments& arguments) {
  translated([&] {
    dnnl::stream stream(cpu_engine());
    primitive.execute(stream, arguments);
    stream.wait();
  });
}

void reorder(dnnl::memory& from, dnnl::memory& to) {
  execute(translated([&] { return dnnl::reorder(from, to); }),
          {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}});
}

const char* version() {
  static const std::string text = [] {
    const dnnl_version_t* v = dnnl_version();
    return "oneDNN " + std::to_string(v->major) + "." + std::to_string(v->minor) + "." +
           std::to_string(v->patch);
  }();
  return text.c_str();
}

}  // namespace pantograph::ops::onednn
