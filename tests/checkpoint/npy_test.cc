#include "checkpoint/npy.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "checkpoint/safetensors.h"
#include "checkpoint/tensor_file.h"
#include "support/expect_error.h"
#include "support/fixture.h"

namespace pantograph {
namespace {

using test::as_bytes;
using test::elements_of;
using test::expect_error;
using test::fixture;

// The latents that the generator stored in every form.
std::vector<float> original() {
  const SafetensorsFile file = SafetensorsFile::open(std::filesystem::path(PANTOGRAPH_GOLDEN_DIR) /
                                                     "odd/clips/t2_1x1.safetensors");
  return elements_of<float>(file.view("latents"));
}

std::string npy(const std::string& header, const std::string& data = "") {
  return std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(header.size()) + '\0' + header +
         data;
}
void refused(ErrorKind kind, const std::string& file, std::string_view says) {
  expect_error(kind, {"x.npy: ", says}, [&] { parse_npy(as_bytes(file), "x.npy"); });
}

TEST(Npy, WhatNumpyWrites) {
  for (const char* name : {"clip.npy", "clip_v2.npy", "clip_v3.npy", "clip_fortran.npy"}) {
    const TensorFile file = open_tensor_file(fixture(std::string("latents/") + name));
    EXPECT_STREQ(file.form, "npy");
    const TensorView& array = file.tensors.at("array");
    EXPECT_EQ(array.dtype, DType::kF32);
    EXPECT_EQ(array.rank, 4);
    EXPECT_EQ(array.shape[0], 48);
    EXPECT_EQ(elements_of<float>(array), original()) << name;
  }
  EXPECT_EQ(open_tensor_file(fixture("latents/clip_f16.npy")).tensors.at("array").dtype,
            DType::kF16);
  EXPECT_EQ(open_tensor_file(fixture("latents/clip_f64.npy")).tensors.at("array").dtype,
            DType::kF64);
}

TEST(Npy, OtherTypesAreNamed) {
  expect_error(ErrorKind::kUnsupported, {"clip_big_endian.npy", "\">f4\"", "little-endian"},
               [] { open_tensor_file(fixture("latents/clip_big_endian.npy")); });
  refused(ErrorKind::kUnsupported, npy("{'descr': '|O', 'fortran_order': False, 'shape': ()}"),
          "type \"|O\"");
  refused(ErrorKind::kUnsupported, npy("{'descr': [('a', '<f4')], }"), "a structured array");
}

TEST(Npy, BrokenHeaders) {
  const auto broken = [](const std::string& header, std::string_view says) {
    refused(ErrorKind::kFormat, npy(header), says);
  };
  broken("", "no '{'");
  broken("{}", "not all there");
  broken("{'descr': '<f4', 'shape': (1,)}", "not all there");
  broken("{'x': 1}", "unknown key \"x\"");
  broken("{'descr': '<f4' 'shape': (1,)}", "no comma between");
  broken("{'descr': '<f4", "a string without end");
  broken("{'fortran_order': 1}", "neither True nor False");
  broken("{'shape': (-1,)}", "not of whole numbers");
  broken("{'shape': (99999999999999999999,)}", "not of whole numbers");
  broken("{'shape': (1 2)}", "no comma in the shape");
  broken("{'shape': (1", "no comma in the shape");
  const std::string rest = "'descr': '<f4', 'fortran_order': False, ";
  broken("{" + rest + "'shape': (4611686018427387904, 4)}", "an impossible shape");
  broken("{" + rest + "'shape': (1,1,1,1,1,1,1,1,1)}", "an impossible shape");
  broken("{" + rest + "'shape': (2,)}", "0 bytes of data, but its shape and type make 8");
}

TEST(Npy, BrokenFiles) {
  refused(ErrorKind::kFormat, "x", "truncated or damaged");
  refused(ErrorKind::kFormat, "\x93NUMPZ", "not a .npy file");
  refused(ErrorKind::kUnsupported, std::string("\x93NUMPY\x04\x00\x00\x00", 10), "version 4");
  refused(ErrorKind::kFormat, std::string("\x93NUMPY\x01\x00\xff\xff", 10), "truncated or damaged");
  const std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }";
  refused(ErrorKind::kFormat, npy(header, "1234567"), "7 bytes of data");
  refused(ErrorKind::kFormat, npy(header, "123456789"), "9 bytes of data");
  EXPECT_EQ(parse_npy(as_bytes(npy(header, "12345678")), "x").elements(), 2);
}

}  // namespace
}  // namespace pantograph
