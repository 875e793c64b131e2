#include "checkpoint/tensor_file.h"

#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "checkpoint/json.h"
#include "checkpoint/npy.h"
#include "checkpoint/safetensors.h"
#include "checkpoint/torch_file.h"
#include "checkpoint/zip.h"
#include "core/check.h"
#include "core/parallel.h"

namespace pantograph {
namespace {

// A tar (before torch 0.4) has its magic at byte 257.
bool is_torch(std::string_view bytes) {
  return bytes.starts_with("PK\x03\x04") || bytes.starts_with("PK\x05\x06") ||
         bytes.starts_with("\x80\x02") || (bytes.size() > 262 && bytes.substr(257, 5) == "ustar");
}

// Reads the whole archive, entry by entry, so that what a disk or a download has changed is no
// weight.
void check_archive(const MappedFile& file, const std::string& where) {
  const std::map<std::string, ZipEntry> archive = parse_zip(file.bytes(), where);
  const std::vector<std::pair<std::string, ZipEntry>> entries(archive.begin(), archive.end());
  parallel_for(std::ssize(entries), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const auto& [name, entry] = entries[static_cast<std::size_t>(i)];
      const bool intact = entry.intact();
      file.release_pages(entry.bytes);
      if (!intact) {
        fail(ErrorKind::kFormat, where, ": the entry ", Json(name).dump(),
             " does not have its checksum; the file is damaged, fetch it again");
      }
    }
  });
}

}  // namespace

TensorFile read_tensor_file(std::shared_ptr<const MappedFile> file) {
  const std::string where = file->path().string();
  const std::span<const std::byte> bytes = file->bytes();
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  TensorFile result;
  result.file = std::move(file);
  if (text.starts_with("\x93NUMPY")) {
    result.form = "npy";
    result.tensors.emplace("array", parse_npy(bytes, where));
  } else if (is_torch(text)) {
    result.form = "torch";
    result.tensors = parse_torch_file(bytes, where);
    check_archive(*result.file, where);
  } else {
    result.form = "safetensors";
    SafetensorsHeader header =
        parse_safetensors_header(bytes, static_cast<std::int64_t>(bytes.size()), where);
    for (const auto& [name, entry] : header.tensors) {
      const std::byte* const data = bytes.data() + header.data_begin + entry.begin;
      result.tensors.emplace(
          name, TensorView::dense(const_cast<std::byte*>(data), entry.dtype, entry.shape));
    }
    result.metadata = std::move(header.metadata);
  }
  return result;
}

TensorFile open_tensor_file(const std::filesystem::path& path) {
  return read_tensor_file(std::make_shared<MappedFile>(path));
}

}  // namespace pantograph
