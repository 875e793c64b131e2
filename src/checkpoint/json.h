// A JSON document as plain values. The parser (nlohmann) is included in json.cc only.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace pantograph {

class Json {
 public:
  using Array = std::vector<Json>;
  using Member = std::pair<std::string, Json>;
  using Object = std::vector<Member>;  // in the file's order

  Json() = default;
  template <typename T>
  explicit Json(T value) : value_(std::move(value)) {}

  [[nodiscard]] bool is_null() const { return std::holds_alternative<std::monostate>(value_); }
  // nullptr where the value is of another type. A whole number is both an integer and a number.
  [[nodiscard]] const bool* boolean() const { return std::get_if<bool>(&value_); }
  [[nodiscard]] const std::int64_t* integer() const { return std::get_if<std::int64_t>(&value_); }
  [[nodiscard]] const std::string* string() const { return std::get_if<std::string>(&value_); }
  [[nodiscard]] const Array* array() const { return std::get_if<Array>(&value_); }
  [[nodiscard]] const Object* object() const { return std::get_if<Object>(&value_); }
  // False where the value is no number.
  [[nodiscard]] bool number(double& result) const;

  // The member of an object, or nullptr.
  [[nodiscard]] const Json* find(std::string_view key) const;

  // Compact text; a double is written so that it reads back to the same bits.
  [[nodiscard]] std::string dump(int indent = -1) const;

 private:
  std::variant<std::monostate, bool, std::int64_t, double, std::string, Array, Object> value_;
};

// Throws Error(kFormat) that begins with `where` (a file's name) and says line and column; a key
// that stands twice in one object, nesting beyond 64 levels and integers beyond 64 bits are
// refused.
Json parse_json(std::string_view text, std::string_view where);

}  // namespace pantograph
