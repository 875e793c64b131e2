#include "checkpoint/torch_file.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "checkpoint/json.h"
#include "checkpoint/pickle.h"
#include "checkpoint/zip.h"
#include "core/check.h"

namespace pantograph {
namespace {

using Bytes = std::span<const std::byte>;
using Ref = Pickle::Ref;

constexpr std::string_view kPickleName = "data.pkl";
// Containers may hold one another more than once: a small pickle could spell out names without end.
constexpr std::size_t kMaxDepth = 16;
constexpr std::size_t kMaxVisits = 1'000'000;
constexpr std::size_t kMaxNameBytes = 4096;

constexpr std::array<std::pair<std::string_view, DType>, 20> kDTypes{{
    {"torch.FloatStorage", DType::kF32}, {"torch.BFloat16Storage", DType::kBF16},
    {"torch.HalfStorage", DType::kF16},  {"torch.DoubleStorage", DType::kF64},
    {"torch.LongStorage", DType::kI64},  {"torch.IntStorage", DType::kI32},
    {"torch.ShortStorage", DType::kI16}, {"torch.CharStorage", DType::kI8},
    {"torch.ByteStorage", DType::kU8},   {"torch.BoolStorage", DType::kBool},
    {"torch.float32", DType::kF32},      {"torch.bfloat16", DType::kBF16},
    {"torch.float16", DType::kF16},      {"torch.float64", DType::kF64},
    {"torch.int64", DType::kI64},        {"torch.int32", DType::kI32},
    {"torch.int16", DType::kI16},        {"torch.int8", DType::kI8},
    {"torch.uint8", DType::kU8},         {"torch.bool", DType::kBool},
}};

std::optional<DType> dtype_of(std::string_view name) {
  for (const auto& [known, dtype] : kDTypes) {
    if (known == name) return dtype;
  }
  return std::nullopt;
}

class TorchReader {
 public:
  TorchReader(Bytes file, const std::string& where)
      : where_(where), entries_(parse_zip(file, where)) {}

  std::map<std::string, TensorView> read() {
    const Bytes pickle = find_pickle();
    require_little_endian();
    pickle_ = parse_pickle(pickle, where_ + ": " + std::string(kPickleName));
    collect(pickle_.root, "", 0);
    return std::move(tensors_);
  }

 private:
  template <typename... Parts>
  [[noreturn]] void refuse(ErrorKind kind, const std::string& name, Parts&&... parts) const {
    fail(kind, where_, ": the tensor ", Json(name).dump(), ' ', std::forward<Parts>(parts)...);
  }
  [[noreturn]] void refuse_damage(const std::string& name) const {
    refuse(ErrorKind::kFormat, name, "is not described as torch does; the file is damaged");
  }

  // The archive has one folder, named after the file as it was saved.
  Bytes find_pickle() {
    for (const auto& [name, entry] : entries_) {
      const std::size_t slash = name.find('/');
      if (slash == std::string::npos || name.substr(slash + 1) != kPickleName) continue;
      folder_ = name.substr(0, slash + 1);
      return entry.bytes;
    }
    fail(ErrorKind::kFormat, where_, ": a zip archive without ", kPickleName,
         ", so none that torch.save wrote");
  }

  void require_little_endian() const {
    const auto found = entries_.find(folder_ + "byteorder");
    if (found == entries_.end()) return;  // before torch 2.1, which wrote the machine's own
    const std::string_view order(reinterpret_cast<const char*>(found->second.bytes.data()),
                                 found->second.bytes.size());
    if (order != "little") {
      fail(ErrorKind::kUnsupported, where_, ": saved in the byte order ",
           Json(std::string(order)).dump(), "; only \"little\" is supported");
    }
  }

