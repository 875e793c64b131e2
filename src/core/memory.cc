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

namespace pantograph {
namespace {

constexpr std::size_t kUnlimited = std::numeric_limits<std::size_t>::max();

// One number from a file of the system; kUnlimited where it says "max" or is absent.
std::size_t read_number(const char* path) {
  std::ifstream file(path);
  std::size_t value = 0;
  return file >> value ? value : kUnlimited;
}

std::size_t meminfo_available() {
  std::ifstream file("/proc/meminfo");
  std::string key;
  std::size_t kib = 0;
  std::string unit;
  while (file >> key >> kib && std::getline(file, unit)) {
    if (key == "MemAvailable:") return kib * 1024;
  }
  return kUnlimited;
}

// What this control group may still take (v2; the root group has no limit).
std::size_t control_group_available() {
  const std::size_t limit = read_number("/sys/fs/cgroup/memory.max");
  const std::size_t used = read_number("/sys/fs/cgroup/memory.current");
  if (limit == kUnlimited || used == kUnlimited) return kUnlimited;
  return limit > used ? limit - used : 0;
}

std::size_t rounded(std::size_t bytes) {
  constexpr std::size_t kPage = 4096;
  return (bytes + kPage - 1) / kPage * kPage;
}

}  // namespace

std::size_t available_memory() {
  return std::min(meminfo_available(), control_group_available());
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
