#include "checkpoint/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
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

  map(file.number, static_cast<std::size_t>(status.st_size));
}

std::shared_ptr<const MappedFile> MappedFile::from_stream(int descriptor, const char* name) {
  const Descriptor memory(::memfd_create("pantograph", MFD_CLOEXEC));
  std::array<std::byte, 1 << 16> piece;
  std::size_t size = 0;
  for (;;) {
    const ::ssize_t count = ::read(descriptor, piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail(ErrorKind::kIo, name, ": cannot be read: ", std::strerror(errno));
    if (count == 0) break;
    if (::write(memory.number, piece.data(), static_cast<std::size_t>(count)) != count) {
      fail(ErrorKind::kOutOfMemory, name, ": no memory to hold more than ", size, " bytes of it");
    }
    size += static_cast<std::size_t>(count);
  }
  if (size == 0) fail(ErrorKind::kFormat, name, ": nothing came");
  std::shared_ptr<MappedFile> file(new MappedFile);
  file->path_ = name;
  file->map(memory.number, size);
  return file;
}

void MappedFile::map(int descriptor, std::size_t size) {
  void* const mapped = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  if (mapped == MAP_FAILED) {
    fail(ErrorKind::kIo, path_.string(), ": cannot be mapped: ", std::strerror(errno));
  }
  data_ = static_cast<std::byte*>(mapped);
  size_ = size;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(data_, size_);
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