  void collect(Ref ref, const std::string& name, std::size_t depth) {
    if (depth > kMaxDepth) {
      fail(ErrorKind::kFormat, where_, ": containers nested deeper than ", kMaxDepth, " levels");
    }
    if (++visits_ > kMaxVisits || name.size() > kMaxNameBytes) {
      fail(ErrorKind::kFormat, where_, ": more than ", kMaxVisits,
           " values, or a name of more than ", kMaxNameBytes, " bytes; this is no checkpoint");
    }
    const auto inner = [&name](const auto& key) {
      return name.empty() ? std::string(key) : join(name, '.', key);
    };
    const Pickle::Value& value = pickle_[ref];
    if (const auto* dict = std::get_if<Pickle::Dict>(&value)) {
      for (const auto& [key, item] : dict->items) {
        if (const auto* text = std::get_if<std::string_view>(&pickle_[key])) {
          collect(item, inner(*text), depth + 1);
        } else if (const auto* number = std::get_if<std::int64_t>(&pickle_[key])) {
          collect(item, inner(std::to_string(*number)), depth + 1);
        }
      }
    } else if (const auto* list = std::get_if<Pickle::List>(&value)) {
      collect_items(list->items, inner, depth);
    } else if (const auto* tuple = std::get_if<Pickle::Tuple>(&value)) {
      collect_items(tuple->items, inner, depth);
    } else if (const auto* call = std::get_if<Pickle::Call>(&value)) {
      if (call->name != "torch.Size") add(name.empty() ? "tensor" : name, *call);
    }
  }

  template <typename Name>
  void collect_items(const std::vector<Ref>& items, const Name& inner, std::size_t depth) {
    for (std::size_t i = 0; i < items.size(); ++i) {
      collect(items[i], inner(std::to_string(i)), depth + 1);
    }
  }

  void add(const std::string& name, const Pickle::Call& call) {
    if (!tensors_.emplace(name, tensor(name, call)).second) {
      refuse(ErrorKind::kFormat, name, "stands twice in the file");
    }
  }

  template <typename T>
  const T& get(const std::string& name, Ref ref) const {
    const auto* found = std::get_if<T>(&pickle_[ref]);
    if (found == nullptr) refuse_damage(name);
    return *found;
  }

  std::vector<std::int64_t> integers(const std::string& name, Ref ref) const {
    std::vector<std::int64_t> result;
    // torch.Size([2, 3]), where it is spelled out, holds the tuple.
    if (const auto* size = std::get_if<Pickle::Call>(&pickle_[ref])) {
      const auto& arguments = get<Pickle::Tuple>(name, size->arguments).items;
      if (size->name != "torch.Size" || arguments.size() != 1) refuse_damage(name);
      ref = arguments.front();
    }
    for (const Ref item : get<Pickle::Tuple>(name, ref).items) {
      result.push_back(get<std::int64_t>(name, item));
    }
    return result;
  }

  // _rebuild_parameter(data, requires_grad, hooks)
  // _rebuild_tensor_v2(storage, offset, size, stride, requires_grad, hooks[, metadata])
  // _rebuild_tensor_v3(storage, offset, size, stride, requires_grad, hooks, dtype[, metadata])
  TensorView tensor(const std::string& name, const Pickle::Call& call) const {
    const auto& arguments = get<Pickle::Tuple>(name, call.arguments).items;
    if (call.name == "torch._utils._rebuild_parameter") {
      if (arguments.empty()) refuse_damage(name);
      const auto& data = get<Pickle::Call>(name, arguments[0]);
      if (data.name == call.name) refuse_damage(name);  // it would have no end
      return tensor(name, data);
    }
    const bool names_dtype = call.name == "torch._utils._rebuild_tensor_v3";
    const std::size_t count = names_dtype ? 7 : 6;
    if (arguments.size() < count) refuse_damage(name);
    for (std::size_t i = count; i < arguments.size(); ++i) {
      // A conjugate or negated view: its values are not those stored.
      const auto* metadata = std::get_if<Pickle::Dict>(&pickle_[arguments[i]]);
      if (metadata != nullptr && !metadata->items.empty()) {
        refuse(ErrorKind::kUnsupported, name, "is a view with a conjugate or negative bit");
      }
    }
    Storage storage = find_storage(name, arguments[0]);
    if (names_dtype) {
      const auto dtype = dtype_of(get<Pickle::Global>(name, arguments[6]).name);
      if (!dtype) refuse_damage(name);
      storage.dtype = *dtype;
    }
    return view(name, storage, get<std::int64_t>(name, arguments[1]), integers(name, arguments[2]),
                integers(name, arguments[3]));
  }

