// A file as the safetensors library itself (0.8, Python) writes it: mixed dtypes, an empty tensor,
// a scalar, metadata, padding.
#pragma once

#include <string>

namespace pantograph::test {

inline const std::string kReferenceHeader =
    R"({"__metadata__":{"format":"pt"},"a":{"dtype":"I64","shape":[2],"data_offsets":[0,16]},)"
    R"("empty":{"dtype":"F32","shape":[0,3],"data_offsets":[16,16]},)"
    R"("scalar":{"dtype":"F32","shape":[],"data_offsets":[16,20]},)"
    R"("b.weight":{"dtype":"BF16","shape":[1,3],"data_offsets":[20,26]}} )";

inline const std::string kReferenceData(
    "\x07\0\0\0\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff"  // a: 7, -1
    "\0\0\x20\x40"                                        // scalar: 2.5
    "\x80\x3f\0\xc0\0\x3f",                               // b.weight: 1, -2, 0.5
    26);

// A file of these parts, right or wrong.
inline std::string safetensors_bytes(const std::string& header, const std::string& data) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>(header.size() >> (8 * i));
  return bytes + header + data;
}

inline const std::string kReferenceFile = safetensors_bytes(kReferenceHeader, kReferenceData);

}  // namespace pantograph::test
