#pragma once
#include <signal.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace opdump::tests {

constexpr int kSkipped = 77;

/// Ends a child with the line number of the first thing that is not so.
#define OPDUMP_CHILD_CHECK(...)                                                          \
  do {                                                                                   \
    if (!(__VA_ARGS__)) {                                                                \
      std::fprintf(stderr, "%s:%d: in a child: %s\n", __FILE__, __LINE__, #__VA_ARGS__); \
      _exit(1);                                                                          \
    }                                                                                    \
  } while (false)

/// Starts a process that runs `body` and ends with what it returns, without destroying anything else.
template <class Body>
pid_t start_child(Body body) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) _exit(body());
  return child;
}

/// In a child that would hang where it waits for a thread it does not have. `wait_for` tells when it did.
inline void limit_child() {
  constexpr unsigned kSeconds = 300;
  alarm(kSeconds);
}

/// Exit code of `child`; -1 if it was killed or never started.
inline int wait_for(pid_t child) {
  int status = 0;
  if (child < 0) return -1;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return -1;
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
    std::fprintf(stderr, "a child reached its limit of minutes, and has not ended\n");
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

template <class Body>
int in_child(Body body) {
  return wait_for(start_child(body));
}

}  // namespace opdump::tests
