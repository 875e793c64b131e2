#include "core/temporary_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "core/check.h"

namespace pantograph {
namespace {

namespace fs = std::filesystem;

// Of `path`, which is `target` or its folder. Throws where it cannot be reached.
fs::file_status status_of(const fs::path& path, const fs::path& target) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (error && status.type() != fs::file_type::not_found) {
    fail(ErrorKind::kIo, "the output ", target.string(), " cannot be reached: ", error.message());
  }
  return status;
}

// Where output to `target` really goes; throws where it cannot go there.
fs::path resolve(const fs::path& target) {
  const fs::file_status status = status_of(target, target);
  if (fs::exists(status)) {
    if (!fs::is_regular_file(status) && !fs::is_directory(status)) {
      fail(ErrorKind::kInvalidArgument, "the output ", target.string(),
           " is a device or a pipe; expected a file or a folder");
    }
    std::error_code error;
    fs::path resolved = fs::canonical(target, error);
    if (error) {
      fail(ErrorKind::kIo, "the output ", target.string(), " cannot be reached: ", error.message());
    }
    return resolved;
  }
  return target.has_filename() ? target : target.parent_path();  // "frames/" is "frames"
}

fs::path parent_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

void require_writable(const fs::path& folder, const fs::path& target) {
  if (::faccessat(AT_FDCWD, folder.c_str(), W_OK | X_OK, AT_EACCESS) != 0) {
    fail(ErrorKind::kIo, "the output ", target.string(), " cannot be written to the folder ",
         folder.string(), ": ", std::strerror(errno));
  }
}

void put_in_place(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::rename(from, to, error);
  if (error) {
    fail(ErrorKind::kIo, "the finished output cannot be put at ", to.string(), ": ",
         error.message());
  }
}

}  // namespace

TemporaryOutput::TemporaryOutput(fs::path target) : target_(std::move(target)) {
  resolved_ = resolve(target_);
  const std::string name = resolved_.filename().string();
  if (name.empty() || name == "." || name == "..") {
    fail(ErrorKind::kInvalidArgument, "the output \"", target_.string(),
         "\" has no file name; expected one");
  }
  const fs::path parent = parent_of(resolved_);
  const fs::file_status status = status_of(parent, target_);
  if (!fs::exists(status)) {
    fail(ErrorKind::kNotFound, "the folder ", parent.string(), " of the output ", target_.string(),
         " does not exist; create it first");
  }
  if (!fs::is_directory(status)) {
    fail(ErrorKind::kIo, "the output ", target_.string(), " cannot be written: ", parent.string(),
         " is not a folder");
  }
  require_writable(parent, target_);
  std::error_code error;
  if (fs::is_directory(resolved_, error)) require_writable(resolved_, target_);

  static std::atomic<unsigned> counter{0};
  do {  // a process of the same id may have died and left its own behind
    // File systems allow 255 bytes a name: a long one is cut to leave room for the suffix.
    temporary_ = parent / join('.', name.substr(0, 200), ".partial-", ::getpid(), '-', counter++);
  } while (fs::exists(fs::symlink_status(temporary_, error)));
}

TemporaryOutput::~TemporaryOutput() {
  std::error_code ignored;
  fs::remove_all(temporary_, ignored);
}

void TemporaryOutput::commit() {
  std::error_code error;
  if (!fs::is_directory(resolved_, error) || !fs::is_directory(temporary_, error)) {
    return put_in_place(temporary_, resolved_);
  }
  std::vector<fs::path> names;
  for (fs::directory_iterator entry(temporary_, error), end; !error && entry != end;
       entry.increment(error)) {
    names.push_back(entry->path().filename());
  }
  if (error) {
    fail(ErrorKind::kIo, "the finished output ", temporary_.string(),
         " cannot be listed: ", error.message());
  }
  for (const fs::path& name : names) put_in_place(temporary_ / name, resolved_ / name);
  fs::remove(temporary_, error);
}

}  // namespace pantograph
