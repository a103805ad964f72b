#include "src/tool/cli/interrupt.hpp"

#include <signal.h>

#include <initializer_list>

namespace opdump::tool {
namespace {

volatile sig_atomic_t caught = 0;

extern "C" void note_signal(int signal) {
  caught = signal;
}

}  // namespace

void catch_interrupts() {
  struct sigaction action {};
  action.sa_handler = note_signal;
  sigemptyset(&action.sa_mask);
  // A second signal ends the process at once, should the first have no effect.
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before {};
    sigaction(signal, nullptr, &before);
    if (before.sa_handler != SIG_IGN) sigaction(signal, &action, nullptr);
  }
}

bool interrupted() {
  return caught != 0;
}

void die_of_interrupt() {
  signal(caught, SIG_DFL);
  raise(caught);
}

}  // namespace opdump::tool
