#include "weights/lora.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string_view>

#include "checkpoint/json.h"
#include "checkpoint/safetensors.h"
#include "core/check.h"
#include "core/convert.h"
#include "core/text.h"

namespace pantograph {
namespace {

struct Module {
  std::optional<TensorView> a, b, alpha;
};
using Modules = std::map<std::string, Module>;

constexpr std::array<std::string_view, 3> kPrefixes = {"base_model.model.", "transformer.",
                                                       "diffusion_model."};
constexpr std::array<std::pair<std::string_view, std::optional<TensorView> Module::*>, 9>
    kSuffixes = {{{".lora_A.weight", &Module::a},
                  {".lora_A.default.weight", &Module::a},
                  {".lora_down.weight", &Module::a},
                  {".lora.down.weight", &Module::a},
                  {".lora_B.weight", &Module::b},
                  {".lora_B.default.weight", &Module::b},
                  {".lora_up.weight", &Module::b},
                  {".lora.up.weight", &Module::b},
                  {".alpha", &Module::alpha}}};

std::string without_prefixes(std::string_view name) {
  for (const std::string_view prefix : kPrefixes) {
    if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
  }
  return std::string(name);
}

Modules find_modules(const SafetensorsFile& file) {
  Modules modules;
  for (const auto& [name, entry] : file.header().tensors) {
    const auto* const known =
        std::find_if(kSuffixes.begin(), kSuffixes.end(),
                     [&](const auto& suffix) { return name.ends_with(suffix.first); });
    if (known == kSuffixes.end()) {
      fail(ErrorKind::kUnsupported, file.path().string(), ": the tensor ", Json(name).dump(),
           " is no part of a plain LoRA (lora_A and lora_B, or lora_down and lora_up, and alpha)");
    }
    const std::string module =
        without_prefixes(std::string_view(name).substr(0, name.size() - known->first.size()));
    std::optional<TensorView>& part = modules[module].*(known->second);
    if (part.has_value()) {
      fail(ErrorKind::kFormat, file.path().string(), ": the module ", module,
           " stands there twice");
    }
    part = file.view(name);
  }
  return modules;
}

std::string summary(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kShown); ++i) {
    text += (i == 0 ? "" : ", ") + names[i];
  }
  return names.size() <= kShown ? text : join(text, " and ", names.size() - kShown, " more");
}

void require_fit(const Modules& modules, const SafetensorsFile& file,
                 const Checkpoint& checkpoint) {
  std::vector<std::string> missing;
  for (const auto& [name, module] : modules) {
    if (!checkpoint.tensors.contains(name + ".weight")) missing.push_back(name);
  }
  if (missing.empty()) return;
  fail(ErrorKind::kFormat, file.path().string(), ": ",
       missing.size() == modules.size() ? "the adapter fits nothing in "
                                        : "the adapter fits only a part of ",
       checkpoint.path.string(), "; it wants ", summary(missing));
}

// What diffusers writes beside the tensors of a peft adapter: {"transformer.lora_alpha": 32, ...}.
std::optional<double> alpha_of_metadata(const SafetensorsFile& file) {
  const auto& metadata = file.header().metadata;
  const auto found = metadata.find("lora_adapter_metadata");
  if (found == metadata.end()) return std::nullopt;
  const Json json = parse_json(found->second, file.path().string() + ": lora_adapter_metadata");
  if (json.object() == nullptr) return std::nullopt;
  std::optional<double> alpha;
  for (const auto& [key, value] : *json.object()) {
    const bool pattern = key.ends_with("alpha_pattern") && value.object() != nullptr;
    const bool flag = (key.ends_with("use_dora") || key.ends_with("use_rslora")) &&
                      value.boolean() != nullptr && *value.boolean();
    if ((pattern && !value.object()->empty()) || flag) {
      fail(ErrorKind::kUnsupported, file.path().string(), ": its metadata sets ", key,
           ", which this version does not merge");
    }
    double number = 0;
    if (key.ends_with("lora_alpha") && value.number(number)) alpha = number;
  }
  return alpha;
}

std::vector<float> values_of(const TensorView& view) {
  std::vector<float> values(static_cast<std::size_t>(view.elements()));
  convert_to_f32(view.dtype, view.data, values.data(), view.elements());
  return values;
}

}  // namespace

LoraUpdates read_lora(const LoraFile& lora, const Checkpoint& checkpoint) {
  if (!std::isfinite(lora.scale)) {
    fail(ErrorKind::kInvalidArgument, lora.path.string(), ": the scale of an adapter must be a ",
         "finite number");
  }
  const SafetensorsFile file = SafetensorsFile::open(lora.path);
  const Modules modules = find_modules(file);
  if (modules.empty()) fail(ErrorKind::kFormat, lora.path.string(), ": the adapter is empty");
  require_fit(modules, file, checkpoint);
  const std::optional<double> common_alpha = alpha_of_metadata(file);

  LoraUpdates updates;
  for (const auto& [name, module] : modules) {
    const auto refuse = [&, module_name = name](const auto&... parts) {
      fail(ErrorKind::kFormat, lora.path.string(), ": ", module_name, ": ", parts...);
    };
    if (!module.a || !module.b) refuse("only one of lora_A and lora_B is there");
    const TensorView& weight = checkpoint.tensors.at(name + ".weight").view;
    const std::int64_t rank = module.a->rank > 0 ? module.a->shape[0] : 0;
    const std::int64_t out = weight.shape[0];
    if (rank < 1 || module.b->rank < 2 || module.b->shape[0] != out ||
        module.b->elements() != out * rank ||
        module.a->elements() / rank != weight.elements() / out ||
        module.a->elements() % rank != 0) {
      refuse("lora_A ", shape_text(module.a->sizes()), " and lora_B ",
             shape_text(module.b->sizes()), " do not fit the weight ", shape_text(weight.sizes()));
    }
    double alpha = common_alpha.value_or(static_cast<double>(rank));
    if (module.alpha) {
      if (module.alpha->elements() != 1) refuse("alpha is not one number");
      alpha = values_of(*module.alpha)[0];
    }
    updates[name + ".weight"] = std::make_shared<LowRankUpdate>(
        LowRankUpdate{.rank = rank,
                      .scale = lora.scale * alpha / static_cast<double>(rank),
                      .a = values_of(*module.a),
                      .b = values_of(*module.b)});
  }
  return updates;
}

}  // namespace pantograph
