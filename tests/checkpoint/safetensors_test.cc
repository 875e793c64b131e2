#include "checkpoint/safetensors.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "checkpoint/reference_safetensors.h"
#include "core/check.h"
#include "core/convert.h"
#include "support/expect_error.h"
#include "support/temp_dir.h"

namespace pantograph {
namespace {

using test::expect_error;
using test::kReferenceFile;
using test::safetensors_bytes;
using test::TempDir;
using test::write_file;

SafetensorsHeader parse(const std::string& file) {
  return parse_safetensors_header(std::as_bytes(std::span(file)),
                                  static_cast<std::int64_t>(file.size()), "x.safetensors");
}

void expect_refused(const std::string& file, std::initializer_list<std::string_view> parts,
                    ErrorKind kind = ErrorKind::kFormat) {
  expect_error(kind, {"x.safetensors: "}, [&] { parse(file); });
  expect_error(kind, parts, [&] { parse(file); });
}

// A file of `data_bytes` bytes of data, described by the members of the header's object.
std::string described(const std::string& members, std::size_t data_bytes) {
  return safetensors_bytes("{" + members + "}", std::string(data_bytes, 'x'));
}

// One tensor "t" with this entry.
std::string one(const std::string& entry, std::size_t data_bytes) {
  return described("\"t\":{" + entry + "}", data_bytes);
}

std::string u8(const std::string& name, std::size_t begin, std::size_t end) {
  return '"' + name + R"(":{"dtype":"U8","shape":[)" + std::to_string(end - begin) +
         R"(],"data_offsets":[)" + std::to_string(begin) + ',' + std::to_string(end) + "]}";
}

TEST(Safetensors, ReadsWhatTheReferenceLibraryWrites) {
  const SafetensorsHeader header = parse(kReferenceFile);
  EXPECT_EQ(header.metadata, (std::map<std::string, std::string>{{"format", "pt"}}));
  EXPECT_EQ(header.data_begin, 280);
  ASSERT_EQ(header.tensors.size(), 4U);
  const TensorEntry& weight = header.tensors.at("b.weight");
  EXPECT_EQ(weight.dtype, DType::kBF16);
  EXPECT_EQ(weight.shape, (std::vector<std::int64_t>{1, 3}));
  EXPECT_EQ(weight.begin, 20);
  EXPECT_EQ(weight.end, 26);
}

TEST(Safetensors, ViewsHoldTheFilesValues) {
  const TempDir dir;
  const auto file = SafetensorsFile::open(write_file(dir / "x.safetensors", kReferenceFile));
  EXPECT_EQ(file.path(), dir / "x.safetensors");

  const TensorView a = file.view("a");
  std::array<std::int64_t, 2> wholes{};
  ASSERT_EQ(a.bytes(), sizeof(wholes));
  std::memcpy(wholes.data(), a.data, sizeof(wholes));
  EXPECT_EQ(wholes, (std::array<std::int64_t, 2>{7, -1}));

  const TensorView weight = file.view("b.weight");
  std::array<float, 3> floats{};
  ASSERT_EQ(weight.elements(), 3);
  convert_to_f32(weight.dtype, weight.data, floats.data(), weight.elements());
  EXPECT_EQ(floats, (std::array<float, 3>{1, -2, 0.5}));

  const TensorView scalar = file.view("scalar");
  EXPECT_EQ(scalar.rank, 0);
  convert_to_f32(scalar.dtype, scalar.data, floats.data(), scalar.elements());
  EXPECT_EQ(floats[0], 2.5);

  EXPECT_EQ(file.view("empty").elements(), 0);
  EXPECT_EQ(file.view("empty").shape[1], 3);
}

TEST(Safetensors, ReadsTensorsThatLieAtAnyByte) {
  const std::string header = R"({"pad":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                             R"("t":{"dtype":"F32","shape":[2],"data_offsets":[1,9]}})";
  const std::string data("\0\0\0\x80\x3f\0\0\0\xc0", 9);
  const TempDir dir;
  const auto file =
      SafetensorsFile::open(write_file(dir / "x.safetensors", safetensors_bytes(header, data)));
  const TensorView view = file.view("t");
  std::array<float, 2> floats{};
  convert_to_f32(view.dtype, view.data, floats.data(), 2);
  EXPECT_EQ(floats, (std::array<float, 2>{1, -2}));
}

TEST(Safetensors, KnowsEveryDType) {
  for (const auto& [name, dtype] : {std::pair{"F32", DType::kF32},
                                    {"BF16", DType::kBF16},
                                    {"F16", DType::kF16},
                                    {"F64", DType::kF64},
                                    {"I64", DType::kI64},
                                    {"I32", DType::kI32},
                                    {"I16", DType::kI16},
                                    {"I8", DType::kI8},
                                    {"U8", DType::kU8},
                                    {"BOOL", DType::kBool}}) {
    const std::size_t bytes = 3 * size_of(dtype);
    const std::string entry =
        join(R"("dtype":")", name, R"(","shape":[3],"data_offsets":[0,)", bytes, "]");
    EXPECT_EQ(parse(one(entry, bytes)).tensors.at("t").dtype, dtype) << name;
  }
}

TEST(Safetensors, AFileWithoutTensorsIsWhole) {
  EXPECT_TRUE(parse(described("", 0)).tensors.empty());
  EXPECT_EQ(parse(described(R"("e":{"dtype":"F32","shape":[0],"data_offsets":[0,0]})", 0))
                .tensors.at("e")
                .shape,
            std::vector<std::int64_t>{0});
}

TEST(Safetensors, NamesAnAbsentTensor) {
  const TempDir dir;
  const auto file = SafetensorsFile::open(write_file(dir / "x.safetensors", kReferenceFile));
  expect_error(ErrorKind::kNotFound, {"x.safetensors: no tensor \"c\""},
               [&] { return file.view("c"); });
}

TEST(SafetensorsRefuses, AFileTooShortForALength) {
  const TempDir dir;
  expect_error(ErrorKind::kFormat, {"x.safetensors: 7 bytes are too few"}, [&] {
    SafetensorsFile::open(write_file(dir / "x.safetensors", std::string(7, '\0')));
  });
}

TEST(SafetensorsRefuses, AHeaderBeyondTheFile) {
  const std::string file = described("", 0);
  expect_refused(file.substr(0, 9), {"a header of 2 bytes in a file of 9"});
}

TEST(SafetensorsRefuses, AHeaderBeyondTheFormatsLimit) {
  expect_refused(std::string("\x01\xe1\xf5\x05\0\0\0\0{}", 10), {"100000001 bytes, more than"});
  expect_refused("version https://git-lfs.github.com/spec/v1", {"this is no safetensors file"});
  expect_refused(std::string(8, '\xff'), {"18446744073709551615 bytes, more than"});
}

TEST(SafetensorsRefuses, BadJson) {
  expect_refused(safetensors_bytes("{\"a\":", ""), {"header: not valid JSON at line 1, column 5"});
  expect_refused(safetensors_bytes("", ""), {"not valid JSON", "end of input"});
  expect_refused(safetensors_bytes("[]", ""), {"the header is not a JSON object"});
}

TEST(SafetensorsRefuses, BadMetadata) {
  expect_refused(described(R"("__metadata__":3)", 0), {"__metadata__ is not an object of strings"});
  expect_refused(described(R"("__metadata__":{"a":1})", 0), {"__metadata__"});
}

TEST(SafetensorsRefuses, MissingOrMistypedMembers) {
  expect_refused(described(R"("t":3)", 0), {"\"t\" is not described by an object"});
  expect_refused(one(R"("shape":[1],"data_offsets":[0,1])", 1), {"\"t\" has no dtype"});
  expect_refused(one(R"("dtype":"U8","data_offsets":[0,1])", 1), {"\"t\" has no shape"});
  expect_refused(one(R"("dtype":"U8","shape":[1])", 1), {"\"t\" has no data_offsets"});
  expect_refused(one(R"("dtype":8,"shape":[1],"data_offsets":[0,1])", 1), {"not a string"});
  expect_refused(one(R"("dtype":"U8","shape":1,"data_offsets":[0,1])", 1),
                 {"\"t\" has shape that is not an array"});
  expect_refused(one(R"("dtype":"U8","shape":[1],"data_offsets":[0])", 1), {"1 data_offsets"});
}

TEST(SafetensorsRefuses, DTypesItLacksByName) {
  for (const char* name : {"F8_E4M3", "F8_E5M2", "U16", "U32", "U64", "C64", "f32", ""}) {
    const std::string entry = join(R"("dtype":")", name, R"(","shape":[1],"data_offsets":[0,1])");
    expect_refused(one(entry, 1), {join("\"t\" has the unsupported dtype \"", name, '"')},
                   ErrorKind::kUnsupported);
  }
}

TEST(SafetensorsRefuses, MoreDimensionsThanAViewHas) {
  expect_refused(one(R"("dtype":"U8","shape":[1,1,1,1,1,1,1,1,1],"data_offsets":[0,1])", 1),
                 {"\"t\" has 9 dimensions; at most 8"}, ErrorKind::kUnsupported);
}

TEST(SafetensorsRefuses, SizesThatAreNoWholeNumbers) {
  expect_refused(one(R"("dtype":"U8","shape":[-1],"data_offsets":[0,1])", 1),
                 {"\"t\" has -1 in its shape"});
  expect_refused(one(R"("dtype":"U8","shape":[1.0],"data_offsets":[0,1])", 1),
                 {"\"t\" has 1.0 in its shape"});
  expect_refused(one(R"("dtype":"U8","shape":["1"],"data_offsets":[0,1])", 1),
                 {"\"t\" has \"1\" in its shape"});
  expect_refused(one(R"("dtype":"U8","shape":[1],"data_offsets":[-1,0])", 1),
                 {"\"t\" has -1 in its data_offsets"});
  expect_refused(one(R"("dtype":"U8","shape":[1],"data_offsets":[0,18446744073709551615])", 1),
                 {"beyond 64 bits"});
}

TEST(SafetensorsRefuses, ShapesThatOverflow) {
  for (const char* shape : {"4611686018427387904", "4294967296,4294967296", "9223372036854775807,0",
                            "0,9223372036854775807,2"}) {
    expect_refused(one(join(R"("dtype":"F32","shape":[)", shape, R"(],"data_offsets":[0,0])"), 0),
                   {"\"t\" has an impossible shape", "more than 2^63 bytes"});
  }
}

TEST(SafetensorsRefuses, AShapeThatDisagreesWithTheOffsets) {
  expect_refused(one(R"("dtype":"F32","shape":[2],"data_offsets":[0,4])", 4),
                 {"\"t\" spans 4 bytes, but its shape and dtype make 8"});
}

TEST(SafetensorsRefuses, OffsetsOutOfOrder) {
  expect_refused(one(R"("dtype":"U8","shape":[1],"data_offsets":[2,1])", 2),
                 {"\"t\" ends at byte 1, before its begin at byte 2"});
}

TEST(SafetensorsRefuses, OffsetsBeyondTheFile) {
  expect_refused(described(u8("t", 0, 10), 9),
                 {"\"t\" ends at byte 10 of the data, but the file holds 9", "truncated"});
  expect_refused(kReferenceFile.substr(0, kReferenceFile.size() - 1),
                 {"\"b.weight\"", "truncated"});
}

TEST(SafetensorsRefuses, DuplicateNames) {
  expect_refused(described(u8("t", 0, 1) + "," + u8("t", 1, 2), 2), {"the key \"t\" stands twice"});
}

TEST(SafetensorsRefuses, OverlappingTensors) {
  expect_refused(described(u8("b", 2, 6) + "," + u8("a", 0, 4), 6),
                 {"\"a\" and \"b\" overlap at byte 2"});
  expect_refused(described(u8("a", 0, 4) + "," + u8("b", 0, 4), 4), {"overlap at byte 0"});
  expect_refused(described(u8("a", 0, 4) + "," + u8("empty", 2, 2), 4), {"overlap at byte 2"});
}

TEST(SafetensorsRefuses, BytesOfNoTensor) {
  expect_refused(described(u8("a", 0, 2) + "," + u8("b", 5, 6), 6),
                 {"3 bytes before the tensor \"b\" belong to no tensor"});
  expect_refused(described(u8("a", 1, 2), 2), {"1 bytes before the tensor \"a\""});
  expect_refused(described(u8("a", 0, 2), 6), {"4 bytes after the last tensor"});
  expect_refused(described("", 1), {"1 bytes after the last tensor"});
}

TEST(SafetensorsRefuses, NamesThatWouldBreakTheMessage) {
  expect_refused(described(R"("a\nb":3)", 0), {R"("a\nb" is not described)"});
}

// Every file cut short, and every file with one byte of its header changed, is read or refused.
TEST(SafetensorsRefuses, DamageWithoutCrashing) {
  for (std::size_t size = 0; size < kReferenceFile.size(); ++size) {
    EXPECT_THROW(parse(kReferenceFile.substr(0, size)), Error) << size;
  }
  std::size_t refused = 0;
  for (std::size_t at = 0; at < 280; ++at) {
    for (const char replacement : {'\0', '9', '"', '}', '\xff'}) {
      std::string file = kReferenceFile;
      file[at] = replacement;
      try {
        parse(file);
      } catch (const Error&) {
        ++refused;
      }
    }
  }
  EXPECT_GT(refused, 1000U);
}

}  // namespace
}  // namespace pantograph
