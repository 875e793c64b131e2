// The program as a user starts it: arguments in; exit code, output and messages back.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "support/golden_clip.h"
#include "support/temp_dir.h"

namespace pantograph::test {

using Arguments = std::vector<std::string>;

// Opened once, so that it starts for a user who may not look into the build folder, too.
inline const int kProgram = ::open(PANTOGRAPH_PROGRAM, O_PATH | O_CLOEXEC);

// Replaces the process by the program; for the child of a fork.
[[noreturn]] inline void execute(const Arguments& arguments) {
  std::vector<char*> argv = {const_cast<char*>("pantograph")};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  ::fexecve(kProgram, argv.data(), ::environ);
  ::_exit(127);
}

// What a shell would say of it: the code, or 128 + the signal that ended it.
inline int exit_code_of(pid_t process) {
  int status = 0;
  while (::waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

struct Result {
  int exit_code = -1;
  std::string out, err;
};

// A running program. Both its outputs go to files, so that neither can block it; its input is one.
class Program {
 public:
  explicit Program(const Arguments& arguments, const std::filesystem::path& input = "/dev/null") {
    process_ = ::fork();
    if (process_ != 0) return;
    ::signal(SIGINT, SIG_DFL);  // a test run in the background would pass on that it is ignored
    ::dup2(::open(input.c_str(), O_RDONLY), STDIN_FILENO);
    send_to(STDOUT_FILENO, folder_ / "out");
    send_to(STDERR_FILENO, folder_ / "err");
    execute(arguments);
  }

  [[nodiscard]] pid_t process() const { return process_; }
  Result wait() {
    const int code = exit_code_of(process_);
    return {code, read_file(folder_ / "out"), read_file(folder_ / "err")};
  }

 private:
  static void send_to(int descriptor, const std::filesystem::path& file) {
    ::dup2(::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), descriptor);
  }
  TempDir folder_;
  pid_t process_ = -1;
};

inline Result run(const Arguments& arguments, const std::filesystem::path& input = "/dev/null") {
  return Program(arguments, input).wait();
}

inline Arguments operator+(Arguments arguments, const Arguments& more) {
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

// `pantograph decode` of raw latents in f32, by default with a golden checkpoint.
inline Arguments decode(const std::filesystem::path& latents, const std::filesystem::path& output,
                        const std::filesystem::path& vae = golden("tiny")) {
  return {"decode",         "--vae",          vae.string(), "--latents",
          latents.string(), "--latent-scale", "raw",        "-o",
          output.string(),  "--device",       "cpu"};
}

inline std::filesystem::path golden_clip(const std::string& name) {
  return golden("tiny/clips/" + name + ".safetensors");
}

// One line on standard error that says `parts`, the exit code, and nothing on standard output.
inline void expect_failure(const Result& result, int exit_code,
                           const std::vector<std::string>& parts) {
  EXPECT_EQ(result.exit_code, exit_code) << result.err;
  EXPECT_TRUE(result.err.starts_with("pantograph: ")) << result.err;
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  EXPECT_EQ(result.out, "");
  for (const std::string& part : parts) {
    EXPECT_NE(result.err.find(part), std::string::npos)
        << "no \"" << part << "\" in: " << result.err;
  }
}

inline constexpr int kFailed = 1;
inline constexpr int kUsage = 2;  // the command itself cannot be right

// A test with a folder of its own, where outputs go.
class CliTest : public testing::Test {
 protected:
  // The folder stays as it was: no output, no temporary.
  void expect_refused(const Arguments& arguments, int exit_code,
                      const std::vector<std::string>& parts) {
    const std::ptrdiff_t before = folder_.entries();
    expect_failure(run(arguments), exit_code, parts);
    EXPECT_EQ(folder_.entries(), before);
  }

  TempDir folder_;
};

}  // namespace pantograph::test
