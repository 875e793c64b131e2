// The keys of one config.json, read with messages that name file and key.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "checkpoint/json.h"
#include "core/check.h"

namespace pantograph {

// Every reading function throws Error(kFormat) on a value of another type or out of range; without
// a default, on a missing key too.
class ConfigReader {
 public:
  // Throws Error(kFormat) where `json` is no object. Both outlive the reader.
  ConfigReader(const Json& json, const std::string& where);

  template <typename... Parts>
  [[noreturn]] void refuse(ErrorKind kind, Parts&&... parts) const {
    fail(kind, where_, ": ", std::forward<Parts>(parts)...);
  }

  // nullptr where the key is missing or null.
  [[nodiscard]] const Json* find(std::string_view key) const;

  [[nodiscard]] std::int64_t integer(std::string_view key, std::int64_t least,
                                     std::int64_t most) const;
  [[nodiscard]] std::vector<std::int64_t> integers(std::string_view key, std::size_t count,
                                                   std::int64_t least, std::int64_t most) const;
  // Of any length.
  [[nodiscard]] std::vector<std::int64_t> integers(std::string_view key, std::int64_t least,
                                                   std::int64_t most) const;
  [[nodiscard]] std::vector<double> numbers(std::string_view key) const;
  [[nodiscard]] std::vector<bool> booleans(std::string_view key) const;
  // Finite.
  [[nodiscard]] double number(std::string_view key) const;
  [[nodiscard]] double number(std::string_view key, double fallback) const;
  [[nodiscard]] bool boolean(std::string_view key, bool fallback) const;

  // Throws Error(kUnsupported) on a key that is not among these: it may change the arithmetic.
  void only(std::initializer_list<std::string_view> known) const;

 private:
  [[nodiscard]] const Json& required(std::string_view key) const;
  [[nodiscard]] const Json::Array& list(std::string_view key) const;
  [[nodiscard]] std::int64_t checked(const Json& value, std::string_view key, std::int64_t least,
                                     std::int64_t most) const;

  const Json& json_;
  const std::string& where_;
};

}  // namespace pantograph