  struct Storage {
    Bytes bytes;
    DType dtype = DType::kU8;  // of an UntypedStorage: bytes
  };

  // ("storage", type, key, device, elements); the entry data/<key> holds the bytes.
  Storage find_storage(const std::string& name, Ref ref) const {
    const auto& id = get<Pickle::Tuple>(name, get<Pickle::External>(name, ref).id).items;
    if (id.size() < 5) refuse_damage(name);
    Storage storage;
    const std::string& type = get<Pickle::Global>(name, id[1]).name;
    if (const auto dtype = dtype_of(type)) {
      storage.dtype = *dtype;
    } else if (type != "torch.storage.UntypedStorage") {
      refuse_damage(name);
    }
    const std::string entry = folder_ + "data/" + std::string(get<std::string_view>(name, id[2]));
    const auto found = entries_.find(entry);
    if (found == entries_.end()) {
      refuse(ErrorKind::kFormat, name, "should be in the entry ", Json(entry).dump(),
             ", which the file lacks");
    }
    storage.bytes = found->second.bytes;
    return storage;
  }

  TensorView view(const std::string& name, const Storage& storage, std::int64_t offset,
                  const std::vector<std::int64_t>& shape,
                  const std::vector<std::int64_t>& strides) const {
    if (shape.size() != strides.size() || offset < 0) refuse_damage(name);
    TensorView view;
    try {
      view = TensorView::dense(nullptr, storage.dtype, shape);
    } catch (const Error& error) {
      refuse(ErrorKind::kFormat, name, "has an impossible shape: ", error.what());
    }
    const auto element = static_cast<std::int64_t>(size_of(storage.dtype));
    const auto stored = static_cast<std::int64_t>(storage.bytes.size()) / element;
    // Elements may not share a place either: a few bytes could stand for any number of them.
    std::int64_t last = offset;
    bool inside = view.elements() <= stored;
    for (std::size_t i = 0; i < shape.size() && inside && view.elements() > 0; ++i) {
      std::int64_t reach = 0;
      inside = strides[i] >= 0 && checked_multiply(shape[i] - 1, strides[i], reach) &&
               checked_add(last, reach, last);
    }
    if (!inside || (view.elements() > 0 ? last >= stored : offset > stored)) {
      refuse(ErrorKind::kFormat, name, "does not lie in its ", storage.bytes.size(),
             " bytes; the file is damaged");
    }
    std::copy(strides.begin(), strides.end(), view.strides.begin());
    view.data = const_cast<std::byte*>(storage.bytes.data()) + offset * element;
    return view;
  }

  const std::string& where_;
  std::map<std::string, ZipEntry> entries_;
  std::string folder_;
  Pickle pickle_;
  std::size_t visits_ = 0;
  std::map<std::string, TensorView> tensors_;
};

}  // namespace

std::map<std::string, TensorView> parse_torch_file(Bytes file, const std::string& where) {
  constexpr std::string_view kZip = "PK";
  const std::string_view begin(reinterpret_cast<const char*>(file.data()),
                               std::min(file.size(), kZip.size()));
  if (begin != kZip) {
    fail(ErrorKind::kUnsupported, where,
         ": not the zip that torch.save writes since torch 1.6 (older files are a tar or a bare "
         "pickle); load it with torch and save it again");
  }
  return TorchReader(file, where).read();
}

}  // namespace pantograph
