// A Python pickle as plain values, for those pickles that hold tensors and containers only. Nothing
// is imported and nothing called: what a pickle would call is refused by its name, or, for the few
// functions that put tensors together, kept as a Call for torch_file.cc to read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace pantograph {

class Pickle {
 public:
  using Ref = std::uint32_t;  // a value's place in `values`; pickles may share and even nest cycles

  struct Global {
    std::string name;  // "torch.FloatStorage"
  };
  struct List {
    std::vector<Ref> items;
  };
  struct Tuple {
    std::vector<Ref> items;
  };
  struct Dict {
    std::vector<std::pair<Ref, Ref>> items;
  };
  struct Call {
    std::string name;  // of the function
    Ref arguments;     // a Tuple
  };
  struct External {
    Ref id;  // what is kept beside the pickle: a tensor's storage
  };
  using Value = std::variant<std::monostate, bool, std::int64_t, double, std::string_view, Global,
                             List, Tuple, Dict, Call, External>;

  [[nodiscard]] const Value& operator[](Ref ref) const { return values[ref]; }

  std::vector<Value> values;  // strings are views into the pickle's bytes
  Ref root = 0;
};

// Reads protocols 2 to 5. Throws Error: kFormat for a damaged pickle or one beyond the limits on
// its size; kUnsupported, naming it, for any global, call or opcode that plain tensors do not need.
Pickle parse_pickle(std::span<const std::byte> bytes, const std::string& where);

}  // namespace pantograph
