// How long a decode into a video file takes, and how long the file's encoder alone.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "checkpoint/json.h"
#include "pantograph/video_writer.h"

namespace pantograph::bench {

// Seconds from opening the writer until the file is finished.
struct FileTimes {
  std::vector<double> decode;   // the clip decoded into the writer
  std::vector<double> encoder;  // the same frames written from memory, in the writer's format
};

// By turns, after a decode that warms up. `output` as open_video_writer takes it; each video
// replaces the one before, or follows it on standard output.
FileTimes time_file(const std::filesystem::path& output, const VideoShape& shape, int runs,
                    const std::function<void(FrameSink&)>& decode);

// Adds file_seconds and encoder_seconds to a workload's results, with their ratios to the decode
// alone, and to its line.
void add_file(const FileTimes& times, double decode_seconds, Json::Object& result,
              std::string& line);

}  // namespace pantograph::bench
