// Compiled engines, kept on disk: compiling one takes half a second.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace pantograph::ops::cudnn {

// A folder with one file for each engine. A key is a line that says all that an engine depends on.
// What is no whole file of that key's counts as absent, and what cannot be written is not kept:
// both are said at level debug. The checksum is against accidents: who can write to the folder is
// trusted not to forge. For several threads and processes at a time.
class EngineStore {
 public:
  // Hundreds of engines of 2 to 200 kB; beyond it those that were used longest ago go.
  static constexpr std::uintmax_t kMostBytes = std::uintmax_t{64} << 20;

  // Keeps nothing where `folder` is empty.
  explicit EngineStore(std::filesystem::path folder, std::uintmax_t most_bytes = kMostBytes);
  [[nodiscard]] std::optional<std::string> load(const std::string& key) const;
  void save(const std::string& key, const std::string& engine) const;

 private:
  [[nodiscard]] std::filesystem::path file(const std::string& key) const;
  void drop_oldest() const;
  std::filesystem::path folder_;
  std::uintmax_t most_bytes_;
};

}  // namespace pantograph::ops::cudnn
