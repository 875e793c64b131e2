#include "checkpoint/json.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "core/check.h"

namespace pantograph {
namespace {

constexpr std::size_t kMaxDepth = 64;

// The text as nlohmann reads it, telling how far it got: its SAX events carry no position.
struct TrackedIterator {
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  const char* at;
  const char** reached;

  reference operator*() const { return *at; }
  TrackedIterator& operator++() {
    *reached = ++at;
    return *this;
  }
  friend bool operator==(const TrackedIterator& a, const TrackedIterator& b) {
    return a.at == b.at;
  }
};

// Builds a Json from SAX events and refuses what nlohmann's own document would let pass.
class Builder {
 public:
  Builder(std::string_view text, std::string_view where) : text_(text), where_(where) {}

  Json parse() {
    // nlohmann takes a zero byte for the end of its input.
    const std::size_t zero = text_.find('\0');
    if (zero != std::string_view::npos) {
      reached_ = text_.data() + zero + 1;
      refuse("a zero byte");
    }
    const char* const end = text_.data() + text_.size();
    nlohmann::json::sax_parse(TrackedIterator{text_.data(), &reached_},
                              TrackedIterator{end, &reached_}, this);
    return std::move(root_);
  }

  bool null() { return add(Json()); }
  bool boolean(bool value) { return add(Json(value)); }
  bool number_integer(std::int64_t value) { return add(Json(value)); }
  bool number_unsigned(std::uint64_t value) {
    if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      refuse("an integer beyond 64 bits with sign");
    }
    return add(Json(static_cast<std::int64_t>(value)));
  }
  bool number_float(double value, const std::string& token) {
    // An integer too large for nlohmann's integers arrives here, rounded.
    if (token.find_first_of(".eE") == std::string::npos) {
      refuse("an integer beyond 64 bits with sign");
    }
    return add(Json(value));
  }
  bool string(std::string& value) { return add(Json(std::move(value))); }
  bool binary(nlohmann::json::binary_t& /*value*/) { return false; }  // no JSON text has one

  bool start_object(std::size_t /*size*/) { return open(Json::Object()); }
  bool key(std::string& name) {
    Container& object = open_.back();
    if (!object.keys.insert(name).second) {
      refuse(join("the key ", Json(name).dump(), " stands twice in one object"));
    }
    object.key = std::move(name);
    return true;
  }
  bool end_object() { return close(); }
  bool start_array(std::size_t /*size*/) { return open(Json::Array()); }
  bool end_array() { return close(); }

  bool parse_error(std::size_t /*position*/, const std::string& /*token*/,
                   const nlohmann::json::exception& error) {
    // Of "[id] parse error at line 1, column 2: problem; last read: 'token'" only the problem:
    // the position is ours, and the token may be the rest of the file.
    const std::string_view message = error.what();
    const std::size_t problem = message.find("syntax error");
    if (problem == std::string_view::npos) refuse("a number too large for a double");
    refuse(message.substr(problem, message.find("; last read") - problem));
  }

 private:
  struct Container {
    std::variant<Json::Object, Json::Array> items;
    std::string key;  // of the member to come
    std::unordered_set<std::string> keys;
  };

  bool open(std::variant<Json::Object, Json::Array> items) {
    if (open_.size() == kMaxDepth) refuse(join("nested deeper than ", kMaxDepth, " levels"));
    open_.push_back({std::move(items), {}, {}});
    return true;
  }

  bool close() {
    std::variant<Json::Object, Json::Array> items = std::move(open_.back().items);
    open_.pop_back();
    return std::visit([this](auto& done) { return add(Json(std::move(done))); }, items);
  }

  bool add(Json value) {
    if (open_.empty()) {
      root_ = std::move(value);
    } else if (auto* object = std::get_if<Json::Object>(&open_.back().items)) {
      object->emplace_back(std::move(open_.back().key), std::move(value));
    } else {
      std::get<Json::Array>(open_.back().items).push_back(std::move(value));
    }
    return true;
  }

  [[noreturn]] void refuse(std::string_view problem) const {
    const std::string_view read =
        text_.substr(0, static_cast<std::size_t>(reached_ - text_.data()));
    const std::string_view before = read.substr(0, read.empty() ? 0 : read.size() - 1);
    const auto line = std::count(before.begin(), before.end(), '\n') + 1;
    const std::size_t column = before.size() - (before.rfind('\n') + 1) + 1;  // npos + 1 is 0
    fail(ErrorKind::kFormat, where_, ": not valid JSON at line ", line, ", column ", column, ": ",
         problem);
  }

  std::string_view text_, where_;
  const char* reached_ = text_.data();
  std::vector<Container> open_;
  Json root_;
};

nlohmann::ordered_json to_nlohmann(const Json& json) {
  if (const auto* value = json.boolean()) return *value;
  if (const auto* value = json.integer()) return *value;
  if (const auto* value = json.string()) return *value;
  if (double value = 0; json.number(value)) {
    if (!std::isfinite(value)) fail(ErrorKind::kInvalidArgument, "JSON cannot hold ", value);
    return value;
  }
  if (const auto* array = json.array()) {
    auto result = nlohmann::ordered_json::array();
    for (const Json& item : *array) result.push_back(to_nlohmann(item));
    return result;
  }
  if (const auto* object = json.object()) {
    auto result = nlohmann::ordered_json::object();
    for (const auto& [key, value] : *object) result[key] = to_nlohmann(value);
    return result;
  }
  return nullptr;
}

}  // namespace

bool Json::number(double& result) const {
  if (const auto* whole = std::get_if<std::int64_t>(&value_)) {
    result = static_cast<double>(*whole);
  } else if (const auto* real = std::get_if<double>(&value_)) {
    result = *real;
  } else {
    return false;
  }
  return true;
}

const Json* Json::find(std::string_view key) const {
  const Object* members = object();
  if (members == nullptr) return nullptr;
  const auto found = std::find_if(members->begin(), members->end(),
                                  [key](const Member& member) { return member.first == key; });
  return found == members->end() ? nullptr : &found->second;
}

std::string Json::dump(int indent) const {
  // File names and messages need not be UTF-8; what is not becomes U+FFFD.
  return to_nlohmann(*this).dump(indent, ' ', false,
                                 nlohmann::ordered_json::error_handler_t::replace);
}

Json parse_json(std::string_view text, std::string_view where) {
  return Builder(text, where).parse();
}

}  // namespace pantograph
