#include "models/pan2/synthetic.h"

#include <array>
#include <string>
#include <utility>

#include "core/temporary_file.h"
#include "models/pan2_dit/synthetic.h"
#include "models/qwen35_text/synthetic.h"
#include "models/qwen35_text/synthetic_tokenizer.h"
#include "models/qwen35_text/tokenizer_json.h"
#include "models/wan_vae/config.h"
#include "models/wan_vae/synthetic.h"

namespace pantograph::pan2 {
namespace {

Json text(const char* value) {
  return Json(std::string(value));
}

Json component(const char* name, const char* library, const char* type) {
  const Json hint(Json::Array{text(library), text(type)});
  const Json source(Json::Object{{"subfolder", text(name)}, {"type_hint", hint}});
  return Json(Json::Array{text(library), text(type), source});
}

Json model_index() {
  Json::Object index{{"_class_name", text("PAN2ModularPipeline")}};
  for (const auto& [name, library, type] : std::array<std::array<const char*, 3>, 5>{
           {{"scheduler", "diffusers", "FlowMatchEulerDiscreteScheduler"},
            {"text_encoder", "transformers", "Qwen3_5TextModel"},
            {"tokenizer", "transformers", "Qwen2Tokenizer"},
            {"transformer", "diffusers", "PAN2Transformer3DModel"},
            {"vae", "diffusers", "AutoencoderKLWan"}}}) {
    index.emplace_back(name, component(name, library, type));
  }
  return Json(std::move(index));
}

Json scheduler_config() {
  return Json(Json::Object{{"_class_name", text("FlowMatchEulerDiscreteScheduler")},
                           {"num_train_timesteps", Json(std::int64_t{1000})},
                           {"shift", Json(9.0)}});
}

}  // namespace

void make_checkpoint(const std::filesystem::path& folder, Size size,
                     const SyntheticOptions& options) {
  const bool tiny = size == Size::kTiny;
  const std::int32_t ids =
      qwen35_text::parse_tokenizer(qwen35_text::synthetic_tokenizer_json(), "tokenizer").vocabulary;
  const qwen35_text::TextConfig text_config =
      tiny ? qwen35_text::tiny_config(ids) : qwen35_text::released_config();
  const std::array<std::pair<const char*, SyntheticCheckpoint>, 3> models = {
      {{"transformer",
        pan2_dit::synthetic_checkpoint(tiny ? pan2_dit::tiny_config(text_config.hidden)
                                            : pan2_dit::released_config())},
       {"text_encoder", qwen35_text::synthetic_checkpoint(text_config)},
       {"vae", wan_vae::synthetic_checkpoint(tiny ? wan_vae::tiny_config()
                                                  : wan_vae::released_config())}}};
  std::int64_t bytes = 0;
  for (const auto& [name, model] : models) bytes += weight_bytes(model, options.dtype);
  prepare_folder(folder, bytes);

  TemporaryOutput output(folder);
  for (const auto& [name, model] : models) {
    write_synthetic_checkpoint(output.path() / name, model, options);
  }
  qwen35_text::make_tokenizer(output.path() / "tokenizer");
  prepare_folder(output.path() / "scheduler", 0);
  write_json(output.path() / "scheduler" / "scheduler_config.json", scheduler_config());
  write_json(output.path() / "modular_model_index.json", model_index());
  output.commit();
}

}  // namespace pantograph::pan2
