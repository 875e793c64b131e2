// Kinds of options: the words that some take, and numbers that are read whole or refused.
#pragma once

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include "core/check.h"
#include "pantograph/vae.h"
#include "pantograph/video_writer.h"
#include "pipeline/convert_job.h"
#include "pipeline/scheduler.h"

namespace pantograph::cli {

inline const std::map<std::string, LatentScale> kScales = {
    {"raw", LatentScale::kRaw}, {"normalized", LatentScale::kNormalized}};
inline const std::map<std::string, CheckpointForm> kForms = {
    {"diffusers", CheckpointForm::kDiffusers},
    {"native", CheckpointForm::kNative},
    {"safetensors", CheckpointForm::kSafetensors}};
inline const std::map<std::string, DType> kDTypes = {
    {"f32", DType::kF32}, {"bf16", DType::kBF16}, {"f16", DType::kF16}};

inline const std::map<std::string, DType> kVideoDTypes = {{"f32", DType::kF32},
                                                          {"bf16", DType::kBF16}};
inline const std::map<std::string, Precision> kPrecisions = {{"f32", Precision::kF32},
                                                             {"bf16", Precision::kBF16}};
inline const std::map<std::string, Algorithm> kAlgorithms = {
    {"auto", Algorithm::kAuto}, {"fast", Algorithm::kFast}, {"general", Algorithm::kGeneral}};
inline const std::map<std::string, VideoCodec> kCodecs = {{"h264", VideoCodec::kH264},
                                                          {"hevc", VideoCodec::kHevc},
                                                          {"ffv1", VideoCodec::kFfv1},
                                                          {"prores", VideoCodec::kProRes}};
inline const std::map<std::string, Sampler> kSamplers = {{"euler", Sampler::kEuler},
                                                         {"renoise", Sampler::kRenoise}};
inline const std::map<std::string, PixelFormat> kPixelFormats = {
    {"yuv420p", PixelFormat::kYuv420p},
    {"yuv444p", PixelFormat::kYuv444p},
    {"yuv420p10", PixelFormat::kYuv420p10}};

// For numbers whose range is left to those who use them.
inline constexpr std::int64_t kAny = std::numeric_limits<std::int64_t>::min();

// A whole number of `least` or more; CLI11 alone takes "" for 0 and cuts what is too large.
template <typename Number, typename Value>
CLI::Option* add_number(CLI::App* app, const std::string& name, Value& value, Number least,
                        const std::string& text) {
  return app
      ->add_option_function<std::string>(
          name,
          [&value, least, name](const std::string& word) {
            Number number{};
            const char* end = word.data() + word.size();
            const auto [rest, error] = std::from_chars(word.data(), end, number);
            if (error != std::errc() || rest != end || number < least) {
              fail(ErrorKind::kInvalidArgument, name, ": '", word, "' is not a whole number",
                   std::cmp_equal(least, kAny) ? "" : join(" of at least ", least));
            }
            value = number;
          },
          text)
      ->type_name("N");
}

// Any number.
template <typename Value>
CLI::Option* add_real(CLI::App* app, const std::string& name, Value& value,
                      const std::string& text) {
  return app
      ->add_option_function<std::string>(
          name,
          [&value, name](const std::string& word) {
            double number{};
            const char* end = word.data() + word.size();
            const auto [rest, error] = std::from_chars(word.data(), end, number);
            if (error != std::errc() || rest != end) {
              fail(ErrorKind::kInvalidArgument, name, ": '", word, "' is not a number");
            }
            value = number;
          },
          text)
      ->type_name("X");
}

// An option that takes one of a few words.
template <typename Value, typename Choice>
CLI::Option* add_choice(CLI::App* app, const std::string& name, Value& value,
                        const std::map<std::string, Choice>& choices, const std::string& text) {
  std::string words;
  for (const auto& [word, unused] : choices) words += (words.empty() ? "" : "|") + word;
  const auto known = [choices, words](const std::string& word) {
    return choices.contains(word) ? std::string() : "'" + word + "' is not one of " + words;
  };
  return app
      ->add_option_function<std::string>(
          name, [choices, &value](const std::string& word) { value = choices.at(word); }, text)
      ->type_name(words)
      ->check(CLI::Validator(known, ""));
}

// How a VAE decodes.
inline void add_algorithm(CLI::App* app, Algorithm& algorithm) {
  add_choice(app, "--algorithm", algorithm, kAlgorithms,
             "Of the VAE's convolutions: fast (Hopper, bf16; fails elsewhere), general or auto "
             "(default), which is fast where that can be");
}

}  // namespace pantograph::cli
