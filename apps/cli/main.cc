// The command line: what can be said, and what a person is told when it goes wrong.
#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "checkpoint/json.h"
#include "commands.h"
#include "interrupt.h"
#include "pantograph/error.h"
#include "pantograph/version.h"

namespace pantograph::cli {
namespace {

constexpr int kUsageError = 2;

constexpr const char* kScaleMissing =
    "--latent-scale is needed, since a file cannot tell what its numbers are: 'normalized' for "
    "what a sampler works on (diffusers' output_type=\"latent\"), 'raw' for what the VAE itself "
    "takes, normalized * std + mean (the argument of diffusers' vae.decode). 'pantograph inspect "
    "FILE' shows which is more likely";

const std::map<std::string, LatentScale> kScales = {{"raw", LatentScale::kRaw},
                                                    {"normalized", LatentScale::kNormalized}};
const std::map<std::string, CheckpointForm> kForms = {
    {"diffusers", CheckpointForm::kDiffusers},
    {"native", CheckpointForm::kNative},
    {"safetensors", CheckpointForm::kSafetensors}};
const std::map<std::string, DType> kDTypes = {
    {"f32", DType::kF32}, {"bf16", DType::kBF16}, {"f16", DType::kF16}};

// An option that takes one of a few words.
template <typename Value>
CLI::Option* add_choice(CLI::App* app, const std::string& name, Value& value,
                        const std::map<std::string, Value>& choices, const std::string& text) {
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
    add_inspect();
    add_convert();
    add_make();
    add_bench();
    add_info();
  }

  int run(int argc, char** argv) {
    try {
      app_.parse(argc, argv);
      action_();
      return 0;
    } catch (const CLI::ParseError& error) {
      if (error.get_exit_code() == 0) return app_.exit(error);  // --help, --version
      if (app_.get_subcommands().empty()) {
        const std::string verb = argc > 1 && argv[1][0] != '-' ? argv[1] : "";
        return report(
            "invalid_argument",
            (verb.empty() ? "a verb is needed" : "'" + verb + "' is no verb") +
                "; expected decode, inspect, convert, make, bench or info (see pantograph --help)",
            kUsageError);
      }
      return report("invalid_argument", error.what(), kUsageError);
    } catch (const Error& error) {
      const bool cancelled = error.kind() == ErrorKind::kCancelled;
      return report(to_string(error.kind()), error.what(), cancelled ? signal_exit_code() : 1);
    } catch (const std::bad_alloc&) {
      return report("out_of_memory", "the machine has no memory left", 1);
    } catch (const std::exception& error) {
      return report("internal", error.what(), 1);
    }
  }

