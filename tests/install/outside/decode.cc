// A program that knows nothing but the installed library: decodes latents to a tensor file.
#include <pantograph/error.h>
#include <pantograph/vae.h>
#include <pantograph/version.h>
#include <pantograph/video_writer.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

// Passes frames on and counts them.
class CountingSink final : public pantograph::FrameSink {
 public:
  explicit CountingSink(pantograph::FrameSink& next) : next_(next) {}
  void write(const pantograph::TensorView& frames) override {
    count += frames.shape[0];
    next_.write(frames);
  }
  std::int64_t count = 0;

 private:
  pantograph::FrameSink& next_;
};

void expect(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "not so: %s\n", what);
  std::exit(1);
}

void decode(const char* checkpoint, const char* output) {
  const pantograph::Vae vae = pantograph::Vae::open(checkpoint);
  std::vector<float> values(48 * 2 * 1 * 2, 0.25F);
  const auto latents =
      pantograph::TensorView::dense(values.data(), pantograph::DType::kF32, {48, 2, 1, 2});
  const auto writer = pantograph::open_video_writer(
      output, {.frames = vae.config().video_frames(2), .height = 16, .width = 32});
  CountingSink counting(*writer);
  std::int64_t reported = 0;
  vae.decode(latents, counting, {.scale = pantograph::LatentScale::kNormalized},
             [&](const pantograph::Progress& progress) { reported = progress.frames_done; });
  writer->finish();
  expect(counting.count == 5, "two latent frames are five video frames");
  expect(reported == 5, "the progress says so");
}

// Exceptions keep their type across the library's border.
void expect_not_found() {
  try {
    pantograph::Vae::open("no such folder");
  } catch (const pantograph::Error& error) {
    expect(error.kind() == pantograph::ErrorKind::kNotFound, "a missing folder is kNotFound");
    return;
  }
  expect(false, "a missing folder is an error");
}

}  // namespace

int main(int argc, char** argv) {
  expect(argc == 3, "usage: decode CHECKPOINT OUTPUT");
  expect_not_found();
  decode(argv[1], argv[2]);
  std::printf("decoded by pantograph %s\n", pantograph::kVersion);
}
