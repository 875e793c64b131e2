#include "progress_line.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace pantograph::cli {
namespace {

std::string duration_text(double seconds) {
  const auto whole = static_cast<long>(std::ceil(std::max(0.0, seconds)));
  if (whole < 60) return std::to_string(whole) + " s";
  if (whole < 3600) return std::to_string(whole / 60) + " min " + std::to_string(whole % 60) + " s";
  return std::to_string(whole / 3600) + " h " + std::to_string(whole % 3600 / 60) + " min";
}

// "[#####-----] "
std::string bar(double part) {
  constexpr std::size_t kCells = 24;
  const auto filled =
      static_cast<std::size_t>(std::clamp(part, 0.0, 1.0) * static_cast<double>(kCells));
  return "[" + std::string(filled, '#') + std::string(kCells - filled, '-') + "] ";
}

std::string steps_text(const GenerateProgress& progress) {
  const auto total = static_cast<double>(progress.total);
  const auto step = std::min(static_cast<std::int64_t>(progress.done) + 1, progress.total);
  std::string text = bar(progress.done / total) + "step " + std::to_string(step) + " of " +
                     std::to_string(progress.total);
  if (progress.done == 0) return text;
  const double step_seconds = progress.seconds / progress.done;
  char speed[48];
  std::snprintf(speed, sizeof(speed), ", %.*f s a step, ", step_seconds < 10 ? 2 : 0, step_seconds);
  return text + speed + duration_text((total - progress.done) * step_seconds) + " left";
}

}  // namespace

std::string progress_text(const Progress& progress) {
  const std::int64_t total = progress.frames_total;
  const double speed =
      progress.seconds > 0 ? static_cast<double>(progress.frames_done) / progress.seconds : 0;
  std::string text;
  if (total > 0) {
    text = bar(static_cast<double>(progress.frames_done) / static_cast<double>(total));
  }
  text += std::to_string(progress.frames_done);
  if (total > 0) text += " of " + std::to_string(total);
  char rate[32];
  std::snprintf(rate, sizeof(rate), " frames, %.*f frames/s", speed < 10 ? 2 : 0, speed);
  text += rate;
  if (speed > 0 && progress.frames_done < total) {
    text +=
        ", " + duration_text(static_cast<double>(total - progress.frames_done) / speed) + " left";
  }
  return text;
}

std::string progress_text(const GenerateProgress& progress) {
  std::string text;
  if (progress.videos > 1) {
    text = "video " + std::to_string(progress.video + 1) + " of " +
           std::to_string(progress.videos) + ": ";
  }
  switch (progress.stage) {
    case Stage::kEncodeText:
      return text + "encoding the prompt";
    case Stage::kCondition:
      return text + "encoding the first frame";
    case Stage::kDenoise:
      return text + "denoising " + steps_text(progress);
    case Stage::kDecode:
      break;
  }
  return text + "decoding " +
         progress_text(Progress{.frames_done = static_cast<std::int64_t>(progress.done),
                                .frames_total = progress.total,
                                .seconds = progress.seconds});
}

ProgressLine::ProgressLine() : terminal_(isatty(STDERR_FILENO) == 1) {}

void ProgressLine::end() {
  if (drawn_) std::fputc('\n', stderr);
  drawn_ = false;
}

void ProgressLine::draw(const std::string& text, bool now) {
  if (!terminal_) return;
  const auto time = std::chrono::steady_clock::now();
  if (drawn_ && !now && time - last_ < std::chrono::milliseconds(100)) return;
  last_ = time;
  drawn_ = true;
  // Back to the line's beginning, and clear what a longer text left.
  std::fprintf(stderr, "\r%s\x1b[K", text.c_str());
  std::fflush(stderr);
}

void ProgressLine::update(const Progress& progress) {
  draw(progress_text(progress), progress.frames_done == progress.frames_total);
}

void ProgressLine::update(const GenerateProgress& progress) {
  const bool begins_or_ends =
      progress.done == 0 || progress.done >= static_cast<double>(progress.total);
  draw(progress_text(progress), begins_or_ends);
}

}  // namespace pantograph::cli