 private:
  int report(const char* kind, const std::string& message, int exit_code) const {
    std::fprintf(stderr, "pantograph: %s\n", message.c_str());
    if (decode_.json) {
      const Json error(Json::Object{{"kind", Json(std::string(kind))}, {"message", Json(message)}});
      std::printf("%s\n", Json(Json::Object{{"error", error}}).dump().c_str());
    }
    return exit_code;
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
    verb->add_option("-o,--output", job.output,
                     "FILE.mp4, FILE.safetensors, a folder for PNG frames, or - for YUV4MPEG2 on "
                     "standard output; for several files of latents a folder that gets a STEM.mp4 "
                     "of each, or a name with {} where the STEM goes")
        ->required();
    verb->add_option("--fps", job.video.frames_per_second, "Frames a second")
        ->capture_default_str();
    verb->add_option("--crf", job.video.crf, "H.264 quality, 0 (lossless) to 51 (default 18)");
    add_choice(verb, "--tensor-dtype", job.video.tensor_dtype,
               {{"f32", DType::kF32}, {"bf16", DType::kBF16}}, "f32 or bf16, for .safetensors");
    verb->add_option("--device", decode_.device, "auto, cpu, cuda or cuda:N")
        ->capture_default_str();
    add_choice(verb, "--precision", job.decode.precision,
               {{"f32", Precision::kF32}, {"bf16", Precision::kBF16}},
               "Of weights and activations (default: bf16 on a GPU, f32 on a CPU)");
    verb->add_option("--max-memory", decode_.max_memory_gib,
                     "GiB the decode may take besides the weights")
        ->check(CLI::PositiveNumber);
    verb->add_flag("--dry-run", decode_.dry_run, "Print the memory that the decode would take");
    verb->add_option("--frames-per-pass", job.decode.frames_per_pass,
                     "Latent frames decoded at once (default: the most that fits usual memory)")
        ->check(CLI::PositiveNumber);
    verb->add_option("--threads", job.decode.context.threads, "CPU threads (default: one a core)")
        ->check(CLI::PositiveNumber);
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
      action_ = [this] { convert(convert_); };
    });
  }

  void add_make() {
    CLI::App* verb = app_.add_subcommand("make", "Make synthetic checkpoints and latents");
    verb->require_subcommand(1);
    verb->footer(
        "Example:\n"
        "  pantograph make vae --tiny tiny-vae\n"
        "  pantograph make latents --shape 9,20,36 latents.safetensors");

    CLI::App* vae = verb->add_subcommand("vae", "A VAE checkpoint with seeded random weights");
    vae->add_option("folder", make_vae_.folder, "The folder to write")->required();
    vae->add_flag("--tiny", make_vae_.tiny, "1/32 of the released model's channels");
    vae->add_option("--seed", make_vae_.seed, "Another seed, other weights")->capture_default_str();
    add_choice(vae, "--dtype", make_vae_.dtype, kDTypes, "f32, bf16 or f16");
    vae->footer("Example:\n  pantograph make vae --tiny --dtype bf16 tiny-vae");
    vae->callback([this] { action_ = [this] { make_vae(make_vae_); }; });

    CLI::App* latents = verb->add_subcommand("latents", "Latents with seeded random numbers");
    latents->add_option("file", make_latents_.file, "The safetensors file to write")->required();
    latents->add_option("--shape", shape_, "T,h,w: latent frames, height and width")
        ->required()
        ->delimiter(',')
        ->expected(3);
    latents->add_option("--seed", make_latents_.seed, "Another seed, other latents")
        ->capture_default_str();
    add_choice(latents, "--dtype", make_latents_.dtype, kDTypes, "f32, bf16 or f16");
    latents->footer("Example:\n  pantograph make latents --shape 9,20,36 latents.safetensors");
    latents->callback([this] {
      action_ = [this] {
        make_latents_.frames = shape_[0];
        make_latents_.height = shape_[1];
        make_latents_.width = shape_[2];
        make_latents(make_latents_);
      };
    });
  }

  void add_bench() {
    CLI::App* verb = app_.add_subcommand("bench", "Measure speed, memory and error on a GPU");
    verb->require_subcommand(1);
    CLI::App* decode = verb->add_subcommand("decode", "The VAE's decode, with synthetic weights");
    bench::DecodeBench& bench = bench_decode_.bench;
    decode
        ->add_option(
            "--workload", bench.workloads,
            "f1, f5, f17, f121, f241 or f481 (frames of 704 x 1248), or FRAMESxHEIGHTxWIDTH")
        ->delimiter(',')
        ->capture_default_str();
    decode->add_option("--gpu", bench.device, "Which GPU")->capture_default_str();
    decode->add_option("--runs", bench.runs, "Timed decodes after one that warms up")
        ->check(CLI::NonNegativeNumber)
        ->capture_default_str();
    decode->add_flag("--check", bench.check, "Compare with an f32 decode");
    decode->add_flag("--kernels", bench.kernels, "Show GPU time by kernel");
    decode->add_option("--frames-per-pass", bench.frames_per_pass, "Latent frames decoded at once")
        ->check(CLI::PositiveNumber);
    decode->add_option("--max-memory", max_memory_gib_, "GiB besides the weights")
        ->check(CLI::PositiveNumber);
    decode->add_option("--json", bench_decode_.json, "Write the results there");
    decode->footer("Example:\n  pantograph bench decode --workload f1,f5,f17,f121 --check");
    decode->callback([this] {
      action_ = [this] {
        bench_decode_.bench.memory_limit = static_cast<std::size_t>(max_memory_gib_ * 0x1p30);
        bench_decode(bench_decode_);
      };
    });
  }

  void add_info() {
    CLI::App* verb = app_.add_subcommand("info", "Version, backends, devices and codecs");
    verb->footer("Example:\n  pantograph info");
    verb->callback([this] { action_ = info; });
  }

  CLI::App app_{"Decodes Wan2.2 VAE latents to video.", "pantograph"};
  DecodeCommand decode_;
  InspectCommand inspect_;
  ConvertJob convert_;
  DType dtype_ = DType::kF32;  // of a conversion, where given
  MakeVaeCommand make_vae_;
  MakeLatentsCommand make_latents_;
  BenchDecodeCommand bench_decode_;
  double max_memory_gib_ = 0;
  std::vector<std::int64_t> shape_;
  std::function<void()> action_;
};

}  // namespace
}  // namespace pantograph::cli

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // a closed pipe is an error of the write
  return pantograph::cli::CommandLine().run(argc, argv);
}
