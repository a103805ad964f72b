#include "src/tool/commands/doctor/call_watch.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <iterator>

#include "src/tool/cli/exit_code.hpp"

namespace opdump::tool {
namespace {

constexpr int kDeadly[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};

unsigned limit_seconds = 30;

// What the handler says; it may not put texts together.
char too_long[400];
char crashed[400];

struct sigaction before[std::size(kDeadly)];
struct sigaction before_alarm;

extern "C" void tell_of_call(int signal) {
  const char* const text = signal == SIGALRM ? too_long : crashed;
  std::size_t bytes = 0;
  while (text[bytes] != '\0') ++bytes;
  static_cast<void>(!::write(STDERR_FILENO, text, bytes));
  ::_exit(kExitFailed);
}

}  // namespace

CallWatch::CallWatch(const std::string& what) {
  constexpr char kAdvice[] =
      "the system's log and the driver's own may say why; "
      "'opdump doctor --no-trial' leaves the device alone";
  std::snprintf(too_long, sizeof too_long, "opdump doctor: %.150s has not come back for %u s; %s\n",
                what.c_str(), limit_seconds, kAdvice);
  std::snprintf(crashed, sizeof crashed, "opdump doctor: %.150s has crashed; %s\n", what.c_str(), kAdvice);
  std::fflush(stdout);
  struct sigaction action {};
  action.sa_handler = tell_of_call;
  sigemptyset(&action.sa_mask);
  for (std::size_t i = 0; i < std::size(kDeadly); ++i) ::sigaction(kDeadly[i], &action, &before[i]);
  ::sigaction(SIGALRM, &action, &before_alarm);
  ::alarm(limit_seconds);
}

CallWatch::~CallWatch() {
  ::alarm(0);
  for (std::size_t i = 0; i < std::size(kDeadly); ++i) ::sigaction(kDeadly[i], &before[i], nullptr);
  ::sigaction(SIGALRM, &before_alarm, nullptr);
}

void CallWatch::set_limit(unsigned seconds) {
  limit_seconds = seconds;
}

}  // namespace opdump::tool
