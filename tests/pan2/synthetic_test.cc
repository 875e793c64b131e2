#include "models/pan2/synthetic.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "checkpoint/mapped_file.h"
#include "models/pan2_dit/dit.h"
#include "models/qwen35_text/chat_template.h"
#include "models/qwen35_text/config.h"
#include "models/qwen35_text/prompt.h"
#include "models/qwen35_text/text_tower.h"
#include "models/qwen35_text/tokenizer.h"
#include "pantograph/vae.h"
#include "support/expect_error.h"
#include "support/temp_dir.h"

namespace pantograph::pan2 {
namespace {

using test::expect_error;
using test::read_file;
using test::TempDir;
namespace fs = std::filesystem;

// Name, below `folder`, and bytes of every file.
std::map<std::string, std::string> files(const fs::path& folder) {
  std::map<std::string, std::string> all;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) {
      all[fs::relative(entry.path(), folder).string()] = read_file(entry.path());
    }
  }
  return all;
}

Json json(const fs::path& file) {
  return parse_json(read_file(file), file.string());
}

TEST(SyntheticPan2, HasTheReleasesFilesAndClassNames) {
  const TempDir dir;
  make_checkpoint(dir / "model", Size::kTiny, {.dtype = DType::kBF16});
  std::vector<std::string> names;
  for (const auto& [name, bytes] : files(dir / "model")) names.push_back(name);
  EXPECT_EQ(names, (std::vector<std::string>{
                       "modular_model_index.json",
                       "scheduler/scheduler_config.json",
                       "text_encoder/config.json",
                       "text_encoder/model.safetensors",
                       "tokenizer/tokenizer.json",
                       "tokenizer/tokenizer_config.json",
                       "transformer/config.json",
                       "transformer/diffusion_pytorch_model.safetensors",
                       "vae/config.json",
                       "vae/diffusion_pytorch_model.safetensors",
                   }));
  EXPECT_EQ(*json(dir / "model/modular_model_index.json").find("_class_name")->string(),
            "PAN2ModularPipeline");
  EXPECT_EQ(*json(dir / "model/scheduler/scheduler_config.json").find("_class_name")->string(),
            "FlowMatchEulerDiscreteScheduler");
}

TEST(SyntheticPan2, ItsPartsOpenAndFitEachOther) {
  const TempDir dir;
  make_checkpoint(dir / "model", Size::kTiny, {.dtype = DType::kBF16});
  const auto tokenizer = qwen35_text::Tokenizer::open(dir / "model/tokenizer");
  const auto chat = qwen35_text::ChatTemplate::open(dir / "model/tokenizer");
  const auto tower = qwen35_text::TextTower::open(dir / "model/text_encoder");
  EXPECT_EQ(tower.config().vocabulary, tokenizer.vocabulary());
  EXPECT_GE(tower.config().layers.size(), 8U);
  EXPECT_EQ(std::ranges::count(tower.config().layers, qwen35_text::LayerKind::kFullAttention), 2);

  const auto tokens = qwen35_text::tokenize_prompt(tokenizer, chat, "A red fox.");
  const auto states = tower.encode(tokens.ids, tokens.user_begin);
  const auto dit = pan2_dit::Dit::open(dir / "model/transformer");
  EXPECT_EQ(dit->config().text_channels, states.hidden);

  const Vae vae = Vae::open(dir / "model/vae");
  EXPECT_NO_THROW(static_cast<void>(vae.encode_session(32, 32)));
  EXPECT_EQ(vae.config().latent_channels, dit->config().out_channels);
}

TEST(SyntheticPan2, TheSameSeedGivesTheSameBytes) {
  const TempDir dir;
  make_checkpoint(dir / "a", Size::kTiny, {.seed = 3, .dtype = DType::kF16});
  make_checkpoint(dir / "b", Size::kTiny, {.seed = 3, .dtype = DType::kF16});
  make_checkpoint(dir / "c", Size::kTiny, {.seed = 4, .dtype = DType::kF16});
  const auto a = files(dir / "a"), b = files(dir / "b"), c = files(dir / "c");
  EXPECT_TRUE(a == b);
  for (const auto& [name, bytes] : a) {
    EXPECT_EQ(bytes != c.at(name), name.ends_with(".safetensors")) << name;
  }
}

TEST(SyntheticPan2, NothingIsOverwritten) {
  const TempDir dir;
  make_checkpoint(dir / "model", Size::kTiny, {});
  const auto before = files(dir / "model");
  expect_error(ErrorKind::kInvalidArgument, {(dir / "model").string(), "holds something already"},
               [&] { make_checkpoint(dir / "model", Size::kTiny, {.seed = 1}); });
  EXPECT_TRUE(files(dir / "model") == before);
  test::write_file(dir / "file", "");
  expect_error(ErrorKind::kIo, {(dir / "file").string()},
               [&] { make_checkpoint(dir / "file", Size::kTiny, {}); });
}

TEST(SyntheticPan2, CancelledItLeavesNothing) {
  const TempDir dir;
  const SyntheticOptions options;
  options.cancel.cancel();
  expect_error(ErrorKind::kCancelled, {"cancelled"},
               [&] { make_checkpoint(dir / "model", Size::kTiny, options); });
  EXPECT_TRUE(fs::is_empty(dir / "model"));
  EXPECT_EQ(dir.entries(), 1);
}

TEST(PreparedFolder, MustHaveRoomForTheWeights) {
  const TempDir dir;
  expect_error(ErrorKind::kIo, {(dir / "model").string(), "4294967296.0 GiB", "the disk has only"},
               [&] { prepare_folder(dir / "model", std::int64_t{1} << 62); });
  EXPECT_NO_THROW(prepare_folder(dir / "model", 1));
  EXPECT_NO_THROW(prepare_folder(dir / "parent/model", 1));
}

}  // namespace
}  // namespace pantograph::pan2
