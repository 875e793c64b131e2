#include "models/wan_vae/config.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "checkpoint/safetensors.h"
#include "support/expect_error.h"
#include "support/golden_clip.h"
#include "support/temp_dir.h"

namespace pantograph::wan_vae {
namespace {

using test::expect_error;
using test::golden;
using test::TempDir;
using test::write_file;

Json::Object released() {
  return *config_to_json(released_config()).object();
}

Json without(const std::string& key) {
  Json::Object object = released();
  std::erase_if(object, [&](const Json::Member& member) { return member.first == key; });
  return Json(std::move(object));
}

Json with(const std::string& key, const std::string& value) {
  Json::Object object = *without(key).object();
  object.emplace_back(key, parse_json(value, "value"));
  return Json(std::move(object));
}

void expect_refused(const Json& json, ErrorKind kind,
                    std::initializer_list<std::string_view> parts) {
  expect_error(kind, parts, [&] { return parse_config(json, "vae/config.json"); });
}

TEST(Config, TheReleasedOneIsReadAsWritten) {
  const VaeConfig config = parse_config(Json(released()), "config.json");
  EXPECT_EQ(config.latent_channels, 48);
  EXPECT_EQ(config.decoder_base_channels, 256);
  EXPECT_EQ(config.channel_multipliers, (std::vector<std::int64_t>{1, 2, 4, 4}));
  EXPECT_EQ(config.residual_blocks, 2);
  EXPECT_EQ(config.temporal_downsample, (std::vector<bool>{false, true, true}));
  EXPECT_EQ(config.patch_size, 2);
  EXPECT_EQ(config.latents_mean, released_config().latents_mean);
  EXPECT_EQ(config.latents_std, released_config().latents_std);
  EXPECT_EQ(config.spatial_factor(), 16);
  EXPECT_EQ(config.temporal_factor(), 4);
  EXPECT_EQ(config.video_frames(0), 0);
  EXPECT_EQ(config.video_frames(1), 1);
  EXPECT_EQ(config.video_frames(21), 81);
}

TEST(Config, DiffusersOwnFilesAreRead) {
  for (const char* name : {"tiny", "odd", "odd_bf16"}) {
    EXPECT_EQ(Vae::open(golden(name)).config().latent_channels, 48) << name;
  }
}

TEST(Config, HarmlessKeysMayBeAbsentOrPresent) {
  for (const char* key : {"_class_name", "attn_scales", "base_dim", "dropout", "in_channels",
                          "scale_factor_spatial", "scale_factor_temporal"}) {
    EXPECT_EQ(parse_config(without(key), "config.json").latent_channels, 48) << key;
  }
  for (const char* key : {"_diffusers_version", "_name_or_path"}) {
    EXPECT_EQ(parse_config(with(key, "\"x\""), "config.json").latent_channels, 48) << key;
  }
  EXPECT_EQ(parse_config(with("clip_output", "false"), "config.json").latent_channels, 48);
}

constexpr const char* kKeys[] = {"z_dim",          "decoder_base_dim",    "dim_mult",
                                 "num_res_blocks", "temperal_downsample", "out_channels",
                                 "patch_size",     "latents_mean",        "latents_std"};

TEST(Config, EachKeyThatMattersIsMissedByName) {
  for (const char* key : kKeys) {
    expect_refused(without(key), ErrorKind::kFormat, {"vae/config.json", key, "missing"});
    expect_refused(with(key, "null"), ErrorKind::kFormat, {key, "missing"});
  }
}

TEST(Config, EachKeyOfAnotherTypeIsNamed) {
  for (const char* key : kKeys) {
    for (const char* value : {"\"text\"", "true", "{}"}) {
      expect_refused(with(key, value), ErrorKind::kFormat, {key});
    }
  }
  for (const char* key : {"dim_mult", "temperal_downsample", "latents_mean", "latents_std"}) {
    expect_refused(with(key, "[\"x\"]"), ErrorKind::kFormat, {key});
    expect_refused(with(key, "3"), ErrorKind::kFormat, {key, "a list"});
  }
  expect_refused(with("temperal_downsample", "[0, 1, 1]"), ErrorKind::kFormat, {"true or false"});
  expect_refused(with("clip_output", "1"), ErrorKind::kFormat, {"clip_output"});
}

TEST(Config, SizesOutOfRangeAreRefused) {
  for (const char* key :
       {"z_dim", "decoder_base_dim", "num_res_blocks", "patch_size", "out_channels"}) {
    for (const char* value : {"0", "-3", "2.5", "1000000000000"}) {
      expect_refused(with(key, value), ErrorKind::kFormat, {key, value});
    }
  }
  expect_refused(with("dim_mult", "[1, 2, 0, 4]"), ErrorKind::kFormat, {"dim_mult"});
  expect_refused(with("dim_mult", "[1, 2, 4, 1000000]"), ErrorKind::kFormat, {"dim_mult"});
}

TEST(Config, ListsThatContradictEachOtherAreRefused) {
  expect_refused(with("dim_mult", "[]"), ErrorKind::kFormat, {"dim_mult"});
  expect_refused(with("dim_mult", "[1,1,1,1,1,1,1,1,1]"), ErrorKind::kFormat, {"dim_mult"});
  expect_refused(with("dim_mult", "[1, 2, 4]"), ErrorKind::kFormat,
                 {"temperal_downsample", "one value fewer"});
  expect_refused(with("temperal_downsample", "[true]"), ErrorKind::kFormat,
                 {"temperal_downsample"});
  expect_refused(with("latents_mean", "[0.5]"), ErrorKind::kFormat, {"latents_mean", "48"});
  expect_refused(with("latents_std", "[]"), ErrorKind::kFormat, {"latents_std", "48"});
  expect_refused(with("z_dim", "32"), ErrorKind::kFormat, {"latents_mean", "32"});
  expect_refused(with("out_channels", "3"), ErrorKind::kFormat, {"out_channels", "12"});
  expect_refused(with("scale_factor_spatial", "8"), ErrorKind::kFormat,
                 {"scale_factor_spatial", "8", "16"});
  expect_refused(with("scale_factor_temporal", "8"), ErrorKind::kFormat,
                 {"scale_factor_temporal", "4"});
  expect_refused(with("dim_mult", "[1, 2, 4, 3]"), ErrorKind::kFormat, {"dim_mult", "no shortcut"});
}

TEST(Config, LatentScalesThatAreNoneAreRefused) {
  const auto list = [](const std::string& first) {
    std::string text = "[" + first;
    for (int i = 1; i < 48; ++i) text += ", 1";
    return text + "]";
  };
  expect_refused(with("latents_std", list("0")), ErrorKind::kFormat, {"latents_std"});
  expect_refused(with("latents_std", list("-0.5")), ErrorKind::kFormat, {"latents_std"});
  expect_refused(with("latents_std", list("1e300")), ErrorKind::kFormat, {"latents_std"});
  expect_refused(with("latents_mean", list("-1e300")), ErrorKind::kFormat, {"latents_mean"});
}

TEST(Config, UnknownKeysAndOtherModelsAreRefusedByName) {
  expect_refused(with("spatial_attention", "true"), ErrorKind::kUnsupported,
                 {"spatial_attention", "not known"});
  expect_refused(with("attn_scales", "[0.5]"), ErrorKind::kUnsupported, {"attn_scales"});
  expect_refused(with("_class_name", "\"AutoencoderKL\""), ErrorKind::kUnsupported,
                 {"AutoencoderKL", "Wan2.2"});
  expect_refused(parse_json("[1]", "x"), ErrorKind::kFormat, {"JSON object"});
}

// As the config.json of Wan2.1's VAE reads.
TEST(Config, TheVaeOfWan21IsRefusedByName) {
  const Json wan21 = parse_json(
      R"({"_class_name": "AutoencoderKLWan", "attn_scales": [], "base_dim": 96,
          "dim_mult": [1, 2, 4, 4], "dropout": 0.0, "latents_mean": [0.1], "latents_std": [1.1],
          "num_res_blocks": 2, "temperal_downsample": [false, true, true], "z_dim": 16})",
      "config");
  expect_refused(wan21, ErrorKind::kUnsupported, {"Wan2.1 VAE", "16 latent channels", "Wan2.2"});
  expect_refused(with("is_residual", "false"), ErrorKind::kUnsupported, {"is_residual"});
}

