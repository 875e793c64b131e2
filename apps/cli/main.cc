// The command line: what can be said, and what a person is told when it goes wrong. Two verbs with
// verbs of their own are in headers, so that CLI11 is compiled once.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <functional>
#include <string>
#include <string_view>

#include "bench_verb.h"
#include "checkpoint/json.h"
#include "commands.h"
#include "core/check.h"
#include "interrupt.h"
#include "make_verb.h"
#include "options.h"
#include "pantograph/error.h"
#include "pantograph/version.h"

namespace pantograph::cli {
namespace {

constexpr int kFailed = 1;
constexpr int kUsageError = 2;  // the command has to be another one

constexpr const char* kScaleMissing =
    "--latent-scale is needed, since a file cannot tell what its numbers are: 'normalized' for "
    "what a sampler works on (diffusers' output_type=\"latent\"), 'raw' for what the VAE itself "
    "takes, normalized * std + mean (the argument of diffusers' vae.decode). 'pantograph inspect "
    "FILE' shows which is more likely";

class CommandLine {
 public:
  CommandLine() {
    app_.require_subcommand(1);
    app_.set_version_flag("--version", std::string("pantograph ") + kVersion);
    app_.footer(
        "Example:\n"
        "  pantograph decode --vae Wan2.2-TI2V-5B/vae --latents clip.safetensors \\\n"
        "      --latent-scale normalized -o clip.mp4\n"
        "Every verb has a --help with an example.");
    add_decode();
    add_encode();
    add_generate();
    add_inspect();
    add_convert();
    make_.add(app_, action_);
    bench_.add(app_, action_);
    add_info();
  }

  int run(int argc, char** argv) {
    // Not what was parsed: an argument before it may be the one that is wrong.
    json_ = std::find(argv, argv + argc, std::string_view("--json")) != argv + argc;
    try {
      app_.parse(argc, argv);
      action_();
      return 0;
    } catch (const CLI::ParseError& error) {
      if (error.get_exit_code() == 0) return app_.exit(error);  // --help, --version
      const std::string problem = verb_problem(argc, argv);
      return report("invalid_argument", problem.empty() ? error.what() : problem, kUsageError);
    } catch (const Error& error) {
      return report(to_string(error.kind()), error.what(), exit_code(error.kind()));
    } catch (const std::bad_alloc&) {
      return report("out_of_memory", "the machine has no memory left", kFailed);
    } catch (const std::exception& error) {
      return report("internal", error.what(), kFailed);
    }
  }

 private:
  static int exit_code(ErrorKind kind) {
    if (kind == ErrorKind::kCancelled) return signal_exit_code();
    return kind == ErrorKind::kInvalidArgument ? kUsageError : kFailed;
  }

  // Where the verb is missing or unknown: that, and those there are.
  [[nodiscard]] std::string verb_problem(int argc, char** argv) const {
    const CLI::App* app = &app_;
    int next = 1;  // the argument where a verb of `app` is expected
    for (; !app->get_subcommands().empty(); ++next) app = app->get_subcommands().front();
    if (app->get_require_subcommand_min() == 0) return {};
    std::string verbs;
    for (const CLI::App* verb : app->get_subcommands({})) {
      verbs += (verbs.empty() ? "" : "|") + verb->get_name();
    }
    const std::string word = next < argc && argv[next][0] != '-' ? argv[next] : "";
    return join(word.empty() ? "a verb is needed" : "'" + word + "' is no verb", " after ",
                app->get_name(), "; expected ", verbs);
  }

  int report(const char* kind, const std::string& message, int exit_code) const {
    std::fprintf(stderr, "pantograph: %s\n", message.c_str());
    if (json_) {
      const Json error(Json::Object{{"kind", Json(std::string(kind))}, {"message", Json(message)}});
      std::printf("%s\n", Json(Json::Object{{"error", error}}).dump().c_str());
    }
    return exit_code;
  }

