#include "models/wan_vae/native_names.h"

#include <algorithm>
#include <array>
#include <optional>

namespace pantograph::wan_vae {
namespace {

struct Pair {
  std::string_view native, diffusers;
};

// What a name begins with, where no index is in it.
constexpr std::array kFixed = {
    Pair{"conv1.", "quant_conv."},
    Pair{"conv2.", "post_quant_conv."},
    Pair{"encoder.conv1.", "encoder.conv_in."},
    Pair{"encoder.middle.0.", "encoder.mid_block.resnets.0."},
    Pair{"encoder.middle.1.", "encoder.mid_block.attentions.0."},
    Pair{"encoder.middle.2.", "encoder.mid_block.resnets.1."},
    Pair{"encoder.head.0.", "encoder.norm_out."},
    Pair{"encoder.head.2.", "encoder.conv_out."},
    Pair{"decoder.conv1.", "decoder.conv_in."},
    Pair{"decoder.middle.0.", "decoder.mid_block.resnets.0."},
    Pair{"decoder.middle.1.", "decoder.mid_block.attentions.0."},
    Pair{"decoder.middle.2.", "decoder.mid_block.resnets.1."},
    Pair{"decoder.head.0.", "decoder.norm_out."},
    Pair{"decoder.head.2.", "decoder.conv_out."},
};

// Inside a residual block.
constexpr std::array kResidual = {
    Pair{"residual.0.", "norm1."},       Pair{"residual.2.", "conv1."},
    Pair{"residual.3.", "norm2."},       Pair{"residual.6.", "conv2."},
    Pair{"shortcut.", "conv_shortcut."},
};

// One resolution: its residual blocks and its resampler.
struct Side {
  Pair level;                      // before the level's index
  std::string_view native_blocks;  // before the index of a block or of the resampler
  std::string_view resampler;
  std::int64_t extra_blocks;  // beyond the config's num_res_blocks
};
constexpr std::string_view kDiffusersBlocks = "resnets.";
constexpr std::array kSides = {
    Side{{"encoder.downsamples.", "encoder.down_blocks."}, "downsamples.", "downsampler.", 0},
    Side{{"decoder.upsamples.", "decoder.up_blocks."}, "upsamples.", "upsampler.", 1},
};

bool eat(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

// "12." as it stands, the dot included.
std::optional<std::string_view> eat_index(std::string_view& text) {
  const std::size_t digits = text.find_first_not_of("0123456789");
  if (digits == 0 || digits == std::string_view::npos || text[digits] != '.') return std::nullopt;
  const std::string_view index = text.substr(0, digits + 1);
  text.remove_prefix(digits + 1);
  return index;
}

// Exchanges the prefix `from` of one of the pairs for `to`.
template <typename Pairs>
std::string exchange(const Pairs& pairs, std::string_view name, std::string_view Pair::* from,
                     std::string_view Pair::* to) {
  for (const Pair& pair : pairs) {
    std::string_view rest = name;
    if (eat(rest, pair.*from)) return std::string(pair.*to).append(rest);
  }
  return std::string(name);
}

bool of_resampler(std::string_view name) {
  return name.starts_with("resample.") || name.starts_with("time_conv.");
}

std::string joined(std::initializer_list<std::string_view> parts) {
  std::string text;
  for (const std::string_view part : parts) text.append(part);
  return text;
}

// A name with a fixed prefix, and what a residual block calls the rest.
std::string rename_fixed(std::string_view name, std::string_view Pair::* from,
                         std::string_view Pair::* to) {
  for (const Pair& pair : kFixed) {
    std::string_view rest = name;
    if (eat(rest, pair.*from)) {
      return std::string(pair.*to).append(exchange(kResidual, rest, from, to));
    }
  }
  return std::string(name);
}

}  // namespace

std::string diffusers_name(std::string_view native) {
  for (const Side& side : kSides) {
    std::string_view rest = native;
    if (!eat(rest, side.level.native)) continue;
    const auto level = eat_index(rest);
    if (!level || !eat(rest, side.native_blocks)) break;
    const auto block = eat_index(rest);
    if (!block) break;
    if (of_resampler(rest)) return joined({side.level.diffusers, *level, side.resampler, rest});
    return joined({side.level.diffusers, *level, kDiffusersBlocks, *block,
                   exchange(kResidual, rest, &Pair::native, &Pair::diffusers)});
  }
  return rename_fixed(native, &Pair::native, &Pair::diffusers);
}

std::string native_name(std::string_view diffusers, std::int64_t residual_blocks) {
  for (const Side& side : kSides) {
    std::string_view rest = diffusers;
    if (!eat(rest, side.level.diffusers)) continue;
    const auto level = eat_index(rest);
    if (!level) break;
    if (eat(rest, side.resampler)) {
      const std::string block = std::to_string(residual_blocks + side.extra_blocks) + ".";
      return joined({side.level.native, *level, side.native_blocks, block, rest});
    }
    if (!eat(rest, kDiffusersBlocks)) break;
    const auto block = eat_index(rest);
    if (!block) break;
    return joined({side.level.native, *level, side.native_blocks, *block,
                   exchange(kResidual, rest, &Pair::diffusers, &Pair::native)});
  }
  return rename_fixed(diffusers, &Pair::diffusers, &Pair::native);
}

}  // namespace pantograph::wan_vae
