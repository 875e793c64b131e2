#include "pipeline/clip_files.h"

#include <glob.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <string_view>
#include <system_error>

#include "core/check.h"
#include "pipeline/latents_file.h"

namespace pantograph {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 5> kEndings = {".safetensors", ".latent", ".npy", ".pt",
                                                      ".pth"};
constexpr std::string_view kPlace = "{}";

std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string ending = entry->path().extension().string();
    const bool known = std::find(kEndings.begin(), kEndings.end(), ending) != kEndings.end();
    if (known && !fs::is_directory(entry->path())) files.push_back(entry->path());
  }
  if (error) {
    fail(ErrorKind::kIo, folder.string(), ": the folder cannot be listed: ", error.message());
  }
  if (files.empty()) {
    fail(ErrorKind::kNotFound, folder.string(),
         ": no latents in the folder (.safetensors, .latent, .npy, .pt or .pth)");
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<fs::path> matches_of(const fs::path& pattern) {
  glob_t found{};
  const int result = ::glob(pattern.c_str(), 0, nullptr, &found);
  std::vector<fs::path> files(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  if (result != 0) fail(ErrorKind::kNotFound, pattern.string(), ": no file has such a name");
  return files;
}

std::string stem_of(const fs::path& latents) {
  return latents == kStandardInput ? "stdin" : latents.stem().string();
}

}  // namespace

std::vector<fs::path> find_latents(const std::vector<fs::path>& named) {
  std::vector<fs::path> files;
  const auto add = [&files](const std::vector<fs::path>& more) {
    files.insert(files.end(), more.begin(), more.end());
  };
  for (const fs::path& name : named) {
    std::error_code error;
    if (fs::is_directory(name, error)) {
      add(files_in(name));
    } else if (!fs::exists(name, error) &&
               name.string().find_first_of("*?[") != std::string::npos) {
      add(matches_of(name));
    } else {
      files.push_back(name);
    }
  }
  return files;
}

std::vector<fs::path> name_outputs(const fs::path& output, const std::vector<fs::path>& named,
                                   const std::vector<fs::path>& found) {
  const std::string pattern = output.string();
  const std::size_t place = pattern.find(kPlace);
  const bool one = found.size() == 1 && found == named;
  if (one && place == std::string::npos) return {output};
  std::error_code error;
  const bool folder = !output.has_filename() || fs::is_directory(output, error);
  if (!folder && place == std::string::npos) {
    fail(ErrorKind::kInvalidArgument, pattern, ": several files of latents (here ", found.size(),
         ") need as many outputs: name a folder that exists, or a pattern such as ",
         "clips/{}.mp4");
  }
  std::vector<fs::path> outputs;
  std::map<fs::path, fs::path> taken;
  for (const fs::path& file : found) {
    fs::path name = output / (stem_of(file) + ".mp4");
    if (place != std::string::npos) {
      name = std::string(pattern).replace(place, kPlace.size(), stem_of(file));
    }
    const auto [first, added] = taken.emplace(name, file);
    if (!added) {
      fail(ErrorKind::kInvalidArgument, first->second.string(), " and ", file.string(),
           " would both be written to ", name.string(), "; decode them one after the other");
    }
    outputs.push_back(name);
  }
  return outputs;
}

void refuse_overwriting(const fs::path& output, const std::vector<fs::path>& inputs) {
  std::error_code ignored;
  const auto require_other = [&](const fs::path& input) {
    if (fs::equivalent(output, input, ignored)) {
      fail(ErrorKind::kInvalidArgument, output.string(), " is an input (", input.string(),
           "); choose another output");
    }
  };
  for (const fs::path& input : inputs) {
    require_other(input);
    if (!fs::is_directory(input, ignored)) continue;
    std::error_code error;
    for (fs::recursive_directory_iterator entry(input, error), end; !error && entry != end;
         entry.increment(error)) {
      require_other(entry->path());
    }
  }
}

}  // namespace pantograph
