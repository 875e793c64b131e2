// Which files of latents a decode reads, and under which name it writes the video of each.
#pragma once

#include <filesystem>
#include <vector>

namespace pantograph {

// The files that the command names: a file, "-", a folder (its files of latents, by name) or a
// pattern with *, ? or [...] where no file of that very name exists.
// Throws Error(kNotFound) where a folder or pattern has none.
std::vector<std::filesystem::path> find_latents(const std::vector<std::filesystem::path>& named);

// The output of each of `found`, the files that find_latents found for `named`: `output` itself
// where one file was named. Else, even where a folder or pattern held but one, it is a folder, in
// which each becomes STEM.mp4, or a name that holds {} in the place of STEM.
// Throws Error(kInvalidArgument) where `output` is neither, or two files would share a name.
std::vector<std::filesystem::path> name_outputs(const std::filesystem::path& output,
                                                const std::vector<std::filesystem::path>& named,
                                                const std::vector<std::filesystem::path>& found);

// Throws Error(kInvalidArgument) where writing `output` would overwrite one of `inputs`, or a file
// in one that is a folder, by whatever name: links of both kinds are followed.
void refuse_overwriting(const std::filesystem::path& output,
                        const std::vector<std::filesystem::path>& inputs);

}  // namespace pantograph
