#include "checkpoint/config_reader.h"

#include <algorithm>
#include <cmath>

namespace pantograph {

ConfigReader::ConfigReader(const Json& json, const std::string& where)
    : json_(json), where_(where) {
  if (json.object() == nullptr) refuse(ErrorKind::kFormat, "expected a JSON object");
}

const Json* ConfigReader::find(std::string_view key) const {
  const Json* value = json_.find(key);
  return value == nullptr || value->is_null() ? nullptr : value;
}

const Json& ConfigReader::required(std::string_view key) const {
  const Json* value = find(key);
  if (value == nullptr) {
    refuse(ErrorKind::kFormat, "the key \"", key, "\" is missing, and the model depends on it");
  }
  return *value;
}

std::int64_t ConfigReader::checked(const Json& value, std::string_view key, std::int64_t least,
                                   std::int64_t most) const {
  if (value.integer() == nullptr || *value.integer() < least || *value.integer() > most) {
    refuse(ErrorKind::kFormat, "\"", key, "\" must be a whole number from ", least, " to ", most,
           ", not ", value.dump());
  }
  return *value.integer();
}

std::int64_t ConfigReader::integer(std::string_view key, std::int64_t least,
                                   std::int64_t most) const {
  return checked(required(key), key, least, most);
}

std::vector<std::int64_t> ConfigReader::integers(std::string_view key, std::size_t count,
                                                 std::int64_t least, std::int64_t most) const {
  const Json& value = required(key);
  if (value.array() == nullptr || value.array()->size() != count) {
    refuse(ErrorKind::kFormat, "\"", key, "\" must be a list of ", count, " numbers, not ",
           value.dump());
  }
  std::vector<std::int64_t> values;
  for (const Json& element : *value.array()) values.push_back(checked(element, key, least, most));
  return values;
}

const Json::Array& ConfigReader::list(std::string_view key) const {
  const Json& value = required(key);
  if (value.array() == nullptr) {
    refuse(ErrorKind::kFormat, "\"", key, "\" must be a list, not ", value.dump());
  }
  return *value.array();
}

std::vector<std::int64_t> ConfigReader::integers(std::string_view key, std::int64_t least,
                                                 std::int64_t most) const {
  std::vector<std::int64_t> values;
  for (const Json& element : list(key)) values.push_back(checked(element, key, least, most));
  return values;
}

std::vector<double> ConfigReader::numbers(std::string_view key) const {
  std::vector<double> values;
  for (const Json& element : list(key)) {
    if (!element.number(values.emplace_back())) {
      refuse(ErrorKind::kFormat, "\"", key, "\" must hold numbers, not ", element.dump());
    }
  }
  return values;
}

std::vector<bool> ConfigReader::booleans(std::string_view key) const {
  std::vector<bool> values;
  for (const Json& element : list(key)) {
    if (element.boolean() == nullptr) {
      refuse(ErrorKind::kFormat, "\"", key, "\" must hold true or false, not ", element.dump());
    }
    values.push_back(*element.boolean());
  }
  return values;
}

double ConfigReader::number(std::string_view key) const {
  const Json& value = required(key);
  double result = 0;
  if (!value.number(result) || !std::isfinite(result)) {
    refuse(ErrorKind::kFormat, "\"", key, "\" must be a number, not ", value.dump());
  }
  return result;
}

double ConfigReader::number(std::string_view key, double fallback) const {
  return find(key) == nullptr ? fallback : number(key);
}

bool ConfigReader::boolean(std::string_view key, bool fallback) const {
  const Json* value = find(key);
  if (value == nullptr) return fallback;
  if (value->boolean() == nullptr) {
    refuse(ErrorKind::kFormat, "\"", key, "\" must be true or false, not ", value->dump());
  }
  return *value->boolean();
}

void ConfigReader::only(std::initializer_list<std::string_view> known) const {
  for (const auto& [key, value] : *json_.object()) {
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      refuse(ErrorKind::kUnsupported, "the key \"", key,
             "\" is not known to this version and may change the arithmetic");
    }
  }
}

}  // namespace pantograph
