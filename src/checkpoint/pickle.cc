#include "checkpoint/pickle.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <unordered_map>

#include "checkpoint/byte_reader.h"
#include "checkpoint/json.h"
#include "core/check.h"

namespace pantograph {
namespace {

using Ref = Pickle::Ref;

// Far beyond any checkpoint, and small enough that no pickle fills the memory: a model of 10,000
// tensors takes about 2 MB and 300,000 values.
constexpr std::size_t kMaxBytes = 64 << 20;
constexpr std::size_t kMaxValues = 4'000'000;

constexpr std::string_view kOrderedDict = "collections.OrderedDict";

// What torch.save writes for tensors in containers; a name in the first list may be called.
constexpr std::array<std::string_view, 4> kFunctions = {
    "torch._utils._rebuild_tensor_v2", "torch._utils._rebuild_tensor_v3",
    "torch._utils._rebuild_parameter", "torch.Size"};
constexpr std::array<std::string_view, 21> kConstants = {"torch.FloatStorage",
                                                         "torch.BFloat16Storage",
                                                         "torch.HalfStorage",
                                                         "torch.DoubleStorage",
                                                         "torch.LongStorage",
                                                         "torch.IntStorage",
                                                         "torch.ShortStorage",
                                                         "torch.CharStorage",
                                                         "torch.ByteStorage",
                                                         "torch.BoolStorage",
                                                         "torch.storage.UntypedStorage",
                                                         "torch.float32",
                                                         "torch.bfloat16",
                                                         "torch.float16",
                                                         "torch.float64",
                                                         "torch.int64",
                                                         "torch.int32",
                                                         "torch.int16",
                                                         "torch.int8",
                                                         "torch.uint8",
                                                         "torch.bool"};

template <typename List>
bool contains(const List& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// The opcodes that Python's and torch's picklers write for such values (pickletools.py).
enum Opcode : std::uint8_t {
  kMark = '(',
  kStop = '.',
  kNone = 'N',
  kBinInt = 'J',
  kBinInt1 = 'K',
  kBinInt2 = 'M',
  kBinFloat = 'G',
  kBinUnicode = 'X',
  kEmptyTuple = ')',
  kTuple = 't',
  kEmptyList = ']',
  kAppend = 'a',
  kAppends = 'e',
  kEmptyDict = '}',
  kSetItem = 's',
  kSetItems = 'u',
  kGlobal = 'c',
  kReduce = 'R',
  kBuild = 'b',
  kBinPersId = 'Q',
  kBinPut = 'q',
  kLongBinPut = 'r',
  kBinGet = 'h',
  kLongBinGet = 'j',
  kProto = 0x80,
  kTuple1 = 0x85,
  kTuple2 = 0x86,
  kTuple3 = 0x87,
  kNewTrue = 0x88,
  kNewFalse = 0x89,
  kLong1 = 0x8a,
  kShortBinUnicode = 0x8c,
  kBinUnicode8 = 0x8d,
  kStackGlobal = 0x93,
  kMemoize = 0x94,
  kFrame = 0x95,
};

class Unpickler {
 public:
  Unpickler(std::span<const std::byte> bytes, const std::string& where)
      : reader_(bytes, where), where_(where) {}

  Pickle run() {
    for (;;) {
      const auto opcode = reader_.number<std::uint8_t>();
      if (opcode == kStop) break;
      step(opcode);
    }
    result_.root = pop();
    return std::move(result_);
  }

 private:
  template <typename... Parts>
  [[noreturn]] void refuse(ErrorKind kind, Parts&&... parts) const {
    fail(kind, where_, ": at byte ", reader_.position(), ": ", std::forward<Parts>(parts)...);
  }
  [[noreturn]] void refuse_damage(std::string_view what) const {
    refuse(ErrorKind::kFormat, what, "; the file is damaged");
  }

  void step(std::uint8_t opcode) {
    switch (opcode) {
      case kProto: {
        const int protocol = reader_.number<std::uint8_t>();
        if (protocol < 2 || protocol > 5) {
          refuse(ErrorKind::kUnsupported, "pickle protocol ", protocol, "; expected 2 to 5");
        }
        return;
      }
      case kFrame:
        reader_.take(8);  // how much to read ahead
        return;
      case kMark:
        marks_.push_back(stack_.size());
        return;
      case kNone:
        return push(std::monostate());
      case kNewTrue:
        return push(true);
      case kNewFalse:
        return push(false);
      case kBinInt:
        return push(std::int64_t{reader_.number<std::int32_t>()});
      case kBinInt1:
        return push(std::int64_t{reader_.number<std::uint8_t>()});
      case kBinInt2:
        return push(std::int64_t{reader_.number<std::uint16_t>()});
      case kLong1:
        return push(long_integer(reader_.number<std::uint8_t>()));
      case kBinFloat:
        return push(big_endian_double());
      case kShortBinUnicode:
        return push(reader_.text(reader_.number<std::uint8_t>()));
      case kBinUnicode:
        return push(reader_.text(reader_.number<std::uint32_t>()));
      case kBinUnicode8:
        return push(reader_.text(reader_.number<std::uint64_t>()));
      case kEmptyTuple:
        return push(Pickle::Tuple());
      case kTuple1:
        return push(Pickle::Tuple{pop(1)});
      case kTuple2:
        return push(Pickle::Tuple{pop(2)});
      case kTuple3:
        return push(Pickle::Tuple{pop(3)});
      case kTuple:
        return push(Pickle::Tuple{pop_to_mark()});
      case kEmptyList:
        return push(Pickle::List());
      case kAppend:
        return append(pop(1));
      case kAppends:
        return append(pop_to_mark());
      case kEmptyDict:
        return push(Pickle::Dict());
      case kSetItem:
        return set_items(pop(2));
      case kSetItems:
        return set_items(pop_to_mark());
      case kGlobal: {
        const std::string module = line();
        return global(module + "." + line());
      }
      case kStackGlobal: {
        const std::vector<Ref> names = pop(2);
        return global(string(names[0]) + "." + string(names[1]));
      }
      case kReduce:
        return call();
      case kBuild:
        return build();
      case kBinPersId:
        return push(Pickle::External{pop()});
      case kBinPut:
        return remember(reader_.number<std::uint8_t>());
      case kLongBinPut:
        return remember(reader_.number<std::uint32_t>());
      case kMemoize:
        return remember(static_cast<std::uint32_t>(memo_.size()));
      case kBinGet:
        return recall(reader_.number<std::uint8_t>());
      case kLongBinGet:
        return recall(reader_.number<std::uint32_t>());
      default:
        refuse(ErrorKind::kUnsupported, "the pickle opcode ", int{opcode},
               ", which tensors in plain containers do not need; save a state_dict instead");
    }
  }

  void push(Pickle::Value value) {
    if (result_.values.size() == kMaxValues) {
      refuse(ErrorKind::kFormat, "more than ", kMaxValues, " values; this is no checkpoint");
    }
    stack_.push_back(static_cast<Ref>(result_.values.size()));
    result_.values.push_back(std::move(value));
  }

  // Values above the last mark only: those below belong to a container not yet begun.
  std::vector<Ref> pop(std::size_t count) {
    const std::size_t bottom = marks_.empty() ? 0 : marks_.back();
    if (stack_.size() - bottom < count) refuse_damage("a value is missing");
    std::vector<Ref> values(stack_.end() - static_cast<std::ptrdiff_t>(count), stack_.end());
    stack_.resize(stack_.size() - count);
    return values;
  }
  Ref pop() { return pop(1).front(); }

  std::vector<Ref> pop_to_mark() {
    if (marks_.empty()) refuse_damage("a mark is missing");
    std::vector<Ref> values = pop(stack_.size() - marks_.back());
    marks_.pop_back();
    return values;
  }

  Ref top() const {
    if (stack_.size() == (marks_.empty() ? 0 : marks_.back())) refuse_damage("a value is missing");
    return stack_.back();
  }

  std::int64_t long_integer(std::size_t bytes) {
    const auto digits = reader_.take(bytes);
    if (bytes > sizeof(std::int64_t)) {
      refuse(ErrorKind::kUnsupported, "an integer of ", bytes, " bytes; at most 8 are supported");
    }
    const bool negative = bytes > 0 && (digits.back() & std::byte{0x80}) != std::byte{0};
    std::int64_t value = negative ? -1 : 0;
    std::memcpy(&value, digits.data(), digits.size());
    return value;
  }

  double big_endian_double() {
    std::array<std::byte, sizeof(double)> digits{};
    const auto stored = reader_.take(digits.size());
    std::reverse_copy(stored.begin(), stored.end(), digits.begin());
    return std::bit_cast<double>(digits);
  }

  std::string line() {
    std::string text;
    for (;;) {
      const char next = reader_.text(1).front();
      if (next == '\n') return text;
      text += next;
    }
  }

  std::string string(Ref ref) const {
    const auto* text = std::get_if<std::string_view>(&result_[ref]);
    if (text == nullptr) refuse_damage("a name that is no string");
    return std::string(*text);
  }

  void append(const std::vector<Ref>& items) {
    auto* list = std::get_if<Pickle::List>(&result_.values[top()]);
    if (list == nullptr) refuse_damage("items for what is no list");
    list->items.insert(list->items.end(), items.begin(), items.end());
  }

  void set_items(const std::vector<Ref>& items) {
    auto* dict = std::get_if<Pickle::Dict>(&result_.values[top()]);
    if (dict == nullptr || items.size() % 2 != 0) refuse_damage("items for what is no dict");
    for (std::size_t i = 0; i < items.size(); i += 2) {
      dict->items.emplace_back(items[i], items[i + 1]);
    }
  }

  void global(std::string name) {
    if (name != kOrderedDict && !contains(kFunctions, name) && !contains(kConstants, name)) {
      refuse(ErrorKind::kUnsupported, "the pickle wants ", Json(name).dump(),
             ", which is neither a tensor nor a plain container; nothing of it was run: save the "
             "tensors alone (a state_dict) with torch.save or safetensors");
    }
    push(Pickle::Global{std::move(name)});
  }

  void call() {
    const std::vector<Ref> both = pop(2);
    const auto* callee = std::get_if<Pickle::Global>(&result_[both[0]]);
    const auto* arguments = std::get_if<Pickle::Tuple>(&result_[both[1]]);
    if (callee == nullptr || arguments == nullptr) refuse_damage("a call of what is no function");
    if (callee->name == kOrderedDict && arguments->items.empty()) return push(Pickle::Dict());
    if (!contains(kFunctions, callee->name)) {
      refuse(ErrorKind::kUnsupported, "a call of ", callee->name, " that tensors do not need");
    }
    push(Pickle::Call{callee->name, both[1]});
  }

  // An OrderedDict's attributes (torch.nn's "_metadata"): nothing that the tensors depend on.
  void build() {
    pop();
    if (!std::holds_alternative<Pickle::Dict>(result_[top()])) {
      refuse(ErrorKind::kUnsupported, "attributes of what is no dict");
    }
  }

  void remember(std::uint32_t key) {
    if (memo_.size() == kMaxValues) {
      refuse(ErrorKind::kFormat, "more than ", kMaxValues, " shared values");
    }
    memo_[key] = top();
  }

  void recall(std::uint32_t key) {
    const auto found = memo_.find(key);
    if (found == memo_.end()) refuse_damage("a value is used before it is given");
    stack_.push_back(found->second);
  }

  ByteReader reader_;
  const std::string& where_;
  Pickle result_;
  std::vector<Ref> stack_;
  std::vector<std::size_t> marks_;  // sizes of the stack
  std::unordered_map<std::uint32_t, Ref> memo_;
};

}  // namespace

Pickle parse_pickle(std::span<const std::byte> bytes, const std::string& where) {
  if (bytes.size() > kMaxBytes) {
    fail(ErrorKind::kFormat, where, ": a pickle of ", bytes.size(), " bytes, more than ", kMaxBytes,
         "; this is no checkpoint");
  }
  return Unpickler(bytes, where).run();
}

}  // namespace pantograph
