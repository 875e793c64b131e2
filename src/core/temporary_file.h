// Output that appears under its name only when it is complete.
#pragma once

#include <filesystem>

namespace pantograph {

// Reserves a name beside `target` (".NAME.partial-PID-N") and, unless commit() was called, removes
// what lies under it on destruction: a file or a folder.
class TemporaryOutput {
 public:
  explicit TemporaryOutput(std::filesystem::path target);
  ~TemporaryOutput();
  TemporaryOutput(const TemporaryOutput&) = delete;
  TemporaryOutput& operator=(const TemporaryOutput&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return temporary_; }
  [[nodiscard]] const std::filesystem::path& target() const { return target_; }
  void commit();  // renames onto the target, replacing a file; throws Error(kIo)

 private:
  std::filesystem::path target_, temporary_;
  bool committed_ = false;
};

}  // namespace pantograph
