// What a firmware needs to say what became of a call.

#include "opdump/base/status.hpp"

extern "C" const char* size_say(opdump::Status status) {
  return opdump::to_string(status).data();
}
