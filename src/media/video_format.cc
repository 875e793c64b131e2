#include "media/video_format.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "core/check.h"
#include "core/log.h"

extern "C" {
#include <libavcodec/avcodec.h>
}

namespace pantograph {
namespace {

constexpr int kDefaultCrf = 18;
constexpr std::array<std::string_view, 10> kPresets = {
    "ultrafast", "superfast", "veryfast", "faster",   "fast",
    "medium",    "slow",      "slower",   "veryslow", "placebo"};

struct Container {
  std::string_view extension, muxer;
};
constexpr std::array<Container, 3> kContainers = {
    {{".mp4", "mp4"}, {".mkv", "matroska"}, {".mov", "mov"}}};

struct Codec {
  VideoCodec codec;
  std::string_view name;
  std::vector<std::string_view> encoders;    // the first that this FFmpeg has is taken
  std::vector<std::string_view> extensions;  // of the containers it goes into
};

const std::vector<Codec>& codecs() {
  static const std::vector<Codec> all = {
      {VideoCodec::kH264, "h264", {"libx264", "libopenh264"}, {".mp4", ".mkv", ".mov"}},
      {VideoCodec::kHevc, "hevc", {"libx265"}, {".mp4", ".mkv", ".mov"}},
      {VideoCodec::kFfv1, "ffv1", {"ffv1"}, {".mkv"}},
      {VideoCodec::kProRes, "prores", {"prores_ks"}, {".mov", ".mkv"}}};
  return all;
}

const Codec& find(VideoCodec codec) {
  return *std::find_if(codecs().begin(), codecs().end(),
                       [&](const Codec& candidate) { return candidate.codec == codec; });
}

std::string list(const auto& words) {
  std::string text;
  for (const std::string_view word : words) text += join(text.empty() ? "" : ", ", word);
  return text;
}

// Empty where this FFmpeg has none.
std::string_view encoder_of(const Codec& codec) {
  for (const std::string_view name : codec.encoders) {
    if (avcodec_find_encoder_by_name(name.data()) != nullptr) return name;
  }
  return {};
}

AVPixelFormat pixel_format_of(const Codec& codec, const VideoOptions& options) {
  if (codec.codec == VideoCodec::kProRes) {
    if (options.pixel_format) {
      fail(ErrorKind::kInvalidArgument,
           "prores has a pixel format of its own (4:2:2 of 10 bits); leave the pixel format out");
    }
    return AV_PIX_FMT_YUV422P10;
  }
  switch (options.pixel_format.value_or(PixelFormat::kYuv420p)) {
    case PixelFormat::kYuv444p:
      return AV_PIX_FMT_YUV444P;
    case PixelFormat::kYuv420p10:
      return AV_PIX_FMT_YUV420P10;
    case PixelFormat::kYuv420p:
      break;
  }
  return AV_PIX_FMT_YUV420P;
}

void require_pixel_format(std::string_view encoder, AVPixelFormat format) {
  const AVPixelFormat* supported = avcodec_find_encoder_by_name(encoder.data())->pix_fmts;
  while (*supported != AV_PIX_FMT_NONE && *supported != format) ++supported;
  if (*supported == AV_PIX_FMT_NONE) {
    fail(ErrorKind::kUnsupported, "the installed ", encoder,
         " cannot encode this pixel format; take yuv420p");
  }
}

void require_preset(const std::string& preset) {
  if (std::find(kPresets.begin(), kPresets.end(), preset) == kPresets.end()) {
    fail(ErrorKind::kInvalidArgument, "'", preset, "' is no preset; expected one of ",
         list(kPresets));
  }
}

void set_quality(VideoFormat& format, const VideoOptions& options) {
  const std::string crf = std::to_string(options.crf.value_or(kDefaultCrf));
  if (format.encoder == "libopenh264") {  // it knows neither: a fixed quantizer is nearest to a crf
    if (options.preset) {
      fail(ErrorKind::kUnsupported,
           "the installed FFmpeg encodes H.264 with libopenh264, which has "
           "no presets; leave the preset out");
    }
    log(LogLevel::kWarning, "FFmpeg ", av_version_info(),
        " has no libx264: libopenh264 encodes the video");
    format.options = {{"qmin", crf}, {"qmax", crf}};
    return;
  }
  const std::string preset = options.preset.value_or("medium");
  require_preset(preset);
  format.options = {{"preset", preset}, {"crf", crf}};
}

}  // namespace

VideoFormat choose_video_format(const std::filesystem::path& output, const VideoOptions& options) {
  const Codec& codec = find(options.codec.value_or(VideoCodec::kH264));
  const std::string extension = output.extension();
  if (std::find(codec.extensions.begin(), codec.extensions.end(), extension) ==
      codec.extensions.end()) {
    fail(ErrorKind::kInvalidArgument, codec.name, " does not go into a ", extension,
         " file; expected ", list(codec.extensions));
  }
  const std::string_view encoder = encoder_of(codec);
  if (encoder.empty()) {
    fail(ErrorKind::kUnsupported, "FFmpeg ", av_version_info(), " has no encoder for ", codec.name,
         " (", list(codec.encoders),
         "); install an FFmpeg that has, or write PNG files, "
         ".safetensors or YUV4MPEG2 (-)");
  }
  VideoFormat format;
  for (const Container& container : kContainers) {
    if (extension == container.extension) format.muxer = container.muxer;
  }
  format.encoder = encoder;
  format.pixel_format = pixel_format_of(codec, options);
  require_pixel_format(encoder, format.pixel_format);
  if (codec.codec == VideoCodec::kH264 || codec.codec == VideoCodec::kHevc) {
    set_quality(format, options);
  } else if (options.crf || options.preset) {
    fail(ErrorKind::kInvalidArgument, codec.name, " has neither crf nor preset; leave them out");
  }
  if (codec.codec == VideoCodec::kHevc) {
    format.options.emplace_back("x265-params", "log-level=none");
    // QuickTime shows HEVC under this name only.
    if (format.muxer != "matroska") format.tag = MKTAG('h', 'v', 'c', '1');
  }
  if (codec.codec == VideoCodec::kFfv1) {
    format.options = {{"level", "3"}, {"slicecrc", "1"}, {"g", "1"}};  // each frame by itself
  }
  if (codec.codec == VideoCodec::kProRes) format.options = {{"profile", "hq"}, {"vendor", "apl0"}};
  return format;
}

std::vector<std::string> video_codecs() {
  std::vector<std::string> names;
  for (const Codec& codec : codecs()) {
    const std::string_view encoder = encoder_of(codec);
    if (encoder.empty()) continue;
    names.push_back(join(codec.name, " (", encoder, ", FFmpeg ", av_version_info(), ")"));
  }
  if (avcodec_find_encoder_by_name("png") != nullptr) {
    names.push_back(join("png (FFmpeg ", av_version_info(), ")"));
  }
  return names;
}

}  // namespace pantograph
