#include "checkpoint/npy.h"

#include "parsed.h"

using namespace pantograph;  // NOLINT(google-build-using-namespace)

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return fuzz::parsed([&] {
    const fuzz::Bytes file = fuzz::bytes_of(data, size);
    fuzz::expect(fuzz::inside(file, parse_npy(file, "x")));
  });
}
