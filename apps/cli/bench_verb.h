// `pantograph bench`: its options. Included by main.cc only, as CLI11 is.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "commands.h"
#include "interrupt.h"
#include "options.h"

namespace pantograph::cli {

class BenchVerb {
 public:
  // Parsing puts what is to be done into `action`. Both outlive the parsing.
  void add(CLI::App& app, std::function<void()>& action) {
    CLI::App* verb = app.add_subcommand("bench", "Measure speed, memory and error");
    verb->require_subcommand(1);
    add_decode(verb, action);
    add_generate(verb, action);
    add_kernels(verb, action);
  }

 private:
  void add_decode(CLI::App* verb, std::function<void()>& action) {
    CLI::App* decode = verb->add_subcommand("decode", "The VAE's decode, with synthetic weights");
    bench::DecodeBench& bench = decode_.bench;
    decode
        ->add_option(
            "--workload", bench.workloads,
            "f1, f5, f17, f121, f241 or f481 (frames of 704 x 1248), or FRAMESxHEIGHTxWIDTH")
        ->delimiter(',')
        ->capture_default_str();
    decode->add_option("--device", decode_.device, "cpu, cuda or cuda:N")->capture_default_str();
    add_number(decode, "--threads", bench.threads, 1, "CPU threads (default: one a core)");
    decode->add_option("--gpus", bench.gpus, "GPUs that share one decode: one so far")
        ->check(CLI::Range(1, 1))
        ->capture_default_str();
    decode->add_option("--runs", bench.runs, "Timed decodes after one that warms up")
        ->check(CLI::NonNegativeNumber)
        ->capture_default_str();
    decode->add_flag("--check", bench.check, "Compare with an f32 decode");
    decode->add_flag("--kernels", bench.kernels, "Show GPU time by kernel");
    decode
        ->add_option("--frames-per-pass", bench.frames_per_pass,
                     "Latent frames decoded at once; 1: each is pushed by itself, as a stream is")
        ->check(CLI::PositiveNumber);
    decode
        ->add_option("--max-memory", max_memory_gib_,
                     "GiB of the device that a decode may take in all, weights included")
        ->check(CLI::PositiveNumber);
    add_algorithm(decode, bench.algorithm);
    decode
        ->add_option("-o,--output", bench.output,
                     "Time decodes into this video too (NAME.mp4, .mkv, .mov or .safetensors, or - "
                     "for YUV4MPEG2 on standard output), and its encoder alone")
        ->type_name("FILE");
    decode->add_option("--json", decode_.json, "Write the results there");
    decode->footer("Example:\n  pantograph bench decode --workload f1,f5,f17,f121 --check");
    decode->callback([this, &action] {
      action = [this] {
        decode_.bench.memory_limit = static_cast<std::size_t>(max_memory_gib_ * 0x1p30);
        bench_decode(decode_);
      };
    });
  }

  void add_generate(CLI::App* verb, std::function<void()>& action) {
    CLI::App* generate = verb->add_subcommand("generate", "A generation's stages on a CPU");
    bench::GenerateBench& bench = generate_.bench;
    generate
        ->add_option("--model", bench.model,
                     "A PAN 2 checkpoint (default: a tiny synthetic one, made for the run)")
        ->type_name("DIR");
    generate->add_option("--device", generate_device_, "cpu")
        ->check(CLI::IsMember({"cpu"}))
        ->capture_default_str();
    add_number(generate, "--frames", bench.frames, 1, "Frames of the video (default 33)");
    add_number(generate, "--height", bench.height, 1, "Pixels (default 320)");
    add_number(generate, "--width", bench.width, 1, "Pixels (default 576)");
    add_number(generate, "--steps", bench.steps, 1, "Denoising steps a run (default 4)");
    add_number(generate, "--runs", bench.runs, 1, "Timed, after one that warms up (default 3)");
    add_number(generate, "--threads", bench.threads, 1, "CPU threads (default: one a core)");
    generate->add_option("--json", generate_.json, "Write the results there");
    generate->footer("Example:\n  pantograph bench generate --device cpu --json result.json");
    generate->callback([this, &action] {
      action = [this] {
        cancel_on_signal(generate_.bench.cancel);
        bench_generate(generate_);
      };
    });
  }

  void add_kernels(CLI::App* verb, std::function<void()>& action) {
    CLI::App* kernels =
        verb->add_subcommand("kernels", "The kernels of the fast decode alone, on a Hopper GPU");
    kernels->add_option("--device", kernels_.device, "cuda or cuda:N")->capture_default_str();
    kernels->add_option("--json", kernels_.json, "Write the results there");
    kernels->footer("Example:\n  pantograph bench kernels --json kernels.json");
    kernels->callback([this, &action] { action = [this] { bench_kernels(kernels_); }; });
  }

  BenchDecodeCommand decode_;
  BenchGenerateCommand generate_;
  BenchKernelsCommand kernels_;
  std::string generate_device_ = "cpu";
  double max_memory_gib_ = 0;
};

}  // namespace pantograph::cli
