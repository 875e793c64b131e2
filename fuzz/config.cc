#include "models/wan_vae/config.h"

#include "parsed.h"

using namespace pantograph;  // NOLINT(google-build-using-namespace)

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return fuzz::parsed([&] {
    const VaeConfig config = wan_vae::parse_config(parse_json(fuzz::text_of(data, size), "x"), "x");
    fuzz::expect(config.spatial_factor() > 0 && config.temporal_factor() > 0);
    // Sizes of tensors are products of what the config says; none may overflow.
    for (const auto& spec : wan_vae::decoder_tensors(config)) {
      fuzz::expect(TensorView::dense(nullptr, DType::kF32, spec.shape).elements() > 0);
    }
  });
}
