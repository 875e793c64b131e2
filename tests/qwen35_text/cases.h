// The tokenizer under tests/golden, and what tokenizers and transformers make of texts with it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint/json.h"
#include "models/qwen35_text/tokenizer.h"
#include "support/temp_dir.h"

namespace pantograph::test {

inline std::filesystem::path tokenizer_folder() {
  return std::filesystem::path(PANTOGRAPH_GOLDEN_DIR) / "qwen35_tokenizer";
}

inline Json tokenizer_json() {
  return parse_json(read_file(tokenizer_folder() / "tokenizer.json"), "tokenizer.json");
}

inline Json golden_cases() {
  return parse_json(read_file(tokenizer_folder() / "cases.json"), "cases.json");
}

inline std::vector<std::int32_t> ids_of(const Json& json) {
  std::vector<std::int32_t> ids;
  for (const Json& id : *json.find("ids")->array()) {
    ids.push_back(static_cast<std::int32_t>(*id.integer()));
  }
  return ids;
}

// `json` with a member replaced or added.
inline Json with(const Json& json, const std::string& key, Json value) {
  Json::Object members;
  bool replaced = false;
  for (const auto& [name, old] : *json.object()) {
    members.emplace_back(name, name == key ? value : old);
    replaced = replaced || name == key;
  }
  if (!replaced) members.emplace_back(key, std::move(value));
  return Json(std::move(members));
}

inline qwen35_text::Tokenizer tokenizer_of(const Json& json) {
  return qwen35_text::Tokenizer(qwen35_text::parse_tokenizer(json, "tokenizer.json"));
}

}  // namespace pantograph::test
