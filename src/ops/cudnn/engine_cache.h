// Which engine was chosen for which problem, kept on disk: choosing takes seconds.
#pragma once

#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string>

namespace pantograph::ops::cudnn {

// A text file of lines "problem<tab>engine". What cannot be read counts as empty and what cannot be
// written is only remembered: both are said at level debug. For several threads at a time, and for
// several processes, of which the last to write wins.
class EngineCache {
 public:
  explicit EngineCache(std::filesystem::path file);
  [[nodiscard]] std::optional<std::string> find(const std::string& problem) const;
  void store(const std::string& problem, const std::string& engine);

 private:
  void read();
  void write() const;
  std::filesystem::path file_;
  mutable std::mutex mutex_;
  std::map<std::string, std::string> engines_;
};

// $XDG_CACHE_HOME/pantograph or ~/.cache/pantograph; empty where neither is known.
std::filesystem::path cache_folder();

}  // namespace pantograph::ops::cudnn
