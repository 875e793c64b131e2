// What FFmpeg's PNG encoder gives is a whole file.
#pragma once

#include <filesystem>

extern "C" {
#include <libavcodec/packet.h>
}

namespace pantograph {

// Throws Error(kIo) that names `shown`.
void save_png(const AVPacket& png, const std::filesystem::path& file,
              const std::filesystem::path& shown);

}  // namespace pantograph
