// The clips under tests/golden: latents and the video that diffusers decodes them to.
#pragma once

#include <filesystem>
#include <ostream>
#include <string>
#include <vector>

#include "checkpoint/safetensors.h"
#include "pantograph/frame_sink.h"
#include "pantograph/vae.h"

namespace pantograph::test {

inline std::filesystem::path golden(const std::string& name) {
  return std::filesystem::path(PANTOGRAPH_GOLDEN_DIR) / name;
}

// Keeps every frame, in the order [F, H, W, 3].
class CollectingSink final : public FrameSink {
 public:
  void write(const TensorView& frames) override {
    const auto* values = static_cast<const float*>(frames.data);
    pixels.insert(pixels.end(), values, values + frames.elements());
    frame_count += frames.shape[0];
    height = frames.shape[1];
    width = frames.shape[2];
    ++writes;
  }
  std::vector<float> pixels;
  std::int64_t frame_count = 0, height = 0, width = 0;
  int writes = 0;
};

// The largest difference between collected frames and a video [3, F, H, W].
inline double largest_difference(const CollectingSink& sink, const TensorView& video) {
  if (video.rank != 4 || video.shape[0] != 3 || video.shape[1] != sink.frame_count ||
      video.shape[2] != sink.height || video.shape[3] != sink.width) {
    return 1e9;
  }
  const std::int64_t plane = sink.height * sink.width;
  const auto* expected = static_cast<const float*>(video.data);
  double largest = 0;
  for (std::int64_t k = 0; k < 3; ++k) {
    for (std::int64_t i = 0; i < sink.frame_count * plane; ++i) {
      const double difference = std::abs(double{sink.pixels[static_cast<std::size_t>(i * 3 + k)]} -
                                         double{expected[k * sink.frame_count * plane + i]});
      if (!(difference <= largest)) largest = difference;  // NaN too
    }
  }
  return largest;
}

// A clip, of one or several videos, and the checkpoint that decodes it.
struct Clip {
  std::string checkpoint, folder, name;
  double bf16_tolerance = 0.08;
};
inline void PrintTo(const Clip& clip, std::ostream* out) {
  *out << clip.checkpoint << "/" << clip.name;
}

// Calls `check(latents, video)` for each video of a clip.
template <typename Check>
void for_each_video(const Clip& clip, const Check& check) {
  const SafetensorsFile file =
      SafetensorsFile::open(golden(clip.folder) / "clips" / (clip.name + ".safetensors"));
  const TensorView latents = file.view("latents"), video = file.view("video");
  const auto item = [](const TensorView& batch, std::int64_t index) {
    const TensorView one = batch.slice(0, index, 1);
    return TensorView::dense(one.data, one.dtype, one.sizes().subspan(1));
  };
  if (latents.rank == 4) return check(latents, video);
  for (std::int64_t i = 0; i < latents.shape[0]; ++i) check(item(latents, i), item(video, i));
}

}  // namespace pantograph::test
