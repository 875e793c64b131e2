// The program at a terminal.
#pragma once

#include <pty.h>

#include <string>
#include <utility>

#include "program.h"

namespace pantograph::test {

// Everything that the program writes to a terminal that is all its standard streams.
inline std::pair<int, std::string> run_on_terminal(const Arguments& arguments) {
  int terminal = -1;
  const pid_t process = ::forkpty(&terminal, nullptr, nullptr, nullptr);
  if (process == 0) execute(arguments);
  std::string text;
  char part[4096];
  // Linux fails the read with EIO when the other end is closed.
  for (::ssize_t count; (count = ::read(terminal, part, sizeof(part))) > 0;) {
    text.append(part, static_cast<std::size_t>(count));
  }
  const int code = exit_code_of(process);
  ::close(terminal);
  return {code, text};
}

}  // namespace pantograph::test
