#include "models/pan2_dit/config.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>

#include "models/pan2_dit/dit.h"
#include "models/pan2_dit/synthetic.h"
#include "support/expect_error.h"
#include "support/temp_dir.h"

namespace pantograph::pan2_dit {
namespace {

using test::expect_error;
using test::TempDir;

// The released config with one key set to a JSON text, or left out.
Json with(const std::string& key, const std::string& value) {
  Json::Object members;
  const Json released = config_to_json(released_config());
  for (const auto& [name, old] : *released.object()) {
    if (name != key) members.emplace_back(name, old);
  }
  if (!value.empty()) members.emplace_back(key, parse_json(value, "test"));
  return Json(members);
}

void expect_refused(ErrorKind kind, const std::string& key, const std::string& value,
                    std::initializer_list<std::string_view> parts) {
  SCOPED_TRACE(key + " = " + value);
  expect_error(kind, parts, [&] { (void)parse_config(with(key, value), "c.json"); });
}

TEST(DitConfig, WhatIsWrittenIsRead) {
  const Config config = parse_config(config_to_json(released_config()), "c.json");
  EXPECT_EQ(config_to_json(config).dump(), config_to_json(released_config()).dump());
  EXPECT_EQ(config.hidden(), 4096);
  EXPECT_EQ(config.inner(config.mlp_ratio), 32768);
}

TEST(DitConfig, TheReleasedModelHas29BillionParameters) {
  std::int64_t parameters = 0;
  for (const TensorSpec& spec : tensors(released_config())) {
    std::int64_t count = 1;
    for (const std::int64_t size : spec.shape) count *= size;
    parameters += count;
  }
  EXPECT_NEAR(static_cast<double>(parameters), 29.20e9, 0.01e9);
}

TEST(DitConfig, MissingAndMistypedKeysAreNamed) {
  const Json whole = config_to_json(released_config());
  for (const auto& [key, value] : *whole.object()) {
    if (key == "_class_name") continue;
    expect_refused(ErrorKind::kFormat, key, "", {"c.json", key, "missing"});
    expect_refused(ErrorKind::kFormat, key, "\"x\"", {"c.json", key});
    expect_refused(ErrorKind::kFormat, key, "-1", {"c.json", key});
  }
  expect_refused(ErrorKind::kFormat, "num_layers", "0", {"1 to"});
  expect_refused(ErrorKind::kFormat, "num_layers", "4.5", {"whole number"});
  expect_refused(ErrorKind::kFormat, "patch_size", "[1, 2]", {"list of 3"});
}

TEST(DitConfig, HeadsAndAxesThatDoNotDivideAreRefused) {
  expect_refused(ErrorKind::kFormat, "rope_axes_dim", "[16, 56, 54]",
                 {"[16, 56, 54]", "126", "128"});
  expect_refused(ErrorKind::kFormat, "rope_axes_dim", "[15, 57, 56]", {"even"});
  expect_refused(ErrorKind::kFormat, "attention_head_dim", "127", {"127", "even"});
  expect_refused(ErrorKind::kFormat, "in_channels", "96", {"96", "97"});
}

TEST(DitConfig, OtherModelsAndUnknownKeysAreUnsupported) {
  expect_refused(ErrorKind::kUnsupported, "_class_name", "\"WanTransformer3DModel\"",
                 {"WanTransformer3DModel", "PAN2Transformer3DModel"});
  expect_refused(ErrorKind::kUnsupported, "qk_norm", "true", {"qk_norm", "not known"});
  expect_error(ErrorKind::kFormat, {"object"},
               [] { (void)parse_config(parse_json("[]", "c.json"), "c.json"); });
}

TEST(DitConfig, NamesAreUniqueAndBiasesAreWhereTheLayoutHasThem) {
  std::set<std::string> names;
  for (const TensorSpec& spec : tensors(released_config())) {
    EXPECT_TRUE(names.insert(spec.name).second) << spec.name;
    EXPECT_FALSE(spec.name.starts_with("context_refiner.") && spec.name.ends_with(".bias"));
  }
  for (const char* name :
       {"x_embedder.bias", "transformer_blocks.43.attn.to_add_out.bias",
        "transformer_blocks.0.ff_context.net.0.proj.bias", "norm_out.linear.bias", "proj_out.bias",
        "context_refiner.3.ff.net.2.weight", "transformer_blocks.7.scale_shift_table_context"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
}

TEST(DitConfig, WeightsThatDisagreeWithItAreListed) {
  const TempDir dir;
  Config config = tiny_config(8);
  config.layers = 1;
  config.refiner_layers = 1;
  make_checkpoint(dir.path(), config, 1, DType::kBF16);
  config.layers = 2;  // more than there is
  config.mlp_ratio = 6;
  test::write_file(dir / "config.json", config_to_json(config).dump());
  expect_error(ErrorKind::kFormat,
               {"weights and config.json disagree", "transformer_blocks.0.ff.net.0.proj.weight",
                "[1024, 128]", "[768, 128]", "transformer_blocks.1.", "missing", "more"},
               [&] { (void)Dit::open(dir.path()); });
  config = tiny_config(8);
  config.layers = 1;
  config.refiner_layers = 0;  // fewer
  test::write_file(dir / "config.json", config_to_json(config).dump());
  expect_error(ErrorKind::kFormat, {"context_refiner.0.", "not expected"},
               [&] { (void)Dit::open(dir.path()); });
}

}  // namespace
}  // namespace pantograph::pan2_dit
