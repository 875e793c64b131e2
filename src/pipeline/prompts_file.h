// A file of requests: one line each.
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

#include "pipeline/generate_request.h"

namespace pantograph {

// A line is a prompt or, where it begins with "{", a JSON object of settings; blank lines are left
// out. What a line does not say is as in `common`, whose output and files beside it name a folder
// (NNNN.mp4 by the line's number) or hold {} in the place of NNNN. Throws Error that names the
// line: kFormat, and kInvalidArgument where outputs cannot be told apart.
std::vector<GenerateSettings> read_prompts(const std::filesystem::path& file,
                                           const GenerateSettings& common);

}  // namespace pantograph
