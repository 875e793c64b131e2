#include "pipeline/model_folder.h"

#include <string>
#include <system_error>

#include "checkpoint/json.h"
#include "checkpoint/mapped_file.h"
#include "core/check.h"

namespace pantograph {
namespace {

namespace fs = std::filesystem;

constexpr const char* kExpected =
    "expected the folder of a PAN 2 checkpoint, with modular_model_index.json and the folders "
    "transformer, text_encoder, tokenizer, vae and scheduler";

fs::path find_index(const fs::path& folder) {
  std::error_code error;
  for (const char* name : {"modular_model_index.json", "model_index.json"}) {
    if (fs::exists(folder / name, error)) return folder / name;
    if (error) {
      fail(ErrorKind::kIo, folder.string(), ": cannot be looked into: ", error.message());
    }
  }
  fail(ErrorKind::kNotFound, folder.string(),
       fs::is_directory(folder, error) ? ": no modular_model_index.json or model_index.json; "
                                       : ": no such folder; ",
       kExpected);
}

// PAN2ModularPipeline, or the name of a classic pipeline of it.
void require_pan2(const fs::path& index) {
  const MappedFile file(index);
  const auto* const text = reinterpret_cast<const char*>(file.bytes().data());
  const Json json = parse_json({text, file.bytes().size()}, index.string());
  const Json* name = json.find("_class_name");
  if (name == nullptr || name->string() == nullptr) {
    fail(ErrorKind::kFormat, index.string(),
         ": no \"_class_name\"; expected \"PAN2ModularPipeline\"");
  }
  if (!name->string()->starts_with("PAN2")) {
    fail(ErrorKind::kUnsupported, index.string(), ": this is a ", name->dump(),
         ", expected a \"PAN2ModularPipeline\"");
  }
}

}  // namespace

ModelFolder open_model_folder(const fs::path& folder) {
  require_pan2(find_index(folder));
  std::string missing;
  const auto component = [&](const char* name) {
    std::error_code error;
    if (!fs::is_directory(folder / name, error))
      missing += (missing.empty() ? "" : ", ") + std::string(name);
    return folder / name;
  };
  ModelFolder found{.transformer = component("transformer"),
                    .text_encoder = component("text_encoder"),
                    .tokenizer = component("tokenizer"),
                    .vae = component("vae"),
                    .scheduler = component("scheduler")};
  if (!missing.empty()) {
    fail(ErrorKind::kNotFound, folder.string(), ": without the component folders ", missing, "; ",
         kExpected);
  }
  return found;
}

}  // namespace pantograph
