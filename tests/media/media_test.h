// What the media tests share: made-up videos, FFmpeg's programs, a disk that is full.
#pragma once

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "pantograph/video_writer.h"
#include "support/expect_error.h"
#include "support/temp_dir.h"

namespace pantograph::test {

// A video [frames, H, W, 3] whose values are value(frame, y, x, channel).
inline std::vector<float> make_video(
    const VideoShape& shape,
    const std::function<double(std::int64_t, std::int64_t, std::int64_t, int)>& value) {
  std::vector<float> video;
  for (std::int64_t t = 0; t < shape.frames; ++t) {
    for (std::int64_t y = 0; y < shape.height; ++y) {
      for (std::int64_t x = 0; x < shape.width; ++x) {
        for (int c = 0; c < 3; ++c) video.push_back(static_cast<float>(value(t, y, x, c)));
      }
    }
  }
  return video;
}

inline TensorView view_of(std::vector<float>& video, const VideoShape& shape) {
  return TensorView::dense(video.data(), DType::kF32, {shape.frames, shape.height, shape.width, 3});
}

inline void write_video(const std::filesystem::path& output, std::vector<float> video,
                        const VideoShape& shape, const VideoOptions& options = {}) {
  const auto writer = open_video_writer(output, shape, options);
  // In passes, as a decode gives them: the first frame, then the others.
  const TensorView frames = view_of(video, shape);
  writer->write(frames.slice(0, 0, 1));
  if (shape.frames > 1) writer->write(frames.slice(0, 1, shape.frames - 1));
  writer->finish();
}

// Standard output of a shell command that must succeed.
inline std::string output_of(const std::string& command) {
  std::FILE* pipe = ::popen(command.c_str(), "r");
  EXPECT_NE(pipe, nullptr);
  std::string output;
  std::array<char, 65536> part{};
  while (const std::size_t count = std::fread(part.data(), 1, part.size(), pipe)) {
    output.append(part.data(), count);
  }
  EXPECT_EQ(::pclose(pipe), 0) << command;
  return output;
}

// What FFmpeg decodes a file, or a pattern of files, to: rgb24 [frames, H, W, 3].
inline std::string decode_rgb24(const std::filesystem::path& input,
                                const std::string& options = {}) {
  return output_of(FFMPEG_PROGRAM " -v error -i '" + input.string() + "' " + options +
                   " -f rawvideo -pix_fmt rgb24 -");
}

inline void make_read_only(const std::filesystem::path& folder) {
  using std::filesystem::perms;
  std::filesystem::permissions(folder, perms::owner_read | perms::owner_exec | perms::others_exec);
}

// While one lives, no file grows past `bytes`: a write fails as it does on a full disk.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    previous_handler_ = std::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &previous_);
    const rlimit limit{bytes, previous_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &previous_);
    std::signal(SIGXFSZ, previous_handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit previous_{};
  void (*previous_handler_)(int) = nullptr;
};

}  // namespace pantograph::test
