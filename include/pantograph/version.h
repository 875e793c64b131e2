#pragma once

namespace pantograph {

// The one place that says it; the build reads it from here.
inline constexpr const char* kVersion = "0.1.0";

}  // namespace pantograph
