#include "checkpoint/torch_file.h"

#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "checkpoint/tensor_file.h"
#include "support/expect_error.h"
#include "support/fixture.h"
#include "support/temp_dir.h"

namespace pantograph {
namespace {

using test::as_bytes;
using test::elements_of;
using test::expect_error;
using test::fixture;
using test::read_file;

std::vector<std::int64_t> shape_of(const TensorView& view) {
  return {view.sizes().begin(), view.sizes().end()};
}

// What the generator calls small(): 0 to 23 as [2, 3, 4].
std::vector<float> small() {
  std::vector<float> values(24);
  std::iota(values.begin(), values.end(), 0.0F);
  return values;
}

TEST(TorchFile, OneTensor) {
  const TensorFile file = open_tensor_file(fixture("torch/tensor.pt"));
  EXPECT_STREQ(file.form, "torch");
  ASSERT_EQ(file.tensors.size(), 1U);
  const TensorView& view = file.tensors.at("tensor");
  EXPECT_EQ(view.dtype, DType::kF32);
  EXPECT_EQ(shape_of(view), (std::vector<std::int64_t>{2, 3, 4}));
  EXPECT_EQ(elements_of<float>(view), small());
}

TEST(TorchFile, AFlippedBitIsNoWeight) {
  const test::TempDir dir;
  std::string bytes = read_file(fixture("torch/tensor.pt"));
  const std::string stored("\x00\x00\x80\x3f\x00\x00\x00\x40", 8);  // 1 and 2
  ASSERT_NE(bytes.find(stored), std::string::npos);
  bytes[bytes.find(stored)] = '\x01';
  const auto path = test::write_file(dir / "t.pt", bytes);
  expect_error(ErrorKind::kFormat, {"t.pt: the entry \"tensor/data/0\" does not have its checksum"},
               [&] { open_tensor_file(path); });
}

TEST(TorchFile, EveryDType) {
  const auto check = [](const char* name, DType dtype, auto zero, auto one) {
    const TensorFile file = open_tensor_file(fixture(std::string("torch/") + name + ".pt"));
    const TensorView& view = file.tensors.at("tensor");
    EXPECT_EQ(view.dtype, dtype) << name;
    EXPECT_EQ(elements_of<decltype(one)>(view), (std::vector<decltype(one)>{zero, one, one}));
  };
  check("f64", DType::kF64, 0.0, 1.0);
  check("f16", DType::kF16, std::uint16_t{0}, std::uint16_t{0x3c00});
  check("bf16", DType::kBF16, std::uint16_t{0}, std::uint16_t{0x3f80});
  check("i64", DType::kI64, std::int64_t{0}, std::int64_t{1});
  check("i32", DType::kI32, std::int32_t{0}, std::int32_t{1});
  check("i16", DType::kI16, std::int16_t{0}, std::int16_t{1});
  check("i8", DType::kI8, std::int8_t{0}, std::int8_t{1});
  check("u8", DType::kU8, std::uint8_t{0}, std::uint8_t{1});
  check("bool", DType::kBool, std::uint8_t{0}, std::uint8_t{1});
}

TEST(TorchFile, NamesArePathsThroughContainers) {
  const TensorFile file = open_tensor_file(fixture("torch/containers.pt"));
  ASSERT_EQ(file.tensors.size(), 2U);
  const std::vector<float> values = small();
  EXPECT_EQ(elements_of<float>(file.tensors.at("0")),
            std::vector<float>(values.begin(), values.begin() + 12));
  EXPECT_EQ(elements_of<float>(file.tensors.at("1.b.0")),
            std::vector<float>(values.begin() + 12, values.end()));
}

// The values that torch's transpose(0, 2) and [1:, ::2, 1:3] have by their definition.
TEST(TorchFile, ViewsKeepTheirStrides) {
  const TensorFile file = open_tensor_file(fixture("torch/views.pt"));
  const TensorView& transposed = file.tensors.at("t");
  EXPECT_EQ(shape_of(transposed), (std::vector<std::int64_t>{4, 3, 2}));
  EXPECT_FALSE(transposed.is_dense());
  std::vector<float> expected;
  for (int k = 0; k < 4; ++k) {
    for (int j = 0; j < 3; ++j) {
      for (int i = 0; i < 2; ++i) expected.push_back(static_cast<float>(12 * i + 4 * j + k));
    }
  }
  EXPECT_EQ(elements_of<float>(transposed), expected);
  EXPECT_EQ(elements_of<float>(file.tensors.at("s")), (std::vector<float>{13, 14, 21, 22}));
}

TEST(TorchFile, LaterPickleProtocols) {
  for (const char* name : {"torch/protocol4.pt", "torch/protocol5.pt"}) {
    const TensorFile file = open_tensor_file(fixture(name));
    ASSERT_EQ(file.tensors.size(), 1U) << name;
    EXPECT_EQ(elements_of<float>(file.tensors.at("a")), small());
  }
}

TEST(TorchFile, WhatIsNoTensorIsRefusedByName) {
  const auto refused = [](const char* name, std::initializer_list<std::string_view> parts) {
    expect_error(ErrorKind::kUnsupported, parts, [name] { open_tensor_file(fixture(name)); });
  };
  refused("torch/harmful.pt", {"harmful.pt", "\"posix.system\"", "nothing of it was run"});
  EXPECT_FALSE(std::filesystem::exists("pantograph-was-here"));
  refused("torch/module.pt", {"\"torch.nn.modules.linear.Linear\""});
  refused("torch/complex.pt", {"\"torch.ComplexFloatStorage\""});
  refused("torch/u16.pt", {"\"torch.uint16\""});
  refused("torch/legacy.pt", {"not the zip that torch.save writes since torch 1.6"});
  refused("torch/bare_pickle.pt", {"not the zip that torch.save writes since torch 1.6"});
  refused("torch/big_endian.pt", {"byte order \"big\""});
  refused("torch/deflated.pt", {"is compressed; torch.save stores entries as they are"});
}

TEST(TorchFile, EveryTruncationIsAnError) {
  const std::string whole = read_file(fixture("torch/views.pt"));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_THROW(parse_torch_file(as_bytes(whole.substr(0, size)), "x"), Error) << size;
  }
}

TEST(TorchFile, EveryChangedByteIsReadOrRefused) {
  const std::string whole = read_file(fixture("torch/views.pt"));
  std::size_t refused = 0;
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const char replacement : {'\0', '\x7f', '\xff', '.'}) {
      std::string file = whole;
      file[at] = replacement;
      try {
        for (const auto& [name, view] : parse_torch_file(as_bytes(file), "x")) {
          elements_of<std::uint8_t>(view);
        }
      } catch (const Error&) {
        ++refused;
      }
    }
  }
  EXPECT_GT(refused, 1000U);
}

}  // namespace
}  // namespace pantograph
