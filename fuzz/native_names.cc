#include "models/wan_vae/native_names.h"

#include "parsed.h"

using namespace pantograph;  // NOLINT(google-build-using-namespace)

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return fuzz::parsed([&] {
    const std::string_view name = fuzz::text_of(data, size);
    const std::string diffusers = wan_vae::diffusers_name(name);
    // Renaming keeps a tensor's own last word, and does not grow without end.
    fuzz::expect(diffusers.size() <= size + 32);
    fuzz::expect(wan_vae::native_name(name, 2).size() <= size + 64);
    fuzz::expect(name.ends_with(".gamma") == diffusers.ends_with(".gamma"));
  });
}
