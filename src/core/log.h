// Messages to standard error, through spdlog (included in log.cc only).
#pragma once

#include <string_view>

#include "core/check.h"

namespace pantograph {

enum class LogLevel { kDebug, kInfo, kWarning, kError, kOff };

void set_log_level(LogLevel level);  // kWarning at the start, or what PANTOGRAPH_LOG names
bool log_enabled(LogLevel level);
void write_log(LogLevel level, std::string_view message);

template <typename... Parts>
void log(LogLevel level, Parts&&... parts) {
  if (log_enabled(level)) write_log(level, join(std::forward<Parts>(parts)...));
}

}  // namespace pantograph
