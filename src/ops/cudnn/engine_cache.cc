#include "ops/cudnn/engine_cache.h"

#include <cstdlib>
#include <fstream>
#include <system_error>

#include "core/log.h"
#include "core/temporary_file.h"

namespace pantograph::ops::cudnn {
namespace {

// First line of the file. Another one: another version's, or not a cache.
constexpr std::string_view kHeader = "pantograph conv3d engines 1";

}  // namespace

EngineCache::EngineCache(std::filesystem::path file) : file_(std::move(file)) {
  read();
}

std::optional<std::string> EngineCache::find(const std::string& problem) const {
  const std::lock_guard lock(mutex_);
  const auto entry = engines_.find(problem);
  if (entry == engines_.end()) return std::nullopt;
  return entry->second;
}

void EngineCache::store(const std::string& problem, const std::string& engine) {
  const std::lock_guard lock(mutex_);
  const auto known = engines_.find(problem);
  if (known != engines_.end() && known->second == engine) return;
  read();  // what other processes have found meanwhile
  engines_[problem] = engine;
  write();
}

void EngineCache::read() {
  std::ifstream file(file_);
  std::string line;
  if (!file || !std::getline(file, line)) return;
  if (line != kHeader) {
    log(LogLevel::kDebug, file_.string(), " is no list of engines of this version: ignored");
    return;
  }
  while (std::getline(file, line)) {
    const std::size_t tab = line.find('\t');
    if (tab == std::string::npos || tab == 0 || tab + 1 == line.size()) {
      log(LogLevel::kDebug, file_.string(), ": a broken line is ignored");
      continue;
    }
    engines_.emplace(line.substr(0, tab), line.substr(tab + 1));
  }
}

void EngineCache::write() const {
  if (file_.empty()) return;
  try {
    std::filesystem::create_directories(file_.parent_path());
    TemporaryOutput output(file_);
    std::ofstream file(output.path());
    file << kHeader << '\n';
    for (const auto& [problem, engine] : engines_) file << problem << '\t' << engine << '\n';
    file.close();
    if (file) output.commit();
  } catch (const std::exception& error) {
    log(LogLevel::kDebug, "engines are not remembered: ", error.what());
  }
}

std::filesystem::path cache_folder() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && *cache != '\0') return std::filesystem::path(cache) / "pantograph";
  const char* home = std::getenv("HOME");
  if (home != nullptr && *home != '\0') return std::filesystem::path(home) / ".cache/pantograph";
  return {};
}

}  // namespace pantograph::ops::cudnn
