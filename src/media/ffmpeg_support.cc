#include "media/ffmpeg_support.h"

#include <array>
#include <cerrno>

extern "C" {
#include <libavutil/error.h>
#include <libavutil/log.h>
}

namespace pantograph {

int check_ffmpeg(int result, ErrorKind kind, const std::string& what) {
  if (result >= 0) return result;
  std::array<char, AV_ERROR_MAX_STRING_SIZE> reason{};
  av_strerror(result, reason.data(), reason.size());
  fail(result == AVERROR(ENOMEM) ? ErrorKind::kOutOfMemory : kind, what, ": ", reason.data());
}

void quieten_log() {
  if (av_log_get_level() == AV_LOG_INFO) av_log_set_level(AV_LOG_FATAL);
}

}  // namespace pantograph
