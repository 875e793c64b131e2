#include <cstdio>
#include <fstream>

#include "bench/decode_bench.h"
#include "commands.h"
#include "core/check.h"

namespace pantograph::cli {

void bench_decode(const BenchDecodeCommand& command) {
  const Json result = bench::run(
      command.bench, [](const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); });
  const std::string text = result.dump(2) + "\n";
  if (command.json.empty()) {
    std::fputs(text.c_str(), stdout);
    return;
  }
  std::ofstream file(command.json);
  file << text;
  file.close();
  if (!file) fail(ErrorKind::kIo, command.json.string(), ": could not be written");
}

}  // namespace pantograph::cli
