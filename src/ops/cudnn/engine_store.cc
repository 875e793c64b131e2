#include "ops/cudnn/engine_store.h"

#include <algorithm>
#include <fstream>
#include <iomanip>
#include <span>
#include <string_view>
#include <system_error>
#include <vector>

#include "core/crc32.h"
#include "core/log.h"
#include "core/temporary_file.h"

namespace pantograph::ops::cudnn {
namespace {

namespace fs = std::filesystem;

std::string checksum(std::string_view text) {
  return join(std::hex, std::setw(8), std::setfill('0'), crc32(std::as_bytes(std::span(text))));
}

// What stands before the engine in its file; as long for every engine of that key.
std::string header(const std::string& key, std::string_view engine) {
  return join("pantograph compiled engine 1\n", key, '\n', checksum(engine), '\n');
}

}  // namespace

EngineStore::EngineStore(fs::path folder, std::uintmax_t most_bytes)
    : folder_(std::move(folder)), most_bytes_(most_bytes) {}

// Two keys with the same checksum take turns: the header tells whose the file is.
fs::path EngineStore::file(const std::string& key) const {
  return folder_ / (checksum(key) + ".engine");
}

std::optional<std::string> EngineStore::load(const std::string& key) const {
  const fs::path path = file(key);
  std::error_code error;
  if (folder_.empty() || !fs::is_regular_file(path, error)) return std::nullopt;
  const std::uintmax_t bytes = fs::file_size(path, error);
  std::string content(!error && bytes <= most_bytes_ ? bytes : 0, '\0');
  std::ifstream(path, std::ios::binary).read(content.data(), std::ssize(content));
  std::string engine = content.substr(std::min(content.size(), header(key, {}).size()));
  if (!content.starts_with(header(key, engine))) {
    log(LogLevel::kDebug, path.string(), " is damaged or another engine's: ignored");
    return std::nullopt;
  }
  fs::last_write_time(path, fs::file_time_type::clock::now(), error);  // in use: not the oldest
  return engine;
}

void EngineStore::save(const std::string& key, const std::string& engine) const {
  if (folder_.empty()) return;
  try {
    fs::create_directories(folder_);
    TemporaryOutput output(file(key));
    std::ofstream stream(output.path(), std::ios::binary);
    stream << header(key, engine) << engine;
    stream.close();
    if (!stream) fail(ErrorKind::kIo, output.target().string(), " cannot be written");
    output.commit();
    drop_oldest();
  } catch (const std::exception& error) {
    log(LogLevel::kDebug, "compiled engines: ", error.what());
  }
}

void EngineStore::drop_oldest() const {
  struct File {
    fs::file_time_type used;
    std::uintmax_t bytes;
    fs::path path;
  };
  std::vector<File> files;
  std::uintmax_t bytes = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_)) {
    if (!entry.is_regular_file()) continue;
    files.push_back({entry.last_write_time(), entry.file_size(), entry.path()});
    bytes += files.back().bytes;
  }
  std::sort(files.begin(), files.end(),
            [](const File& a, const File& b) { return a.used < b.used; });
  for (auto oldest = files.begin(); bytes > most_bytes_ && oldest != files.end(); ++oldest) {
    fs::remove(oldest->path);
    bytes -= oldest->bytes;
  }
}

}  // namespace pantograph::ops::cudnn
