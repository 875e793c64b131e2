// The one exception type of the library: a kind a program can act on and a message a person can
// read.
#pragma once

#include <stdexcept>
#include <string>

#include "pantograph/export.h"

namespace pantograph {

enum class ErrorKind {
  kInvalidArgument,  // the caller asked for something impossible: a shape, an option, a device
  kNotFound,         // a file, tensor or device that should be there is not
  kFormat,           // a file is there but is not what it claims to be
  kUnsupported,      // understood, but this build or version cannot do it
  kIo,               // the operating system refused to read or write
  kOutOfMemory,      // host or device memory would not, or did not, suffice
  kCancelled,        // a CancelToken was triggered
  kInternal,         // a defect in this library or in one it calls
};

// Short lower-case name of a kind, as the JSON summaries print it ("invalid_argument").
PANTOGRAPH_EXPORT const char* to_string(ErrorKind kind);

class PANTOGRAPH_EXPORT Error : public std::runtime_error {
 public:
  // `message` is one line: what was found, what was expected, what to do about it. Names in it may
  // come from files, so control characters become escapes.
  Error(ErrorKind kind, const std::string& message);
  [[nodiscard]] ErrorKind kind() const { return kind_; }

 private:
  ErrorKind kind_;
};

}  // namespace pantograph