std::int64_t elements(const TensorSpec& spec) {
  std::int64_t count = 1;
  for (const std::int64_t size : spec.shape) count *= size;
  return count;
}

// The numbers of the release.
TEST(DecoderTensors, OfTheReleaseAre110With555051580Parameters) {
  const std::vector<TensorSpec> tensors = decoder_tensors(released_config());
  EXPECT_EQ(tensors.size(), 110U);
  std::int64_t parameters = 0;
  std::map<std::string, std::vector<std::int64_t>> shapes;
  for (const TensorSpec& tensor : tensors) {
    parameters += elements(tensor);
    EXPECT_TRUE(shapes.emplace(tensor.name, tensor.shape).second) << tensor.name;
  }
  EXPECT_EQ(parameters, 555051580);

  using Shape = std::vector<std::int64_t>;
  const auto shape = [&](const std::string& name) { return shapes["decoder." + name]; };
  EXPECT_EQ(shapes["post_quant_conv.weight"], (Shape{48, 48, 1, 1, 1}));
  EXPECT_EQ(shape("conv_in.weight"), (Shape{1024, 48, 3, 3, 3}));
  EXPECT_EQ(shape("conv_in.bias"), (Shape{1024}));
  EXPECT_EQ(shape("mid_block.resnets.1.norm2.gamma"), (Shape{1024, 1, 1, 1}));
  EXPECT_EQ(shape("mid_block.attentions.0.norm.gamma"), (Shape{1024, 1, 1}));
  EXPECT_EQ(shape("mid_block.attentions.0.to_qkv.weight"), (Shape{3072, 1024, 1, 1}));
  EXPECT_EQ(shape("mid_block.attentions.0.proj.bias"), (Shape{1024}));
  EXPECT_EQ(shape("up_blocks.0.upsampler.time_conv.weight"), (Shape{2048, 1024, 3, 1, 1}));
  EXPECT_EQ(shape("up_blocks.1.upsampler.resample.1.weight"), (Shape{1024, 1024, 3, 3}));
  EXPECT_EQ(shape("up_blocks.2.resnets.0.conv_shortcut.weight"), (Shape{512, 1024, 1, 1, 1}));
  EXPECT_EQ(shape("up_blocks.2.upsampler.resample.1.bias"), (Shape{512}));
  EXPECT_EQ(shape("up_blocks.3.resnets.0.conv1.weight"), (Shape{256, 512, 3, 3, 3}));
  EXPECT_EQ(shape("up_blocks.3.resnets.2.conv2.bias"), (Shape{256}));
  EXPECT_EQ(shape("norm_out.gamma"), (Shape{256, 1, 1, 1}));
  EXPECT_EQ(shape("conv_out.weight"), (Shape{12, 256, 3, 3, 3}));
  for (const char* absent :
       {"up_blocks.2.upsampler.time_conv.weight", "up_blocks.3.upsampler.resample.1.weight",
        "up_blocks.0.resnets.0.conv_shortcut.weight", "up_blocks.0.resnets.3.conv1.weight"}) {
    EXPECT_FALSE(shapes.contains(std::string("decoder.") + absent)) << absent;
  }
}

