// What is said of requests and checkpoints that cannot be, before anything is computed.
#include "program.h"

namespace pantograph::test {
namespace {

class GenerateBadInputTest : public CliTest {
 protected:
  // A copy of the golden checkpoint with `from` replaced by `to` in one component's file.
  std::filesystem::path model_with(const std::string& component, const std::string& file,
                                   const std::string& from, const std::string& to) {
    const auto model = folder_ / "model";
    std::filesystem::remove_all(model);
    std::filesystem::create_directory(model);
    const auto whole = golden("pan2_video");
    std::filesystem::copy(whole / "modular_model_index.json", model);
    for (const char* name : {"transformer", "text_encoder", "tokenizer", "vae", "scheduler"}) {
      if (name == component) {
        std::filesystem::copy(std::filesystem::canonical(whole / name), model / name);
      } else {
        std::filesystem::create_directory_symlink(whole / name, model / name);
      }
    }
    const auto changed = model / component / file;
    std::string text = read_file(changed);
    const std::size_t found = text.find(from);
    EXPECT_NE(found, std::string::npos) << from;
    text.replace(found, from.size(), to);
    std::filesystem::remove(changed);
    write_file(changed, text);
    return model;
  }

  Arguments request(const Arguments& more = {},
                    const std::filesystem::path& model = golden("pan2_video")) {
    return Arguments{"generate", "--model", model.string(), "--prompt", "fox", "-o", output_} +
           more;
  }
  void expect_usage(const Arguments& more, const std::vector<std::string>& parts) {
    expect_refused(request(more), kUsage, parts);
  }
  // A checkpoint that is refused.
  void expect_broken(const std::filesystem::path& model, const std::vector<std::string>& parts) {
    expect_refused(request({}, model), kFailed, parts);
  }

