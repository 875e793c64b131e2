#include <cstdio>
#include <fstream>

#include "commands.h"
#include "core/check.h"
#include "device/choose.h"

namespace pantograph::cli {
namespace {

void say(const std::string& line) {
  std::fprintf(stderr, "%s\n", line.c_str());
}

void print(const Json& result, const std::filesystem::path& path) {
  const std::string text = result.dump(2) + "\n";
  if (path.empty()) {
    std::fputs(text.c_str(), stdout);
    return;
  }
  std::ofstream file(path);
  file << text;
  file.close();
  if (!file) fail(ErrorKind::kIo, path.string(), ": could not be written");
}

}  // namespace

void bench_decode(const BenchDecodeCommand& command) {
  bench::DecodeBench options = command.bench;
  if (options.output == "-" && command.json.empty()) {
    fail(ErrorKind::kInvalidArgument,
         "the results and -o - both want standard output; name a file for the results with --json");
  }
  options.device = device::choose(command.device).device;
  const bool cpu = options.device.kind == DeviceKind::kCpu;
  print(cpu ? bench::run_on_cpu(options, say) : bench::run(options, say), command.json);
}

void bench_generate(const BenchGenerateCommand& command) {
  print(bench::run(command.bench, say), command.json);
}

void bench_kernels(const BenchKernelsCommand& command) {
  const Device device = device::choose(command.device).device;
  if (device.kind != DeviceKind::kCuda) {
    fail(ErrorKind::kInvalidArgument, "--device ", command.device,
         " is the CPU, and the kernels are a GPU's; expected cuda or cuda:N");
  }
  print(bench::run(bench::KernelBench{.device = device}, say), command.json);
}

}  // namespace pantograph::cli
