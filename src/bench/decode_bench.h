// How fast, how large and how right a decode is: the program behind `pantograph bench decode`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "checkpoint/json.h"
#include "pantograph/vae.h"

namespace pantograph::bench {

struct DecodeBench {
  // f1, f5, f17, f121, f241, f481: frames of 704 x 1248; or FRAMESxHEIGHTxWIDTH of the video.
  std::vector<std::string> workloads = {"f121"};
  Device device{.kind = DeviceKind::kCuda};
  int threads = 0;       // of a CPU; 0: one a core
  int gpus = 1;          // that share one decode
  int runs = 3;          // timed, after one that warms up
  bool check = false;    // against an f32 decode in the same process
  bool kernels = false;  // table of GPU time by kernel
  // 1: latent frames are pushed one at a time, as a stream is decoded.
  std::int64_t frames_per_pass = 0;
  std::size_t memory_limit = 0;
  Algorithm algorithm = Algorithm::kAuto;  // of the decode in bf16
  // Where not empty, decodes into this video file are timed too, and its encoder alone; see
  // open_video_writer.
  std::filesystem::path output = {};
};

// `say` gets lines for a person while it goes on. Throws Error; kInternal where two runs differ or
// a value is not finite.
Json run(const DecodeBench& options, const std::function<void(const std::string&)>& say);
// The same where options.device is the CPU, which decodes in f32: there is nothing to check with.
Json run_on_cpu(const DecodeBench& options, const std::function<void(const std::string&)>& say);

// Operations of the direct algorithm: two for each weight and output position of every convolution,
// and the attention's two products.
double decode_flops(const VaeConfig& config, std::int64_t latent_frames, std::int64_t height,
                    std::int64_t width);

}  // namespace pantograph::bench
