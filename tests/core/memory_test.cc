#include "core/memory.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <limits>
#include <string>

#include "support/expect_error.h"
#include "support/temp_dir.h"

namespace pantograph {
namespace {

using test::expect_error;

TEST(Memory, FormatsBytesForPeople) {
  EXPECT_EQ(format_bytes(0), "0.0 MiB");
  EXPECT_EQ(format_bytes(1536 * 1024), "1.5 MiB");
  EXPECT_EQ(format_bytes(std::size_t{300} << 20), "300 MiB");
  EXPECT_EQ(format_bytes(std::size_t{3} << 29), "1.5 GiB");
}

TEST(Memory, PeakResidentCountsWhatWasTouched) {
  constexpr std::size_t kBytes = std::size_t{64} << 20;
  const Buffer buffer(kBytes);
  std::memset(buffer.data(), 1, kBytes);
  EXPECT_GE(peak_resident_memory(), kBytes);
  EXPECT_GT(available_memory(), 0U);
}

// What the system says of memory, as files below a folder.
class SystemMemory : public testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) const {
    const auto path = system_.path() / name;
    std::filesystem::create_directories(path.parent_path());
    test::write_file(path, text);
  }
  [[nodiscard]] std::size_t available() const { return available_memory(system_.path()); }

 private:
  test::TempDir system_;
};

TEST_F(SystemMemory, IsWhatTheMachineHasWhereNothingLimitsIt) {
  write("proc/meminfo", "MemTotal:       8000 kB\nMemFree: 1000 kB\nMemAvailable:   5000 kB\n");
  EXPECT_EQ(available(), 5000U * 1024);
  write("proc/self/cgroup", "0::/\n");
  write("sys/fs/cgroup/memory.stat", "inactive_file 7\n");
  EXPECT_EQ(available(), 5000U * 1024);
}

TEST_F(SystemMemory, EndsAtTheNearestLimitOfTheGroupsAround) {
  write("proc/meminfo", "MemAvailable: 5000 kB\n");
  write("proc/self/cgroup", "0::/jobs/ours\n");
  write("sys/fs/cgroup/jobs/ours/memory.max", "max\n");
  write("sys/fs/cgroup/jobs/ours/memory.current", "100\n");
  EXPECT_EQ(available(), 5000U * 1024);
  write("sys/fs/cgroup/jobs/memory.max", "1000\n");
  write("sys/fs/cgroup/jobs/memory.current", "700\n");
  EXPECT_EQ(available(), 300U);
}

// A container's mount shows its own group only, whose name is the machine's.
TEST_F(SystemMemory, TakesCopiesOfFilesForFree) {
  write("proc/meminfo", "MemAvailable: 5000 kB\n");
  write("proc/self/cgroup", "0::/docker/0123\n");
  write("sys/fs/cgroup/memory.max", "1000\n");
  write("sys/fs/cgroup/memory.current", "900\n");
  write("sys/fs/cgroup/memory.stat", "anon 300\nfile 600\nactive_file 100\ninactive_file 500\n");
  EXPECT_EQ(available(), 600U);
  write("sys/fs/cgroup/memory.max", "350\n");  // was lowered below what is held
  EXPECT_EQ(available(), 0U);
}

TEST_F(SystemMemory, KnowsVersion1OfControlGroups) {
  write("proc/meminfo", "MemAvailable: 5000 kB\n");
  write("proc/self/cgroup", "7:pids:/\n4:cpu,memory:/job\n0::/\n");
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  write("sys/fs/cgroup/memory/memory.usage_in_bytes", "400000\n");
  write("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "4000\n");
  write("sys/fs/cgroup/memory/job/memory.usage_in_bytes", "3000\n");
  write("sys/fs/cgroup/memory/job/memory.stat", "inactive_file 1\ntotal_inactive_file 1500\n");
  EXPECT_EQ(available(), 2500U);
}

TEST(Buffer, IsZeroedAndAligned) {
  const Buffer buffer(1000);
  EXPECT_EQ(buffer.bytes(), 1000U);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % 256, 0U);
  for (std::size_t i = 0; i < 1000; ++i) ASSERT_EQ(buffer.data()[i], std::byte{0});
}

TEST(Buffer, TakesAndReturnsThroughTheCallersCallbacks) {
  std::size_t taken = 0, returned = 0;
  const Allocator allocator{.allocate =
                                [&](std::size_t bytes) {
                                  taken += bytes;
                                  void* memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
                                  std::memset(memory, 0xff, bytes);
                                  return memory;
                                },
                            .deallocate =
                                [&](void* pointer, std::size_t bytes) {
                                  returned += bytes;
                                  std::free(pointer);
                                }};
  {
    Buffer first(300, allocator);
    for (std::size_t i = 0; i < 300; ++i) ASSERT_EQ(first.data()[i], std::byte{0});
    Buffer second = std::move(first);
    EXPECT_EQ(first.data(), nullptr);
    second = Buffer(500, allocator);
    EXPECT_EQ(taken, 800U);
    EXPECT_EQ(returned, 300U);
  }
  EXPECT_EQ(returned, 800U);
}

TEST(Buffer, NothingIsNotAskedFor) {
  const Allocator allocator{.allocate = [](std::size_t) -> void* { std::abort(); },
                            .deallocate = [](void*, std::size_t) { std::abort(); }};
  EXPECT_EQ(Buffer(0, allocator).data(), nullptr);
}

TEST(Buffer, SaysHowMuchWasRefused) {
  const Allocator nothing{.allocate = [](std::size_t) -> void* { return nullptr; },
                          .deallocate = [](void*, std::size_t) { std::abort(); }};
  expect_error(ErrorKind::kOutOfMemory, {"300 MiB"},
               [&] { return Buffer(std::size_t{300} << 20, nothing); });
  expect_error(ErrorKind::kOutOfMemory, {"a buffer of"},
               [] { return Buffer(std::numeric_limits<std::size_t>::max()); });
}

}  // namespace
}  // namespace pantograph
