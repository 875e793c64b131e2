// Ctrl-C, a polite kill and a closed terminal stop the work, not the process.
#pragma once

#include "pantograph/execution_context.h"

namespace pantograph::cli {

// From now on SIGINT, SIGTERM and SIGHUP trigger the token; a second one ends the process at once.
void cancel_on_signal(const CancelToken& token);

// What a shell expects from a program ended by the signal that came: 130 for SIGINT, 143 for
// SIGTERM.
int signal_exit_code();

}  // namespace pantograph::cli