  // How a video is written, for every verb that writes one.
  static void add_encoder_options(CLI::App* verb, VideoOptions& video) {
    add_choice(verb, "--codec", video.codec, kCodecs,
               "h264 (default), hevc, ffv1 (.mkv) or prores (.mov, .mkv)");
    add_choice(verb, "--pix-fmt", video.pixel_format, kPixelFormats,
               "Of h264, hevc and ffv1 (default yuv420p)");
    add_number(verb, "--crf", video.crf, 0,
               "Quality of h264 and hevc, 0 (lossless) to 51 (default 18)");
    verb->add_option("--preset", video.preset,
                     "Effort of h264 and hevc: ultrafast to placebo (default medium)");
    verb->add_option("--contact-sheet", video.contact_sheet,
                     "FILE.png: up to 16 of the frames in one picture");
    add_choice(verb, "--tensor-dtype", video.tensor_dtype, kVideoDTypes,
               "f32 or bf16, for .safetensors");
  }

  void add_decode() {
    CLI::App* verb = app_.add_subcommand("decode", "Turn latents into a video");
    DecodeJob& job = decode_.job;
    verb->add_option("--vae", job.vae,
                     "The VAE: a diffusers folder, a .safetensors file or Wan2.2_VAE.pth")
        ->required();
    verb->add_option("--latents", job.latents,
                     "Files of latents [48, T, h, w] or [B, 48, T, h, w]: .safetensors, .npy, .pt, "
                     "ComfyUI's .latent; folders and patterns of them; - for standard input")
        ->required();
    verb->add_option("--tensor", job.tensor, "The tensor's name, where the file holds several");
    CLI::Option* scale = add_choice(verb, "--latent-scale", job.decode.scale, kScales,
                                    "What the numbers are: raw or normalized; no default");
    verb->add_option(
            "-o,--output", job.output,
            "FILE.mp4, .mkv or .mov, FILE.safetensors, a folder for PNG frames, or - for "
            "YUV4MPEG2 on standard output; for several files of latents a folder that gets "
            "a STEM.mp4 of each, or a name with {} where the STEM goes")
        ->required();
    add_number(verb, "--fps", job.video.frames_per_second, 1, "Frames a second (default 24)");
    add_encoder_options(verb, job.video);
    verb->add_option("--device", decode_.device, "auto, cpu, cuda or cuda:N")
        ->capture_default_str();
    add_choice(verb, "--precision", job.decode.precision, kPrecisions,
               "Of weights and activations (default: bf16 on a GPU, f32 on a CPU)");
    add_algorithm(verb, job.decode.algorithm);
    verb->add_option("--max-memory", decode_.max_memory_gib,
                     "GiB of the device that the decode may take in all, weights included")
        ->check(CLI::PositiveNumber);
    verb->add_flag("--dry-run", decode_.dry_run, "Print the memory that the decode would take");
    add_number(verb, "--frames-per-pass", job.decode.frames_per_pass, 1,
               "Latent frames decoded at once (default: the most that fits usual memory)");
    add_number(verb, "--threads", job.decode.context.threads, 1,
               "CPU threads (default: one a core)");
    verb->add_flag("--json", decode_.json, "Print one JSON summary instead of text");
    verb->footer(
        "Examples:\n"
        "  pantograph decode --vae vae --latents clip.safetensors --latent-scale raw -o clip.mp4\n"
        "  pantograph decode --vae vae --latents clip.safetensors --latent-scale raw -o - | ffplay "
        "-\n"
        "  pantograph decode --vae vae --latents 'run/*.latent' --latent-scale raw -o clips/");
    verb->callback([this, scale] {
      action_ = [this, scale] {
        if (scale->count() == 0) throw Error(ErrorKind::kInvalidArgument, kScaleMissing);
        cancel_on_signal(decode_.job.decode.cancel);
        decode(decode_);
      };
    });
  }