TEST(DecoderTensors, AreTheOnesDiffusersSaved) {
  for (const char* name : {"tiny", "odd"}) {
    const SafetensorsFile file =
        SafetensorsFile::open(golden(name) / "diffusion_pytorch_model.safetensors");
    std::map<std::string, std::vector<std::int64_t>> saved, expected;
    for (const auto& [tensor, entry] : file.header().tensors) {
      if (!tensor.starts_with("encoder.") && !tensor.starts_with("quant_conv.")) {
        saved[tensor] = entry.shape;
      }
    }
    for (const TensorSpec& tensor : decoder_tensors(Vae::open(golden(name)).config())) {
      expected[tensor.name] = tensor.shape;
    }
    EXPECT_EQ(saved, expected) << name;
  }
}

// A checkpoint of golden "odd" in `folder`, with one change.
void write_changed(const TempDir& folder,
                   const std::function<void(std::map<std::string, NamedTensor>&)>& change) {
  std::filesystem::copy_file(golden("odd/config.json"), folder / "config.json",
                             std::filesystem::copy_options::overwrite_existing);
  const Checkpoint odd = open_checkpoint(golden("odd"));
  std::map<std::string, NamedTensor> tensors;
  for (const auto& [name, tensor] : odd.tensors) {
    const auto sizes = tensor.view.sizes();
    tensors[name] = {name, DType::kF32, {sizes.begin(), sizes.end()}};
  }
  change(tensors);
  std::vector<NamedTensor> list;
  for (const auto& [name, tensor] : tensors) list.push_back(tensor);
  SafetensorsWriter writer(folder / "diffusion_pytorch_model.safetensors", list);
  for (const NamedTensor& tensor : list) {
    const std::vector<std::byte> zeros(static_cast<std::size_t>(
        elements({tensor.name, tensor.shape}) * static_cast<std::int64_t>(size_of(tensor.dtype))));
    writer.append(zeros.data(), zeros.size());
  }
  writer.finish();
}

