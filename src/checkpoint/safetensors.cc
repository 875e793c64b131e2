#include "checkpoint/safetensors.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "checkpoint/json.h"
#include "core/check.h"
#include "core/temporary_file.h"

static_assert(std::endian::native == std::endian::little, "safetensors data is little-endian");

namespace pantograph {
namespace {

constexpr std::int64_t kLengthBytes = 8;
constexpr std::int64_t kMaxHeaderBytes = 100'000'000;  // the reference library's limit
constexpr std::string_view kMetadataKey = "__metadata__";

constexpr std::array<std::pair<std::string_view, DType>, 10> kDTypes{{
    {"F32", DType::kF32},
    {"BF16", DType::kBF16},
    {"F16", DType::kF16},
    {"F64", DType::kF64},
    {"I64", DType::kI64},
    {"I32", DType::kI32},
    {"I16", DType::kI16},
    {"I8", DType::kI8},
    {"U8", DType::kU8},
    {"BOOL", DType::kBool},
}};

std::string_view name_of(DType dtype) {
  return std::find_if(kDTypes.begin(), kDTypes.end(),
                      [dtype](const auto& known) { return known.second == dtype; })
      ->first;
}

// A name out of a file, fit for one line of a message.
std::string quoted(const std::string& name) {
  return Json(name).dump();
}

// Reads one tensor's entry of the header; `where` names the file.
class EntryReader {
 public:
  EntryReader(const std::string& where, const std::string& name, const Json& json)
      : where_(where), name_(name), json_(json) {}

  TensorEntry read(std::int64_t data_bytes) const {
    if (json_.object() == nullptr) refuse(ErrorKind::kFormat, "is not described by an object");
    TensorEntry entry{.dtype = dtype(), .shape = sizes("shape")};
    const std::vector<std::int64_t> offsets = sizes("data_offsets");
    if (offsets.size() != 2) {
      refuse(ErrorKind::kFormat, "has ", offsets.size(), " data_offsets; expected begin and end");
    }
    entry.begin = offsets[0];
    entry.end = offsets[1];
    if (entry.end < entry.begin) {
      refuse(ErrorKind::kFormat, "ends at byte ", entry.end, ", before its begin at byte ",
             entry.begin);
    }
    if (entry.end > data_bytes) {
      refuse(ErrorKind::kFormat, "ends at byte ", entry.end, " of the data, but the file holds ",
             data_bytes, "; the file is truncated, fetch it again");
    }
    if (entry.shape.size() > TensorView::kMaxRank) {
      refuse(ErrorKind::kUnsupported, "has ", entry.shape.size(), " dimensions; at most ",
             TensorView::kMaxRank, " are supported");
    }
    const std::int64_t bytes = bytes_of(entry);
    if (entry.end - entry.begin != bytes) {
      refuse(ErrorKind::kFormat, "spans ", entry.end - entry.begin,
             " bytes, but its shape and dtype make ", bytes);
    }
    return entry;
  }

 private:
  template <typename... Parts>
  [[noreturn]] void refuse(ErrorKind kind, Parts&&... parts) const {
    fail(kind, where_, ": the tensor ", quoted(name_), ' ', std::forward<Parts>(parts)...);
  }

  const Json& member(const char* key) const {
    const Json* const found = json_.find(key);
    if (found == nullptr) refuse(ErrorKind::kFormat, "has no ", key);
    return *found;
  }

  DType dtype() const {
    const std::string* const name = member("dtype").string();
    if (name == nullptr) refuse(ErrorKind::kFormat, "has a dtype that is not a string");
    for (const auto& [known, dtype] : kDTypes) {
      if (known == *name) return dtype;
    }
    refuse(ErrorKind::kUnsupported, "has the unsupported dtype ", quoted(*name),
           "; expected F32, BF16, F16, F64, I64, I32, I16, I8, U8 or BOOL");
  }

  std::vector<std::int64_t> sizes(const char* key) const {
    const Json::Array* const items = member(key).array();
    if (items == nullptr) refuse(ErrorKind::kFormat, "has ", key, " that is not an array");
    std::vector<std::int64_t> result;
    for (const Json& item : *items) {
      const std::int64_t* const size = item.integer();
      if (size == nullptr || *size < 0) {
        refuse(ErrorKind::kFormat, "has ", item.dump(), " in its ", key,
               "; expected whole numbers from 0 on");
      }
      result.push_back(*size);
    }
    return result;
  }

