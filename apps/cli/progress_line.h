// One line on the terminal that tells how far the decode is.
#pragma once

#include <chrono>
#include <string>

#include "pantograph/vae.h"

namespace pantograph::cli {

// "[#####-----]  40 of 121 frames, 3.2 frames/s, 25 s left"
std::string progress_text(const Progress& progress);

// Draws on standard error, at most ten times a second, and only where that is a terminal.
class ProgressLine {
 public:
  ProgressLine();
  ~ProgressLine() { end(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  void update(const Progress& progress);
  void end();  // what is printed next begins on a line of its own

 private:
  bool terminal_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point last_{};
};

}  // namespace pantograph::cli