TEST(CheckTensors, EveryProblemIsListed) {
  const TempDir folder;
  write_changed(folder, [](auto& tensors) {
    tensors.erase("decoder.conv_in.bias");
    tensors.erase("post_quant_conv.weight");
    tensors["decoder.conv_out.bias"].shape = {13};
    tensors["decoder.norm_out.gamma"].dtype = DType::kI32;
    tensors["decoder.extra"] = {"decoder.extra", DType::kF32, {1}};
    tensors["model.head"] = {"model.head", DType::kF32, {1}};
  });
  expect_error(ErrorKind::kFormat,
               {"6 tensors do not fit the config", "decoder.conv_in.bias is missing",
                "post_quant_conv.weight is missing",
                "decoder.conv_out.bias has the shape [13], expected [12]",
                "decoder.norm_out.gamma is i32, expected f32, bf16 or f16",
                "\"decoder.extra\" is not expected", "\"model.head\" is not expected"},
               [&] { return Vae::open(folder.path()); });
}

TEST(CheckTensors, OneProblemIsSingular) {
  const TempDir folder;
  write_changed(folder, [](auto& tensors) { tensors.erase("decoder.conv_in.bias"); });
  expect_error(ErrorKind::kFormat, {"1 tensor does not fit", "decoder.conv_in.bias is missing"},
               [&] { return Vae::open(folder.path()); });
}

TEST(CheckTensors, ANameOfSeveralLinesStaysInOne) {
  const TempDir folder;
  write_changed(folder, [](auto& tensors) { tensors["a\nb"] = {"a\nb", DType::kF32, {1}}; });
  expect_error(ErrorKind::kFormat, {"a\\nb", "is not expected"},
               [&] { return Vae::open(folder.path()); });
}

TEST(CheckTensors, TheEncoderMayBeThereInPartOrNotAtAll) {
  const TempDir folder;
  write_changed(folder, [](auto& tensors) {
    std::erase_if(tensors, [](const auto& t) { return t.first.starts_with("encoder.d"); });
  });
  EXPECT_EQ(Vae::open(folder.path()).parameters(), Vae::open(golden("odd")).parameters());
  EXPECT_EQ(Vae::open(golden("odd_sharded")).parameters(), Vae::open(golden("odd")).parameters());
}

}  // namespace
}  // namespace pantograph::wan_vae
