// What every user of FFmpeg's libraries (5.1 and later) needs.
#pragma once

#include <string>

#include "core/check.h"

namespace pantograph {

// Returns `result` unless it is an FFmpeg error: then throws Error with FFmpeg's own words after
// `what`, as kOutOfMemory where memory is what lacked.
int check_ffmpeg(int result, ErrorKind kind, const std::string& what);

// FFmpeg allocates with null for failure.
template <typename T>
T* check_allocated(T* pointer) {
  if (pointer == nullptr) fail(ErrorKind::kOutOfMemory, "no memory for FFmpeg");
  return pointer;
}

// What goes wrong comes back as an error, which says it in one line: FFmpeg's own log stays off
// unless the program has chosen a level for it.
void quieten_log();

}  // namespace pantograph