  const std::filesystem::path output_ = folder_ / "video.mp4";
};

TEST_F(GenerateBadInputTest, SizesOffTheGridWithTheNearest) {
  expect_usage({"--frames", "314"}, {"frames is 314", "the nearest are 313 and 317"});
  expect_usage({"--frames", "2"}, {"1 more than a multiple of 4", "the nearest are 1 and 5"});
  expect_usage({"--frames", "0"}, {"frames is 0", "the nearest is 1"});
  expect_usage({"--height", "700"}, {"height is 700", "a multiple of 32", "are 672 and 704"});
  expect_usage({"--frames", "-9223372036854775808"}, {"the nearest is 1"});
  expect_usage({"--width", "-16"}, {"width is -16", "the nearest is 32"});
  expect_usage({"--width", "16400"}, {"width is 16400", "at most 16384"});
  expect_usage({"--frames", "9223372036854775807"}, {"at most 1048576"});
  expect_usage({"--frames", "9223372036854775808"}, {"is not a whole number"});
  expect_usage({"--height", "tall"}, {"'tall' is not a whole number"});
}

TEST_F(GenerateBadInputTest, StepsSigmasAndGuidance) {
  expect_usage({"--steps", "0"}, {"steps is 0", "expected 1 to"});
  expect_usage({"--steps", "-4"}, {"steps is -4"});
  expect_usage({"--sigmas", "1,0.5,0.75"}, {"sigma 3 of the list is 0.75", "must fall"});
  expect_usage({"--sigmas", "1,0.5,0.5"}, {"sigma 3"});
  expect_usage({"--sigmas", "1.5,0.5"}, {"sigma 1 of the list is 1.5"});
  expect_usage({"--sigmas", "1,0"}, {"sigma 2", "stay above 0"});
  expect_usage({"--sigmas", "nan"}, {"sigma 1"});
  expect_usage({"--sigmas", "1,x"}, {"--sigmas"});
  expect_usage({"--sigmas", "1", "--steps", "4"}, {"--steps", "--sigmas"});
  expect_usage({"--shift", "0"}, {"shift is 0", "positive"});
  expect_usage({"--guidance", "-1"}, {"guidance is -1", "expected 0 or more"});
  expect_usage({"--guidance", "nan"}, {"guidance is nan"});
  expect_usage({"--guidance", "inf"}, {"guidance is inf"});
  expect_usage({"--guidance", "much"}, {"'much' is not a number"});
  expect_usage({"--sampler", "heun"}, {"'heun'", "euler|renoise"});
  expect_usage({"--seed", "-1"}, {"--seed", "-1"});
}

TEST_F(GenerateBadInputTest, ImagesThatCannotBeRead) {
  const auto image = [&](const std::filesystem::path& file) {
    return request({"--image", file, "--frames", "1", "--height", "32", "--width", "32"});
  };
  expect_refused(image(folder_ / "none.png"), kFailed, {"none.png", "no such file"});
  write_file(folder_ / "text.png", "no picture");
  expect_refused(image(folder_ / "text.png"), kFailed, {"text.png"});
  // The header says 2^30 pixels a line: refused before they are decoded.
  std::string bytes = read_file(golden("first_frame/same.png"));
  bytes[16] = 0x40;
  write_file(folder_ / "bomb.png", bytes);
  expect_refused(image(folder_ / "bomb.png"), kFailed, {"bomb.png"});
}

TEST_F(GenerateBadInputTest, OutputsAreLookedAtBeforeTheFirstStep) {
  const auto refused = [&](const std::filesystem::path& output, int code,
                           const std::vector<std::string>& parts) {
    expect_refused({"generate", "--model", golden("pan2_video"), "--prompt", "fox", "-o", output},
                   code, parts);
  };
  refused(folder_ / "video.avi", kUsage, {"video.avi", "NAME.mp4"});
  refused(folder_ / "none/video.mp4", kFailed, {"none", "create it first"});
  refused(golden("pan2_video") / "text_encoder/config.json", kUsage, {"is an input"});
  expect_usage({"--save-latents", folder_ / "z.npy"}, {"NAME.safetensors", "z.npy"});
  expect_refused(request({"--save-latents", folder_ / "none/z.safetensors"}), kFailed,
                 {"none", "create it first"});
  expect_refused({"generate", "--model", golden("pan2_video"), "--prompt", "fox", "-o",
                  folder_ / "z.safetensors", "--save-latents", folder_ / "./z.safetensors"},
                 kUsage, {"video and latents would both be written to"});
  expect_usage({"--contact-sheet", folder_ / "sheet.jpg"}, {"sheet.jpg", "PNG"});
  expect_usage({"--codec", "ffv1"}, {"ffv1 does not go into a .mp4"});
  expect_refused({"generate", "--model", golden("pan2_video"), "--prompt", "fox"}, kUsage,
                 {"--output is required"});
}

TEST_F(GenerateBadInputTest, CommandsThatSayNothingSensible) {
  expect_refused({"generate", "--model", golden("pan2_video"), "-o", output_}, kUsage,
                 {"--prompt or --prompts is needed"});
  expect_refused({"generate", "--prompt", "fox", "-o", output_}, kUsage, {"--model is required"});
  expect_usage({"--prompts", "prompts.txt"}, {"--prompt"});
  expect_usage({"--device", "tpu"}, {"'tpu' is no device"});
  expect_usage({"--threads", "0"}, {"--threads: '0'"});
  expect_usage({"--algorithm", "best"}, {"'best'", "auto|fast|general"});
  expect_refused(request({"--algorithm", "fast"}), kFailed,
                 {"no fast convolution", "on the CPU", "auto or general"});
  expect_refused(request({"--negative-prompt", "@" + (folder_ / "none.txt").string()}), kFailed,
                 {"none.txt", "no such file"});
  expect_refused(request({"--max-memory", "0.000001"}), kFailed, {"allowed"});
}

TEST_F(GenerateBadInputTest, AdaptersThatFitNothing) {
  expect_refused(request({"--lora", folder_ / "none.safetensors"}), kFailed,
                 {"none.safetensors", "no such file"});
  expect_refused(request({"--lora", golden("tiny/clips/t1_1x1.safetensors")}), kFailed,
                 {"t1_1x1.safetensors"});
  expect_usage({"--lora", golden("pan2_dit/tiny/lora.safetensors").string() + ":nan"},
               {"finite number"});
}

TEST_F(GenerateBadInputTest, LinesOfAPromptsFileAreNamed) {
  const auto lines = folder_ / "prompts.txt";
  const auto refused = [&](const std::string& text, int code, const std::vector<std::string>& parts,
                           const std::string& output = "{}.mp4") {
    write_file(lines, text);
    expect_refused(
        {"generate", "--model", golden("pan2_video"), "--prompts", lines, "-o", folder_ / output},
        code, parts);
  };
  refused("fox\n{\"prompt\": \"wolf\", \"frames\": 7}\n", kUsage,
          {"prompts.txt: line 2: frames is 7", "5 and 9"});
  refused("{\"promt\": \"wolf\"}", kFailed, {"line 1", "\"promt\" is no setting", "prompt"});
  refused("\n\n{\"prompt\": \"wolf\"", kFailed, {"prompts.txt: line 3"});
  refused("\n \t\n", kFailed, {"prompts.txt: no prompt in it"});
  refused("fox\nwolf\n", kUsage, {"line 2 and ", "line 1 would both be written to", "{}.mp4"},
          "one.mp4");
}

TEST_F(GenerateBadInputTest, FoldersThatAreNoCheckpoint) {
  expect_broken(folder_ / "none", {"none", "no such folder"});
  expect_broken(golden("tiny"), {"no modular_model_index.json or model_index.json"});
  std::filesystem::path model =
      model_with("scheduler", "scheduler_config.json", "FlowMatchEulerDiscrete", "UniPCMultistep");
  expect_broken(model, {"scheduler_config.json", "UniPCMultistepScheduler"});
  std::filesystem::remove_all(model / "scheduler");
  std::filesystem::remove(model / "vae");
  expect_broken(model, {"without the component folders vae, scheduler"});
}

TEST_F(GenerateBadInputTest, ConfigsThatDisagreeWithWeights) {
  const char* weights = "config.json";
  expect_broken(model_with("transformer", weights, R"("num_layers": 3)", R"("num_layers": 4)"),
                {"transformer_blocks.3.", "missing"});
  expect_broken(model_with("transformer", weights, R"("num_attention_heads": 3)",
                           R"("num_attention_heads": 2)"),
                {"x_embedder"});
  expect_broken(model_with("text_encoder", weights, R"("intermediate_size": 16)",
                           R"("intermediate_size": 24)"),
                {"mlp.", "[16, 40]"});
}

TEST_F(GenerateBadInputTest, HeadsAxesLayersAndRotationsOfAnotherModel) {
  expect_broken(model_with("transformer", "config.json", "    14", "    12"),
                {"\"rope_axes_dim\"", "adds up to 30", "32"});
  expect_broken(
      model_with("transformer", "config.json", "PAN2Transformer3DModel", "WanTransformer3DModel"),
      {"WanTransformer3DModel"});
  const auto text = [&](const std::string& from, const std::string& to) {
    return model_with("text_encoder", "config.json", from, to);
  };
  expect_broken(text(R"("num_key_value_heads": 2)", R"("num_key_value_heads": 3)"),
                {"\"num_attention_heads\" 4 is no multiple of \"num_key_value_heads\" 3"});
  expect_broken(text(R"("rope_type": "default")", R"("rope_type": "yarn")"),
                {"rope_type \"yarn\" is not supported"});
  expect_broken(text(R"("linear_attention")", R"("sliding_attention")"),
                {"the layer type \"sliding_attention\""});
  expect_broken(text(R"("model_type": "qwen3_5_text")", R"("model_type": "umt5")"), {"\"umt5\""});
}

TEST_F(GenerateBadInputTest, ComponentsThatBelongToDifferentModels) {
  const auto model = model_with("scheduler", "scheduler_config.json", "1000", "1000");
  const auto swap = [&](const char* component, const std::string& other) {
    std::filesystem::remove(model / component);
    std::filesystem::create_directory_symlink(golden(other), model / component);
  };
  swap("transformer", "pan2_dit/odd");
  expect_broken(model, {"text_encoder gives 40 channels", "transformer takes ",
                        "they belong to different models"});
  swap("text_encoder", "qwen35_text");
  expect_broken(model, {"tokenizer has 706 tokens", "text_encoder knows 120"});
}

TEST_F(GenerateBadInputTest, AnImageForAVaeWithoutEncoder) {
  const auto model = model_with("scheduler", "scheduler_config.json", "1000", "1000");
  std::filesystem::remove(model / "vae");
  std::filesystem::create_directory_symlink(golden("tiny"), model / "vae");
  expect_refused(request({"--image", golden("first_frame/same.png")}, model), kFailed,
                 {"no usable encoder"});
}

TEST_F(GenerateBadInputTest, APromptWhoseHeaderTheTokenizerSwallows) {
  // Two line breaks become one token, and the template keeps those at the prompt's beginning.
  const auto model = model_with("tokenizer", "tokenizer.json", R"("Ĥà¸":699)", R"("ĊĊ":699)");
  const auto edit = [&](const char* file, const std::string& from, const std::string& to) {
    std::string text = read_file(model / "tokenizer" / file);
    for (std::size_t at; (at = text.find(from)) != std::string::npos;) {
      text.replace(at, from.size(), to);
    }
    write_file(model / "tokenizer" / file, text);
  };
  edit("tokenizer.json", R"(["Ĥ","à¸"])", R"(["Ċ","Ċ"])");
  edit("tokenizer_config.json", "|trim", "");
  expect_refused({"generate", "--model", model, "--prompt", "\nfox", "-o", output_, "--frames", "1",
                  "--height", "32", "--width", "32"},
                 kFailed, {"<|im_start|>user", "begins with a line break"});
}

}  // namespace
}  // namespace pantograph::test
