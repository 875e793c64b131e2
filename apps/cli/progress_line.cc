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

}  // namespace

std::string progress_text(const Progress& progress) {
  constexpr std::int64_t kCells = 24;
  const std::int64_t total = progress.frames_total;
  const double speed =
      progress.seconds > 0 ? static_cast<double>(progress.frames_done) / progress.seconds : 0;
  std::string text;
  if (total > 0) {
    const auto filled =
        static_cast<std::size_t>(std::min(kCells, progress.frames_done * kCells / total));
    text = "[" + std::string(filled, '#') + std::string(kCells - filled, '-') + "] ";
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

ProgressLine::ProgressLine() : terminal_(isatty(STDERR_FILENO) == 1) {}

void ProgressLine::end() {
  if (drawn_) std::fputc('\n', stderr);
  drawn_ = false;
}

void ProgressLine::update(const Progress& progress) {
  if (!terminal_) return;
  const auto now = std::chrono::steady_clock::now();
  const bool last = progress.frames_done == progress.frames_total;
  if (drawn_ && !last && now - last_ < std::chrono::milliseconds(100)) return;
  last_ = now;
  drawn_ = true;
  // Back to the line's beginning, and clear what a longer text left.
  std::fprintf(stderr, "\r%s\x1b[K", progress_text(progress).c_str());
  std::fflush(stderr);
}

}  // namespace pantograph::cli
