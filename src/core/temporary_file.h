// Output that appears under its name only when it is complete.
#pragma once

#include <filesystem>

namespace pantograph {

// Reserves a name beside `target` (".NAME.partial-PID-N") and, unless commit() was called, removes
// what lies under it on destruction: a file or a folder.
class TemporaryOutput {
 public:
  // Creates nothing yet, but finds here what would make commit() fail hours later. Throws Error:
  // kNotFound (the target's folder), kIo (it cannot be written to), kInvalidArgument (no name; a
  // target that is neither a file nor a folder).
  explicit TemporaryOutput(std::filesystem::path target);
  ~TemporaryOutput();
  TemporaryOutput(const TemporaryOutput&) = delete;
  TemporaryOutput& operator=(const TemporaryOutput&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return temporary_; }
  [[nodiscard]] const std::filesystem::path& target() const { return target_; }
  // Renames onto the target. A file replaces a file; a folder's entries move into a folder that is
  // there already, replacing files of the same names. Throws Error(kIo).
  void commit();

 private:
  std::filesystem::path target_;     // as the user named it
  std::filesystem::path resolved_;   // the same place, through symbolic links
  std::filesystem::path temporary_;  // beside resolved_
};

}  // namespace pantograph
