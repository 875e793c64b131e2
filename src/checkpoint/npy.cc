#include "checkpoint/npy.h"

#include <array>
#include <charconv>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "checkpoint/byte_reader.h"
#include "checkpoint/json.h"
#include "core/check.h"

namespace pantograph {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

// "|" is written where bytes have no order, "=" never by NumPy itself.
constexpr std::array<std::pair<std::string_view, DType>, 10> kDTypes{{
    {"<f2", DType::kF16},
    {"<f4", DType::kF32},
    {"<f8", DType::kF64},
    {"<i8", DType::kI64},
    {"<i4", DType::kI32},
    {"<i2", DType::kI16},
    {"|i1", DType::kI8},
    {"|u1", DType::kU8},
    {"|b1", DType::kBool},
    {"<i1", DType::kI8},
}};

struct Header {
  DType dtype = DType::kF32;
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
};

// "{'descr': '<f4', 'fortran_order': False, 'shape': (48, 2, 3), }": the three keys in any order.
class HeaderReader {
 public:
  HeaderReader(std::string_view text, const std::string& where) : text_(text), where_(where) {}

  Header read() {
    Header header;
    unsigned seen = 0;
    expect('{');
    while (!accept('}')) {
      const std::string_view key = quoted();
      expect(':');
      if (key == "descr") {
        header.dtype = dtype();
        seen |= 1;
      } else if (key == "fortran_order") {
        header.fortran_order = boolean();
        seen |= 2;
      } else if (key == "shape") {
        header.shape = shape();
        seen |= 4;
      } else {
        refuse("an unknown key ", Json(std::string(key)).dump());
      }
      if (!accept(',') && peek() != '}') refuse("no comma between two keys");
    }
    if (seen != 7) refuse("descr, fortran_order and shape are not all there");
    return header;
  }

 private:
  template <typename... Parts>
  [[noreturn]] void refuse(Parts&&... parts) const {
    fail(ErrorKind::kFormat, where_, ": the header of the array: ", std::forward<Parts>(parts)...);
  }

  char peek() {
    while (!text_.empty() && (text_.front() == ' ' || text_.front() == '\n')) {
      text_.remove_prefix(1);
    }
    return text_.empty() ? '\0' : text_.front();
  }
  bool accept(char c) {
    if (peek() != c || text_.empty()) return false;
    text_.remove_prefix(1);
    return true;
  }
  void expect(char c) {
    if (!accept(c)) refuse("no '", c, "' where one should be");
  }

  std::string_view quoted() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') refuse("no string where one should be");
    const std::size_t end = text_.find(quote, 1);
    if (end == std::string_view::npos) refuse("a string without end");
    const std::string_view inside = text_.substr(1, end - 1);
    text_.remove_prefix(end + 1);
    return inside;
  }

  DType dtype() {
    if (peek() == '[') {
      fail(ErrorKind::kUnsupported, where_, ": a structured array; expected one of numbers");
    }
    const std::string_view name = quoted();
    for (const auto& [known, dtype] : kDTypes) {
      if (known == name) return dtype;
    }
    fail(ErrorKind::kUnsupported, where_, ": an array of type ", Json(std::string(name)).dump(),
         "; expected little-endian floats or integers, such as \"<f4\" or \"<f2\"");
  }

  bool boolean() {
    peek();
    for (const auto& [word, value] : {std::pair<std::string_view, bool>{"True", true},
                                      std::pair<std::string_view, bool>{"False", false}}) {
      if (!text_.starts_with(word)) continue;
      text_.remove_prefix(word.size());
      return value;
    }
    refuse("fortran_order is neither True nor False");
  }

  std::vector<std::int64_t> shape() {
    std::vector<std::int64_t> sizes;
    expect('(');
    while (!accept(')')) {
      peek();
      std::int64_t size = 0;
      const char* const end = text_.data() + text_.size();
      const auto [next, error] = std::from_chars(text_.data(), end, size);
      if (error != std::errc() || size < 0) refuse("a shape that is not of whole numbers");
      text_.remove_prefix(static_cast<std::size_t>(next - text_.data()));
      sizes.push_back(size);
      if (!accept(',') && peek() != ')') refuse("no comma in the shape");
    }
    return sizes;
  }

  std::string_view text_;
  const std::string& where_;
};

}  // namespace

TensorView parse_npy(std::span<const std::byte> file, const std::string& where) {
  ByteReader reader(file, where);
  if (reader.text(kMagic.size()) != kMagic) {
    fail(ErrorKind::kFormat, where, ": not a .npy file");
  }
  const int major = reader.number<std::uint8_t>();
  reader.number<std::uint8_t>();  // minor
  if (major < 1 || major > 3) {
    fail(ErrorKind::kUnsupported, where, ": version ", major, " of .npy; expected 1 to 3");
  }
  const std::uint64_t header_bytes =
      major == 1 ? reader.number<std::uint16_t>() : reader.number<std::uint32_t>();
  const Header header = HeaderReader(reader.text(header_bytes), where).read();

  TensorView view;
  try {
    view = TensorView::dense(nullptr, header.dtype, header.shape);
  } catch (const Error& error) {
    fail(ErrorKind::kFormat, where, ": an impossible shape: ", error.what());
  }
  if (reader.remaining() != view.bytes()) {
    fail(ErrorKind::kFormat, where, ": ", reader.remaining(),
         " bytes of data, but its shape and type make ", view.bytes());
  }
  if (header.fortran_order) {
    std::int64_t stride = 1;
    for (std::size_t i = 0; i < header.shape.size(); ++i) {
      view.strides[i] = stride;
      if (header.shape[i] > 0) stride *= header.shape[i];
    }
  }
  view.data = const_cast<std::byte*>(reader.take(view.bytes()).data());
  return view;
}

}  // namespace pantograph
