#include "interrupt.h"

#include <atomic>
#include <csignal>

namespace pantograph::cli {
namespace {

// A signal handler can reach nothing but globals; these are written once, before it is installed.
CancelToken* token_to_cancel = nullptr;
std::atomic<int> received{SIGINT};

void handle(int signal) {
  received = signal;
  token_to_cancel->cancel();
  std::signal(signal, SIG_DFL);
}

}  // namespace

void cancel_on_signal(const CancelToken& token) {
  static CancelToken kept = token;
  token_to_cancel = &kept;
  std::signal(SIGINT, handle);
  std::signal(SIGTERM, handle);
  if (std::signal(SIGHUP, handle) == SIG_IGN) std::signal(SIGHUP, SIG_IGN);  // under nohup
}

int signal_exit_code() {
  return 128 + received;
}

}  // namespace pantograph::cli
