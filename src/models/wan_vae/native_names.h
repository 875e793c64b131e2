// The tensors' names in Wan's own files (Wan2.2_VAE.pth, ComfyUI's) and in diffusers', as
// diffusers' convert_wan_to_diffusers.py relates them:
//   conv1, conv2                              quant_conv, post_quant_conv
//   decoder.conv1, decoder.head.{0,2}         decoder.conv_in, decoder.{norm_out,conv_out}
//   decoder.middle.{0,1,2}                    decoder.mid_block.{resnets.0,attentions.0,resnets.1}
//   decoder.upsamples.I.upsamples.J           decoder.up_blocks.I.{resnets.J,upsampler}
//   encoder.downsamples.I.downsamples.J       encoder.down_blocks.I.{resnets.J,downsampler}
//   residual.{0,2,3,6}, shortcut              norm1, conv1, norm2, conv2, conv_shortcut
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace pantograph::wan_vae {

// Names that belong to neither side come back as they are.
std::string diffusers_name(std::string_view native);
// `residual_blocks` as in VaeConfig: a level's resampler has the index after its residual blocks'.
std::string native_name(std::string_view diffusers, std::int64_t residual_blocks);

}  // namespace pantograph::wan_vae
