#include "cli/interrupt.h"

#include <csignal>

namespace flagos::diag {
namespace {

volatile std::sig_atomic_t g_interrupted = 0;

}  // namespace

void catch_interrupt() {
  struct sigaction action {};
  action.sa_handler = [](int) { g_interrupted = 1; };
  // A waiting poll() returns all the same; what is being written or read is not cut short.
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

bool interrupted() noexcept { return g_interrupted != 0; }

}  // namespace flagos::diag
