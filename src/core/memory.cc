#include "core/memory.h"

#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <limits>

#include "core/check.h"
#include "core/control_group.h"

namespace pantograph {
namespace {

std::size_t meminfo_available(const std::filesystem::path& root) {
  std::ifstream file(root / "proc/meminfo");
  std::string key;
  std::size_t kib = 0;
  std::string unit;
  while (file >> key >> kib && std::getline(file, unit)) {
    if (key == "MemAvailable:") return kib * 1024;
  }
  return std::numeric_limits<std::size_t>::max();
}

std::size_t rounded(std::size_t bytes) {
  constexpr std::size_t kPage = 4096;
  return (bytes + kPage - 1) / kPage * kPage;
}

}  // namespace

std::size_t available_memory(const std::filesystem::path& root) {
  return std::min(meminfo_available(root), control_group_available(root));
}

std::size_t peak_resident_memory() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::size_t>(usage.ru_maxrss) * 1024;
}

std::string format_bytes(std::size_t bytes) {
  const double mib = static_cast<double>(bytes) / (1024.0 * 1024.0);
  char text[32];
  if (mib >= 1024) {
    std::snprintf(text, sizeof(text), "%.1f GiB", mib / 1024);
  } else {
    std::snprintf(text, sizeof(text), mib >= 10 ? "%.0f MiB" : "%.1f MiB", mib);
  }
  return text;
}

Buffer::Buffer(std::size_t bytes, const Allocator& allocator) : bytes_(bytes) {
  if (bytes == 0) return;
  if (allocator.allocate) {
    data_ = static_cast<std::byte*>(allocator.allocate(bytes));
    if (data_ != nullptr) std::memset(data_, 0, bytes);
    deallocate_ = allocator.deallocate;
  } else {
    // Straight from the system: zero pages cost nothing until touched, and all of it goes back.
    void* pages =
        mmap(nullptr, rounded(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    data_ = pages == MAP_FAILED ? nullptr : static_cast<std::byte*>(pages);
    deallocate_ = [](void* pointer, std::size_t size) { munmap(pointer, rounded(size)); };
  }
  if (data_ == nullptr) {
    bytes_ = 0;
    fail(ErrorKind::kOutOfMemory, "no memory for a buffer of ", format_bytes(bytes), "; ",
         format_bytes(available_memory()), " are available");
  }
}

Buffer::~Buffer() {
  if (data_ != nullptr && deallocate_) deallocate_(data_, bytes_);
}

}  // namespace pantograph
