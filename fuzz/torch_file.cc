// The zip and, where it holds a pickle, the tensors that one describes.
#include "checkpoint/torch_file.h"

#include "checkpoint/zip.h"
#include "parsed.h"

using namespace pantograph;  // NOLINT(google-build-using-namespace)

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return fuzz::parsed([&] {
    const fuzz::Bytes file = fuzz::bytes_of(data, size);
    for (const auto& [name, entry] : parse_zip(file, "x")) {
      fuzz::expect(fuzz::inside(file, entry.bytes.data(), entry.bytes.size()));
    }
    for (const auto& [name, view] : parse_torch_file(file, "x")) {
      fuzz::expect(fuzz::inside(file, view));
    }
  });
}