  std::int64_t bytes_of(const TensorEntry& entry) const {
    try {
      return static_cast<std::int64_t>(
          TensorView::dense(nullptr, entry.dtype, entry.shape).bytes());
    } catch (const Error& error) {
      refuse(ErrorKind::kFormat, "has an impossible shape: ", error.what());
    }
  }

  const std::string& where_;
  const std::string& name_;
  const Json& json_;
};

std::map<std::string, std::string> read_metadata(const Json& json, const std::string& where) {
  std::map<std::string, std::string> metadata;
  const auto refuse = [&where] {
    fail(ErrorKind::kFormat, where, ": ", kMetadataKey, " is not an object of strings");
  };
  if (json.object() == nullptr) refuse();
  for (const auto& [key, value] : *json.object()) {
    if (value.string() == nullptr) refuse();
    metadata.emplace(key, *value.string());
  }
  return metadata;
}

// Every byte of the data belongs to exactly one tensor.
void check_coverage(const std::map<std::string, TensorEntry>& tensors, std::int64_t data_bytes,
                    const std::string& where) {
  using Item = std::pair<const std::string, TensorEntry>;
  std::vector<const Item*> items;
  for (const Item& item : tensors) items.push_back(&item);
  std::sort(items.begin(), items.end(), [](const Item* a, const Item* b) {
    return std::pair(a->second.begin, a->second.end) < std::pair(b->second.begin, b->second.end);
  });
  const Item* previous = nullptr;
  std::int64_t covered = 0;
  for (const Item* const item : items) {
    const auto& [name, entry] = *item;
    if (entry.begin < covered) {
      fail(ErrorKind::kFormat, where, ": the tensors ", quoted(previous->first), " and ",
           quoted(name), " overlap at byte ", entry.begin, " of the data");
    }
    if (entry.begin > covered) {
      fail(ErrorKind::kFormat, where, ": ", entry.begin - covered, " bytes before the tensor ",
           quoted(name), " belong to no tensor");
    }
    covered = entry.end;
    previous = item;
  }
  if (covered < data_bytes) {
    fail(ErrorKind::kFormat, where, ": ", data_bytes - covered,
         " bytes after the last tensor belong to no tensor");
  }
}

}  // namespace

SafetensorsHeader parse_safetensors_header(std::span<const std::byte> bytes, std::int64_t file_size,
                                           const std::string& where) {
  if (file_size < kLengthBytes) {
    fail(ErrorKind::kFormat, where, ": ", file_size,
         " bytes are too few for a safetensors file, which begins with an 8-byte header length");
  }
  std::uint64_t length = 0;
  require(bytes.size() >= sizeof(length), where, ": the header length was not read");
  std::memcpy(&length, bytes.data(), sizeof(length));
  if (length > kMaxHeaderBytes) {
    fail(ErrorKind::kFormat, where, ": a header of ", length, " bytes, more than the format's ",
         kMaxHeaderBytes, "; this is no safetensors file");
  }
  const auto header_bytes = static_cast<std::int64_t>(length);
  if (header_bytes > file_size - kLengthBytes) {
    fail(ErrorKind::kFormat, where, ": a header of ", header_bytes, " bytes in a file of ",
         file_size, "; the file is truncated, or no safetensors file");
  }
  require(bytes.size() - sizeof(length) >= length, where, ": the header was not read whole");

  SafetensorsHeader header;
  header.data_begin = kLengthBytes + header_bytes;
  const std::int64_t data_bytes = file_size - header.data_begin;
  const auto* const text = reinterpret_cast<const char*>(bytes.data()) + kLengthBytes;
  const Json json = parse_json({text, static_cast<std::size_t>(length)}, where + ": header");
  if (json.object() == nullptr) {
    fail(ErrorKind::kFormat, where, ": the header is not a JSON object");
  }
  for (const auto& [name, value] : *json.object()) {
    if (name == kMetadataKey) {
      header.metadata = read_metadata(value, where);
    } else {
      header.tensors.emplace(name, EntryReader(where, name, value).read(data_bytes));
    }
  }
  check_coverage(header.tensors, data_bytes, where);
  return header;
}

SafetensorsFile SafetensorsFile::open(const std::filesystem::path& path) {
  SafetensorsFile result;
  result.file_ = std::make_shared<MappedFile>(path);
  const std::span<const std::byte> bytes = result.file_->bytes();
  result.header_ =
      parse_safetensors_header(bytes, static_cast<std::int64_t>(bytes.size()), path.string());
  return result;
}

TensorView SafetensorsFile::view(const std::string& name) const {
  const auto found = header_.tensors.find(name);
  if (found == header_.tensors.end()) {
    fail(ErrorKind::kNotFound, path().string(), ": no tensor ", quoted(name));
  }
  const TensorEntry& entry = found->second;
  const std::byte* const data = file_->bytes().data() + header_.data_begin + entry.begin;
  return TensorView::dense(const_cast<std::byte*>(data), entry.dtype, entry.shape);
}

struct SafetensorsWriter::Impl {
  explicit Impl(const std::filesystem::path& path) : output(path) {}

