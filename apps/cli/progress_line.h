// One line on the terminal that tells how far the work is.
#pragma once

#include <chrono>
#include <string>

#include "pantograph/vae.h"
#include "pipeline/generate_job.h"

namespace pantograph::cli {

// "[#####-----]  40 of 121 frames, 3.2 frames/s, 25 s left"
std::string progress_text(const Progress& progress);
// "video 2 of 5: denoising [#####-----] step 3 of 50, 12.1 s a step, 9 min 28 s left"
std::string progress_text(const GenerateProgress& progress);

// Draws on standard error, and only where that is a terminal.
class ProgressLine {
 public:
  ProgressLine();
  ~ProgressLine() { end(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  void update(const Progress& progress);
  void update(const GenerateProgress& progress);
  void end();  // what is printed next begins on a line of its own

 private:
  // Draws at most ten times a second, but `now` whatever the time.
  void draw(const std::string& text, bool now);

  bool terminal_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point last_{};
};

}  // namespace pantograph::cli
