#include "pipeline/generate_request.h"

#include "checkpoint/mapped_file.h"

namespace pantograph {
namespace {

// Without the line break that editors leave at the end.
std::string text_of(const std::filesystem::path& path) {
  const MappedFile file(path);
  std::string text(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
  while (text.ends_with('\n') || text.ends_with('\r')) text.pop_back();
  return text;
}

}  // namespace

GenerateRequest make_request(const GenerateSettings& settings) {
  const Preset& preset = settings.image.empty() ? kPan2T2v : kPan2I2v;
  GenerateRequest request{.preset = preset.name,
                          .place = settings.place,
                          .prompt = settings.prompt,
                          .negative_prompt = settings.negative_prompt.starts_with('@')
                                                 ? text_of(settings.negative_prompt.substr(1))
                                                 : settings.negative_prompt,
                          .image = settings.image,
                          .frames = settings.frames.value_or(preset.frames),
                          .height = settings.height.value_or(preset.height),
                          .width = settings.width.value_or(preset.width),
                          .schedule = {.steps = settings.steps.value_or(preset.steps),
                                       .sigmas = settings.sigmas,
                                       .shift = settings.shift},
                          .guidance = settings.guidance.value_or(preset.guidance),
                          .seed = settings.seed,
                          .sampler = settings.sampler,
                          .output = settings.output,
                          .save_latents = settings.save_latents,
                          .video = settings.video};
  request.video.frames_per_second = settings.frames_per_second.value_or(preset.frames_per_second);
  return request;
}

}  // namespace pantograph