  void add_encode() {
    CLI::App* verb = app_.add_subcommand("encode", "Turn an image or a video into latents");
    EncodeJob& job = encode_.job;
    verb->add_option("--vae", job.vae, "The VAE, with its encoder: a diffusers folder")->required();
    verb->add_option("--input", job.input,
                     "An image, or a video of 4 k + 1 frames; sides are multiples of 16")
        ->required();
    CLI::Option* scale = add_choice(verb, "--latent-scale", job.encode.scale, kScales,
                                    "What the numbers shall be: raw or normalized; no default");
    verb->add_option("-o,--output", job.output, "FILE.safetensors")->required();
    add_choice(verb, "--dtype", job.dtype, kDTypes, "f32, bf16 or f16");
    add_number(verb, "--threads", job.encode.context.threads, 1,
               "CPU threads (default: one a core)");
    verb->add_flag("--json", encode_.json, "Print one JSON summary instead of text");
    verb->footer(
        "Example:\n"
        "  pantograph encode --vae vae --input first.png --latent-scale normalized -o "
        "first.safetensors");
    verb->callback([this, scale] {
      action_ = [this, scale] {
        if (scale->count() == 0) throw Error(ErrorKind::kInvalidArgument, kScaleMissing);
        cancel_on_signal(encode_.job.encode.cancel);
        encode(encode_);
      };
    });
  }

  void add_generate() {
    CLI::App* verb =
        app_.add_subcommand("generate", "Make a video from a prompt, or a prompt and an image");
    GenerateJob& job = generate_.job;
    GenerateSettings& settings = job.settings;
    verb->add_option("--model", job.model, "The folder of a PAN 2 checkpoint")->required();
    CLI::Option* prompt = verb->add_option("--prompt", settings.prompt, "What is to be seen");
    verb->add_option("--prompts", job.prompts,
                     "A file of prompts, one a line, or JSON objects with settings of their own")
        ->excludes(prompt);
    verb->add_option("-o,--output", settings.output,
                     "As of decode; with --prompts a folder that gets NNNN.mp4 for each line's "
                     "number, or a name with {} where NNNN goes");
    verb->add_option("--image", settings.image, "The first frame: image-to-video");
    verb->add_option("--negative-prompt", settings.negative_prompt,
                     "What guidance leads away from, or @FILE with it (default: none)");
    add_number(verb, "--frames", settings.frames, kAny,
               "Frames of the video, 4 k + 1 (default 313)");
    add_number(verb, "--height", settings.height, kAny, "Pixels, a multiple of 32 (default 704)");
    add_number(verb, "--width", settings.width, kAny, "Pixels, a multiple of 32 (default 1248)");
    add_number(verb, "--fps", settings.frames_per_second, 1, "Frames a second (default 24)");
    CLI::Option* sigmas =
        verb->add_option("--sigmas", settings.sigmas,
                         "The noise levels to visit, falling from at most 1, before the shift")
            ->delimiter(',');
    add_number(verb, "--steps", settings.steps, kAny, "Evenly spaced noise levels (default 50)")
        ->excludes(sigmas);
    add_real(verb, "--shift", settings.shift,
             "Of the noise levels (default: what the checkpoint's scheduler says)");
    add_real(verb, "--guidance", settings.guidance,
             "How far to lead away from the negative prompt (default 2.5); up to 1: not at all, in "
             "half the time");
    add_number(verb, "--seed", settings.seed, std::int64_t{0},
               "Another seed, another video (default 0)");
    add_choice(verb, "--sampler", settings.sampler, kSamplers,
               "euler or, for few-step models, renoise (default: what the scheduler says)");
    verb->add_option("--lora", generate_.adapters, "FILE or FILE:SCALE, an adapter to merge")
        ->type_name("FILE[:SCALE]");
    verb->add_option("--save-latents", settings.save_latents,
                     "FILE.safetensors: the normalized latents, before they are decoded");
    add_encoder_options(verb, settings.video);
    verb->add_option("--device", generate_.device, "auto or cpu: the DiT runs on a CPU only yet")
        ->capture_default_str();
    verb->add_option("--max-memory", generate_.max_memory_gib,
                     "GiB that encoding the image and decoding may each take, weights included")
        ->check(CLI::PositiveNumber);
    add_algorithm(verb, job.stages.algorithm);
    add_number(verb, "--threads", job.stages.context.threads, 1,
               "CPU threads (default: one a core)");
    verb->add_flag("--dry-run", generate_.dry_run, "Check everything and say what would be made");
    verb->add_flag("--json", generate_.json, "Print one JSON summary instead of text");
    verb->footer(
        "Examples:\n"
        "  pantograph generate --model PAN2 --prompt 'a red fox in the snow' -o fox.mp4\n"
        "  pantograph generate --model PAN2 --prompt 'it runs' --image fox.png -o run.mp4\n"
        "  pantograph generate --model PAN2 --prompts prompts.txt -o clips/");
    verb->callback([this, prompt] {
      action_ = [this, prompt] {
        if (prompt->count() == 0 && generate_.job.prompts.empty()) {
          throw Error(ErrorKind::kInvalidArgument, "--prompt or --prompts is needed");
        }
        if (generate_.job.settings.output.empty()) {
          throw Error(ErrorKind::kInvalidArgument, "--output is required");
        }
        cancel_on_signal(generate_.job.stages.cancel);
        generate(generate_);
      };
    });
  }

