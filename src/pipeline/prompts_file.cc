#include "pipeline/prompts_file.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <system_error>

#include "checkpoint/config_reader.h"
#include "checkpoint/mapped_file.h"

namespace pantograph {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPlace = "{}";
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

std::string text(const ConfigReader& read, std::string_view key) {
  const Json* value = read.find(key);
  if (value == nullptr || value->string() == nullptr) {
    read.refuse(ErrorKind::kFormat, "\"", key, "\" must be a text");
  }
  return *value->string();
}

std::vector<double> numbers(const ConfigReader& read, std::string_view key) {
  const Json* value = read.find(key);
  std::vector<double> result;
  if (value != nullptr && value->array() != nullptr) {
    for (const Json& element : *value->array()) {
      double number = 0;
      if (!element.number(number)) break;
      result.push_back(number);
    }
    if (!result.empty() && result.size() == value->array()->size()) return result;
  }
  read.refuse(ErrorKind::kFormat, "\"", key, "\" must be a list of numbers");
}

Sampler sampler(const ConfigReader& read, std::string_view key) {
  const std::string name = text(read, key);
  if (name == "euler") return Sampler::kEuler;
  if (name == "renoise") return Sampler::kRenoise;
  read.refuse(ErrorKind::kFormat, "\"", key, "\" is \"", name, "\"; expected euler or renoise");
}

using Read = void (*)(const ConfigReader& read, std::string_view key, GenerateSettings& settings);

// Ranges are left to those who check requests, wherever they come from.
const std::map<std::string_view, Read> kSettings = {
    {"prompt", [](auto& read, auto key, auto& to) { to.prompt = text(read, key); }},
    {"negative_prompt",
     [](auto& read, auto key, auto& to) { to.negative_prompt = text(read, key); }},
    {"image", [](auto& read, auto key, auto& to) { to.image = text(read, key); }},
    {"frames",
     [](auto& read, auto key, auto& to) { to.frames = read.integer(key, -kMost, kMost); }},
    {"height",
     [](auto& read, auto key, auto& to) { to.height = read.integer(key, -kMost, kMost); }},
    {"width", [](auto& read, auto key, auto& to) { to.width = read.integer(key, -kMost, kMost); }},
    {"fps", [](auto& read, auto key,
               auto& to) { to.frames_per_second = static_cast<int>(read.integer(key, 1, 1000)); }},
    // In the place of the command line's sigmas.
    {"steps",
     [](auto& read, auto key, auto& to) {
       if (read.find("sigmas") != nullptr) {
         read.refuse(ErrorKind::kFormat, "\"steps\" and \"sigmas\" exclude each other");
       }
       to.steps = read.integer(key, -kMost, kMost);
       to.sigmas.clear();
     }},
    {"sigmas", [](auto& read, auto key, auto& to) { to.sigmas = numbers(read, key); }},
    {"shift", [](auto& read, auto key, auto& to) { to.shift = read.number(key); }},
    {"guidance", [](auto& read, auto key, auto& to) { to.guidance = read.number(key); }},
    {"seed", [](auto& read, auto key,
                auto& to) { to.seed = static_cast<std::uint64_t>(read.integer(key, 0, kMost)); }},
    {"sampler", [](auto& read, auto key, auto& to) { to.sampler = sampler(read, key); }},
    {"output", [](auto& read, auto key, auto& to) { to.output = text(read, key); }},
    {"save_latents", [](auto& read, auto key, auto& to) { to.save_latents = text(read, key); }},
};

void apply(const Json& json, GenerateSettings& settings) {
  const ConfigReader read(json, settings.place);
  for (const auto& [key, value] : *json.object()) {
    const auto known = kSettings.find(key);
    if (known == kSettings.end()) {
      std::string names;
      for (const auto& [name, unused] : kSettings) {
        names += (names.empty() ? "" : ", ") + std::string(name);
      }
      read.refuse(ErrorKind::kFormat, "\"", key, "\" is no setting; there are ", names);
    }
    known->second(read, known->first, settings);
  }
}

// `name` with NNNN, the line's number, where it has {} or is a folder.
fs::path numbered(const fs::path& name, std::size_t line, const char* ending) {
  std::string number = std::to_string(line);
  number.insert(0, number.size() < 4 ? 4 - number.size() : 0, '0');
  std::string pattern = name.string();
  if (const std::size_t place = pattern.find(kPlace); place != std::string::npos) {
    return pattern.replace(place, kPlace.size(), number);
  }
  std::error_code error;
  if (!name.has_filename() || fs::is_directory(name, error)) return name / (number + ending);
  return name;
}

void require_different(const std::vector<GenerateSettings>& requests) {
  std::map<fs::path, std::string> taken;
  for (const GenerateSettings& request : requests) {
    for (const fs::path& file :
         {request.output, request.save_latents, request.video.contact_sheet}) {
      const auto [first, added] = taken.emplace(file.lexically_normal(), request.place);
      if (!added && !file.empty()) {
        fail(ErrorKind::kInvalidArgument, request.place, " and ", first->second,
             " would both be written to ", file.string(),
             "; name a folder that exists, a pattern "
             "such as clips/{}.mp4, or an \"output\" in each line");
      }
    }
  }
}

}  // namespace

std::vector<GenerateSettings> read_prompts(const fs::path& path, const GenerateSettings& common) {
  const MappedFile file(path);
  std::string_view rest(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
  std::vector<GenerateSettings> requests;
  for (std::size_t line = 1; !rest.empty(); ++line) {
    std::string_view words = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), words.size() + 1));
    if (words.ends_with('\r')) words.remove_suffix(1);
    if (words.find_first_not_of(" \t") == std::string_view::npos) continue;
    GenerateSettings request = common;
    request.place = join(path.string(), ": line ", line);
    request.output = numbered(common.output, line, ".mp4");
    if (!common.save_latents.empty()) {
      request.save_latents = numbered(common.save_latents, line, ".safetensors");
    }
    if (!common.video.contact_sheet.empty()) {
      request.video.contact_sheet = numbered(common.video.contact_sheet, line, ".png");
    }
    if (words.starts_with('{')) {
      apply(parse_json(words, request.place), request);
    } else {
      request.prompt = words;
    }
    requests.push_back(std::move(request));
  }
  if (requests.empty()) fail(ErrorKind::kFormat, path.string(), ": no prompt in it");
  require_different(requests);
  return requests;
}

}  // namespace pantograph
