#include "checkpoint/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "core/check.h"

namespace pantograph {
namespace {

struct Descriptor {
  int number;
  explicit Descriptor(int opened) : number(opened) {}
  ~Descriptor() {
    if (number >= 0) ::close(number);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
};

}  // namespace

MappedFile::MappedFile(const std::filesystem::path& path) : path_(path) {
  // O_NONBLOCK: opening a pipe returns at once and is refused below.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.number < 0) {
    const int error = errno;
    if (error == ENOENT || error == ENOTDIR) {
      fail(ErrorKind::kNotFound, path.string(), ": no such file");
    }
    fail(ErrorKind::kIo, path.string(), ": cannot be opened: ", std::strerror(error));
  }
  struct stat status{};
  if (::fstat(file.number, &status) != 0) {
    fail(ErrorKind::kIo, path.string(), ": cannot be examined: ", std::strerror(errno));
  }
  if (S_ISDIR(status.st_mode)) {
    fail(ErrorKind::kIo, path.string(), ": is a folder; expected a file");
  }
  if (!S_ISREG(status.st_mode)) {
    fail(ErrorKind::kIo, path.string(), ": is a device or a pipe; expected a file");
  }
  if (status.st_size == 0) fail(ErrorKind::kFormat, path.string(), ": the file is empty");

  size_ = static_cast<std::size_t>(status.st_size);
  void* const mapped = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.number, 0);
  if (mapped == MAP_FAILED) {
    fail(ErrorKind::kIo, path.string(), ": cannot be mapped: ", std::strerror(errno));
  }
  data_ = static_cast<std::byte*>(mapped);
}

MappedFile::~MappedFile() {
  ::munmap(data_, size_);
}

void MappedFile::release_pages(std::span<const std::byte> part) const {
  if (part.empty()) return;
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const auto offset = static_cast<std::size_t>(part.data() - data_);
  require(offset <= size_ && part.size() <= size_ - offset, path_.string(),
          ": pages to release lie outside the file");
  // Whole pages only: the neighbours' bytes on shared pages may still be needed.
  const std::size_t begin = (offset + page - 1) / page * page;
  const std::size_t end = (offset + part.size()) / page * page;
  // Advice only: where the system does not take it, the bytes stay valid all the same.
  if (begin < end) ::madvise(data_ + begin, end - begin, MADV_DONTNEED);
}

}  // namespace pantograph