  void add_inspect() {
    CLI::App* verb =
        app_.add_subcommand("inspect", "Tell what a checkpoint or a file of latents holds");
    verb->add_option("path", inspect_.path,
                     "A checkpoint (a diffusers folder or one file) or a file of latents")
        ->required();
    verb->footer("Example:\n  pantograph inspect clip.safetensors");
    verb->callback([this] { action_ = [this] { inspect(inspect_); }; });
  }

  void add_convert() {
    CLI::App* verb =
        app_.add_subcommand("convert", "Write a VAE checkpoint in another form, and compare it");
    verb->add_option("input", convert_.input,
                     "A diffusers folder, a .safetensors file or Wan2.2_VAE.pth")
        ->required();
    verb->add_option("output", convert_.output, "The folder or file to write")->required();
    add_choice(verb, "--form", convert_.form, kForms,
               "a diffusers folder, or one safetensors file with diffusers' names or Wan's native "
               "ones, as ComfyUI takes it")
        ->required();
    CLI::Option* dtype =
        add_choice(verb, "--dtype", dtype_, kDTypes, "f32, bf16 or f16 (default: as they are)");
    verb->footer("Example:\n  pantograph convert Wan2.2_VAE.pth vae --form diffusers --dtype bf16");
    verb->callback([this, dtype] {
      if (dtype->count() > 0) convert_.dtype = dtype_;
      action_ = [this] {
        cancel_on_signal(convert_.cancel);
        convert(convert_);
      };
    });
  }

  void add_info() {
    CLI::App* verb = app_.add_subcommand("info", "Version, backends, devices and codecs");
    verb->footer("Example:\n  pantograph info");
    verb->callback([this] { action_ = info; });
  }

  CLI::App app_{"Makes videos from prompts with PAN 2, and decodes and encodes Wan2.2 VAE latents.",
                "pantograph"};
  DecodeCommand decode_;
  EncodeCommand encode_;
  GenerateCommand generate_;
  InspectCommand inspect_;
  ConvertJob convert_;
  DType dtype_ = DType::kF32;  // of a conversion, where given
  MakeVerb make_;
  BenchVerb bench_;
  bool json_ = false;  // for errors
  std::function<void()> action_;
};

}  // namespace
}  // namespace pantograph::cli

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // a closed pipe is an error of the write
  return pantograph::cli::CommandLine().run(argc, argv);
}
