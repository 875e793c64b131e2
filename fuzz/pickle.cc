#include "checkpoint/pickle.h"

#include "parsed.h"

using namespace pantograph;  // NOLINT(google-build-using-namespace)

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return fuzz::parsed([&] {
    const Pickle pickle = parse_pickle(fuzz::bytes_of(data, size), "x");
    fuzz::expect(pickle.root < pickle.values.size());
    for (const Pickle::Value& value : pickle.values) {
      if (const auto* dict = std::get_if<Pickle::Dict>(&value)) {
        for (const auto& [key, item] : dict->items) {
          fuzz::expect(key < pickle.values.size() && item < pickle.values.size());
        }
      }
    }
  });
}
