#include "media/png_file.h"

#include <cerrno>
#include <fstream>
#include <system_error>

#include "core/check.h"

namespace pantograph {

void save_png(const AVPacket& png, const std::filesystem::path& file,
              const std::filesystem::path& shown) {
  std::ofstream stream(file, std::ios::binary);
  stream.write(reinterpret_cast<const char*>(png.data), png.size);
  stream.close();
  if (!stream) {
    fail(ErrorKind::kIo, "cannot write ", shown.string(), ": ",
         std::generic_category().message(errno));
  }
}

}  // namespace pantograph