  [[noreturn]] void fail_to_write() const {
    const int error = errno;
    fail(ErrorKind::kIo, output.target().string(), ": cannot be written: ", std::strerror(error));
  }

  void write(const void* bytes, std::size_t count) {
    if (std::fwrite(bytes, 1, count, file.get()) != count) fail_to_write();
  }

  struct Close {
    void operator()(std::FILE* opened) const { std::fclose(opened); }
  };
  TemporaryOutput output;
  std::unique_ptr<std::FILE, Close> file;
  std::uint64_t missing = 0;  // bytes of tensors still to come
};

SafetensorsWriter::SafetensorsWriter(const std::filesystem::path& path,
                                     const std::vector<NamedTensor>& tensors,
                                     const std::map<std::string, std::string>& metadata) {
  std::error_code ignored;  // TemporaryOutput finds what else is wrong with the path
  if (std::filesystem::is_directory(path, ignored)) {
    fail(ErrorKind::kIo, path.string(), ": is a folder; expected the name of a file to write");
  }
  impl_ = std::make_unique<Impl>(path);

  Json::Object header;
  if (!metadata.empty()) {
    Json::Object members;
    for (const auto& [key, value] : metadata) members.emplace_back(key, Json(value));
    header.emplace_back(kMetadataKey, Json(std::move(members)));
  }
  std::set<std::string_view> names{kMetadataKey};
  std::int64_t end = 0;
  for (const NamedTensor& tensor : tensors) {
    if (!names.insert(tensor.name).second) {
      fail(ErrorKind::kInvalidArgument, path.string(), ": the name ", quoted(tensor.name),
           " cannot be given to a tensor twice, nor ", kMetadataKey, " to any");
    }
    const std::int64_t begin = end;
    const auto bytes =
        static_cast<std::int64_t>(TensorView::dense(nullptr, tensor.dtype, tensor.shape).bytes());
    if (!checked_add(begin, bytes, end)) {
      fail(ErrorKind::kInvalidArgument, path.string(), ": tensors of more than 2^63 bytes");
    }
    Json::Array shape;
    for (const std::int64_t size : tensor.shape) shape.emplace_back(size);
    Json::Array offsets;
    for (const std::int64_t offset : {begin, end}) offsets.emplace_back(offset);
    header.emplace_back(tensor.name, Json(Json::Object{
                                         {"dtype", Json(std::string(name_of(tensor.dtype)))},
                                         {"shape", Json(std::move(shape))},
                                         {"data_offsets", Json(std::move(offsets))},
                                     }));
  }
  impl_->missing = static_cast<std::uint64_t>(end);
  std::string text = Json(std::move(header)).dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');  // the data begins aligned to 8 bytes

  impl_->file.reset(std::fopen(impl_->output.path().c_str(), "wbxe"));
  if (!impl_->file) impl_->fail_to_write();
  const std::uint64_t length = text.size();
  impl_->write(&length, sizeof(length));
  impl_->write(text.data(), text.size());
}

SafetensorsWriter::~SafetensorsWriter() = default;
SafetensorsWriter::SafetensorsWriter(SafetensorsWriter&&) noexcept = default;
SafetensorsWriter& SafetensorsWriter::operator=(SafetensorsWriter&&) noexcept = default;

void SafetensorsWriter::append(const void* bytes, std::size_t count) {
  require(count <= impl_->missing, impl_->output.target().string(), ": ", count,
          " bytes given where ", impl_->missing, " are missing");
  impl_->write(bytes, count);
  impl_->missing -= count;
}

void SafetensorsWriter::finish() {
  require(impl_->missing == 0, impl_->output.target().string(), ": ", impl_->missing,
          " bytes are missing");
  if (std::fclose(impl_->file.release()) != 0) impl_->fail_to_write();
  impl_->output.commit();
}

}  // namespace pantograph
