#include "bench/file_times.h"

#include "bench/seconds.h"
#include "core/check.h"
#include "core/stopwatch.h"

namespace pantograph::bench {
namespace {

// Keeps what goes to a writer, to write it again.
class Recording final : public FrameSink {
 public:
  explicit Recording(FrameSink& writer) : writer_(writer) {}

  [[nodiscard]] FrameFormat preferred_format() const override { return writer_.preferred_format(); }
  void write(const TensorView& frames) override {
    const auto* bytes = static_cast<const std::byte*>(frames.data);
    parts_.push_back({frames, {bytes, bytes + frames.bytes()}});
    writer_.write(frames);
  }
  void replay(FrameSink& writer) {
    for (Part& part : parts_) {
      part.frames.data = part.bytes.data();
      writer.write(part.frames);
    }
  }

 private:
  struct Part {
    TensorView frames;
    std::vector<std::byte> bytes;
  };
  FrameSink& writer_;
  std::vector<Part> parts_;
};

}  // namespace

FileTimes time_file(const std::filesystem::path& output, const VideoShape& shape, int runs,
                    const std::function<void(FrameSink&)>& decode) {
  const auto timed = [&](const std::function<void(FrameSink&)>& write) {
    const Clock::time_point begin = Clock::now();
    const auto writer = open_video_writer(output, shape);
    write(*writer);
    writer->finish();
    return seconds_since(begin);
  };
  const auto first = open_video_writer(output, shape);
  Recording recording(*first);
  decode(recording);
  first->finish();

  FileTimes times;
  for (int run = 0; run < runs; ++run) {
    times.decode.push_back(timed(decode));
    times.encoder.push_back(timed([&](FrameSink& writer) { recording.replay(writer); }));
  }
  return times;
}

void add_file(const FileTimes& times, double decode_seconds, Json::Object& result,
              std::string& line) {
  if (times.decode.empty()) return;
  add_seconds(result, "file_seconds", times.decode);
  add_seconds(result, "encoder_seconds", times.encoder);
  const Spread file = spread_of(times.decode), encoder = spread_of(times.encoder);
  const double of_file = file.median / decode_seconds, of_encoder = encoder.median / decode_seconds;
  result.insert(result.end(),
                {{"file_over_decode", Json(of_file)}, {"encoder_over_decode", Json(of_encoder)}});
  line += join(", to the file ", describe(file), ", ", of_file, " x, its encoder alone ",
               describe(encoder), ", ", of_encoder, " x");
}

}  // namespace pantograph::bench
