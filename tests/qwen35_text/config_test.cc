#include "models/qwen35_text/config.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "qwen35_text/cases.h"
#include "support/expect_error.h"

namespace pantograph::qwen35_text {
namespace {

using test::expect_error;
using test::read_file;
using test::with;

constexpr auto kFull = LayerKind::kFullAttention, kLinear = LayerKind::kLinearAttention;

Json json(std::string_view text) {
  return parse_json(text, "test");
}

Json golden_config() {
  return json(read_file(std::filesystem::path(PANTOGRAPH_GOLDEN_DIR) / "qwen35_text/config.json"));
}

Json without(const Json& whole, const std::string& key) {
  Json::Object members = *whole.object();
  std::erase_if(members, [&](const Json::Member& member) { return member.first == key; });
  return Json(std::move(members));
}

TextConfig parse(const Json& config) {
  return parse_config(config, "config.json");
}

TEST(TextConfig, ReadsWhatTransformersWrites) {
  const TextConfig config = parse(golden_config());
  EXPECT_EQ(config.vocabulary, 120);
  EXPECT_EQ(config.hidden, 32);
  EXPECT_EQ(config.intermediate, 48);
  EXPECT_EQ(config.norm_eps, 1e-6);
  EXPECT_EQ(config.layers,
            (std::vector{kLinear, kLinear, kLinear, kFull, kLinear, kLinear, kLinear, kFull}));
  EXPECT_EQ(config.heads, 8);
  EXPECT_EQ(config.kv_heads, 2);
  EXPECT_EQ(config.head_dim, 16);
  EXPECT_EQ(config.rotated, 4);
  EXPECT_EQ(config.rope_theta, 50);
  EXPECT_FALSE(config.attention_bias);
  EXPECT_EQ(config.conv_channels(), 2 * 4 * 8 + 8 * 12);
  EXPECT_EQ(config.conv_taps, 4);
}

TEST(TextConfig, IsReadBackAsItWasWritten) {
  const Json written = config_to_json(parse(golden_config()));
  for (const auto& [key, value] : *written.object()) {
    EXPECT_EQ(value.dump(), golden_config().find(key)->dump()) << key;
  }
  EXPECT_EQ(config_to_json(parse(written)).dump(), written.dump());
}

TEST(TextConfig, MayStandInsideAnotherModels) {
  const Json whole(
      Json::Object{{"model_type", Json(std::string("qwen3_5"))}, {"text_config", golden_config()}});
  EXPECT_EQ(parse(whole).vocabulary, 120);
}

TEST(TextConfig, LayersByNameOldNameOrInterval) {
  const Json config = golden_config();
  const Json four = with(config, "num_hidden_layers", json("4"));
  EXPECT_EQ(
      parse(with(four, "layer_types", json(R"(["mamba","conv","attention","full_attention"])")))
          .layers,
      (std::vector{kLinear, kLinear, kFull, kFull}));
  const Json unnamed = without(four, "layer_types");
  EXPECT_EQ(parse(unnamed).layers, (std::vector{kLinear, kLinear, kLinear, kFull}));
  EXPECT_EQ(parse(with(unnamed, "full_attention_interval", json("2"))).layers,
            (std::vector{kLinear, kFull, kLinear, kFull}));
}

TEST(TextConfig, RopeByEachOfItsNames) {
  const Json bare = without(golden_config(), "rope_parameters");
  const auto expect_rope = [](const Json& config, double theta, std::int64_t rotated) {
    const TextConfig parsed = parse(config);
    EXPECT_EQ(parsed.rope_theta, theta);
    EXPECT_EQ(parsed.rotated, rotated);
  };
  expect_rope(bare, 10000, 4);
  expect_rope(with(with(bare, "rope_theta", json("7.5")), "partial_rotary_factor", json("0.5")),
              7.5, 8);
  const Json scaled =
      with(golden_config(), "rope_scaling",
           json(R"({"type": "default", "rope_theta": 9, "partial_rotary_factor": 1})"));
  expect_rope(scaled, 9, 16);
  expect_rope(with(scaled, "rope_scaling", json("{}")), 50, 4);
  expect_rope(with(scaled, "rope_scaling", Json()), 50, 4);
  // What one of them leaves out comes from the old keys beside it.
  expect_rope(with(with(bare, "rope_parameters", json(R"({"rope_type": "default"})")), "rope_theta",
                   json("7.5")),
              7.5, 4);
}

TEST(TextConfig, WhatIsNotSupportedIsNamed) {
  const auto refuse = [](std::string_view says, const std::string& key, std::string_view value) {
    expect_error(ErrorKind::kUnsupported, {"config.json: ", says},
                 [&] { parse(with(golden_config(), key, json(value))); });
  };
  refuse("\"yarn\"", "rope_parameters", R"({"rope_type": "yarn", "factor": 4})");
  refuse("\"linear\"", "rope_scaling", R"({"type": "linear", "factor": 4})");
  refuse("\"sliding_attention\"", "layer_types",
         R"(["linear_attention","linear_attention","linear_attention","sliding_attention",
             "linear_attention","linear_attention","linear_attention","full_attention"])");
  refuse("\"gelu\"", "hidden_act", "\"gelu\"");
  refuse("\"qwen3_5_moe_text\"", "model_type", "\"qwen3_5_moe_text\"");
  refuse("attn_output_gate", "attn_output_gate", "false");
}

TEST(TextConfig, WhatDoesNotFitIsSaid) {
  const auto refuse = [](std::initializer_list<std::string_view> says, const std::string& key,
                         std::string_view value) {
    expect_error(ErrorKind::kFormat, says, [&] { parse(with(golden_config(), key, json(value))); });
  };
  refuse({"num_attention_heads", "7", "num_key_value_heads", "2"}, "num_attention_heads", "7");
  refuse({"linear_num_value_heads", "6"}, "linear_num_value_heads", "6");
  refuse({"partial_rotary_factor", "3 channels"}, "rope_parameters",
         R"({"rope_type": "default", "partial_rotary_factor": 0.1875})");
  refuse({"partial_rotary_factor"}, "rope_parameters", R"({"partial_rotary_factor": 2})");
  refuse({"rope_theta"}, "rope_parameters", R"({"rope_theta": 0})");
  refuse({"\"rope_parameters\" must be an object"}, "rope_parameters", "3");
  refuse({"\"layer_types\"", "8 names"}, "layer_types", R"(["full_attention"])");
  refuse({"vocab_size"}, "vocab_size", "0");
  refuse({"hidden_size"}, "hidden_size", "1000000000000");
  refuse({"rms_norm_eps"}, "rms_norm_eps", "-1");
  for (const char* key : {"vocab_size", "hidden_size", "head_dim", "linear_key_head_dim"}) {
    expect_error(ErrorKind::kFormat, {key, "is missing"},
                 [&] { parse(without(golden_config(), key)); });
  }
  expect_error(ErrorKind::kFormat, {"expected a JSON object"}, [] { parse(json("[]")); });
}

TEST(TextConfig, ABiasHasATensor) {
  const TextConfig config = parse(with(golden_config(), "attention_bias", json("true")));
  const std::vector<TensorSpec> specs = tensors(config);
  EXPECT_EQ(std::count_if(specs.begin(), specs.end(),
                          [](const TensorSpec& spec) { return spec.name.ends_with(".bias"); }),
            2 * 4);
}

TEST(TextConfig, OneNameUnderTwoPrefixesIsRefused) {
  Checkpoint checkpoint;
  checkpoint.path = "folder";
  checkpoint.tensors["model.norm.weight"] = {};
  checkpoint.tensors["norm.weight"] = {};
  expect_error(ErrorKind::kFormat, {"folder", "norm.weight", "two prefixes"},
               [&] { without_prefixes(checkpoint); });
}

}  // namespace
}  // namespace pantograph::qwen35_text
