#include "checkpoint/safetensors.h"

#include "parsed.h"

using namespace pantograph;  // NOLINT(google-build-using-namespace)

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return fuzz::parsed([&] {
    const auto file_size = static_cast<std::int64_t>(size);
    const SafetensorsHeader header =
        parse_safetensors_header(fuzz::bytes_of(data, size), file_size, "x");
    for (const auto& [name, entry] : header.tensors) {
      fuzz::expect(entry.begin >= 0 && entry.begin <= entry.end);
      fuzz::expect(entry.end <= file_size - header.data_begin);
    }
  });
}
