#include "core/memory.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "support/expect_error.h"

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
