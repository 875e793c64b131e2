// The verbs of the command line, each given what was parsed. They print results to standard output,
// everything else to standard error, and throw Error.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "bench/decode_bench.h"
#include "bench/generate_bench.h"
#include "bench/kernel_bench.h"
#include "checkpoint/synthetic_writer.h"
#include "pipeline/convert_job.h"
#include "pipeline/decode_job.h"
#include "pipeline/encode_job.h"
#include "pipeline/generate_job.h"

namespace pantograph::cli {

struct DecodeCommand {
  DecodeJob job;
  std::string device = "auto";
  double max_memory_gib = 0;  // 0: no limit
  bool dry_run = false;
  bool json = false;
};
void decode(const DecodeCommand& command);

struct EncodeCommand {
  EncodeJob job;
  bool json = false;
};
void encode(const EncodeCommand& command);

struct GenerateCommand {
  GenerateJob job;
  std::vector<std::string> adapters;  // FILE or FILE:SCALE
  std::string device = "auto";
  double max_memory_gib = 0;  // 0: no limit
  bool dry_run = false;
  bool json = false;
};
void generate(const GenerateCommand& command);

struct InspectCommand {
  std::filesystem::path path;
};
void inspect(const InspectCommand& command);

void convert(const ConvertJob& job);

struct MakeCheckpointCommand {
  std::filesystem::path folder;
  bool tiny = false;
  SyntheticOptions options;
};
void make_vae(const MakeCheckpointCommand& command);
void make_pan2(const MakeCheckpointCommand& command);

struct MakeLatentsCommand {
  std::filesystem::path file;
  std::int64_t frames = 0, height = 0, width = 0;
  std::uint64_t seed = 0;
  DType dtype = DType::kF32;
};
void make_latents(const MakeLatentsCommand& command);

struct BenchDecodeCommand {
  bench::DecodeBench bench;
  std::string device = "cuda";
  std::filesystem::path json;
};
void bench_decode(const BenchDecodeCommand& command);

struct BenchGenerateCommand {
  bench::GenerateBench bench;
  std::filesystem::path json;
};
void bench_generate(const BenchGenerateCommand& command);

struct BenchKernelsCommand {
  std::string device = "cuda";
  std::filesystem::path json;
};
void bench_kernels(const BenchKernelsCommand& command);

void info();

}  // namespace pantograph::cli
