// What a program calls of the simulated driver before and behind all else, and how a process that a test
// starts gets the driver it wants: by the variable SIMULATED_ASCEND, whose words are
//
//   rc unsupported hides_run_mode   as in SimulatedAscend
//   fail=NAME:CODE                  as simulated_ascend_fail_function
//   fail_call=NUMBER:CODE           as simulated_ascend_fail_call
//   hang=NAME crash=NAME            the first call of that function never returns, or ends the process
//   wrong                           what the device is given comes back as something else
//   no_devices                      there is none

#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>

#include "simulated_ascend.hpp"

namespace {

[[maybe_unused]] constexpr int kUnknownPackage = 100000;
[[maybe_unused]] constexpr int kRepeatInitialize = 100002;

[[maybe_unused]] bool initialised = false;
bool has_devices = true;

std::string variable() {
  const char* const value = std::getenv("SIMULATED_ASCEND");
  return value == nullptr ? "" : value;
}

__attribute__((constructor)) void follow_variable() {
  if (variable().empty()) return;
  SimulatedAscend how;
  std::istringstream words(variable());
  std::string word, failing;
  std::uint64_t failing_call = ~std::uint64_t{0};
  int failing_code = 0, call_code = 0;
  while (words >> word) {
    const std::string value = word.substr(word.find('=') + 1);
    const int code = std::atoi(value.substr(value.find(':') + 1).c_str());
    if (word == "rc") how.rc = true;
    if (word == "unsupported") how.unsupported = true;
    if (word == "hides_run_mode") how.hides_run_mode = true;
    if (word == "wrong") how.wrong = true;
    if (word == "no_devices") has_devices = false;
    if (word.rfind("hang=", 0) == 0) std::strncpy(how.hangs, value.c_str(), sizeof how.hangs - 1);
    if (word.rfind("crash=", 0) == 0) std::strncpy(how.crashes, value.c_str(), sizeof how.crashes - 1);
    if (word.rfind("fail=", 0) == 0) {
      failing = value.substr(0, value.find(':'));
      failing_code = code;
    }
    if (word.rfind("fail_call=", 0) == 0) {
      failing_call = std::strtoull(value.c_str(), nullptr, 10);
      call_code = code;
    }
  }
  simulated_ascend_reset(&how);
  if (!failing.empty()) simulated_ascend_fail_function(failing.c_str(), failing_code);
  simulated_ascend_fail_call(failing_call, call_code);
}

}  // namespace

#define EXPORTED extern "C" __attribute__((visibility("default")))

#if !SIMULATED_RT
EXPORTED int aclInit(const char*) {
  if (const int code = simulated_ascend_begin_call(__func__, true); code != 0) return code;
  if (initialised) return kRepeatInitialize;
  initialised = true;
  return 0;
}
EXPORTED int aclFinalize() {
  if (const int code = simulated_ascend_begin_call(__func__, true); code != 0) return code;
  initialised = false;
  return 0;
}
EXPORTED int aclrtGetVersion(int32_t* major, int32_t* minor, int32_t* patch) {
  if (const int code = simulated_ascend_begin_call(__func__, true); code != 0) return code;
  *major = 1;
  *minor = 14;
  *patch = 0;
  return 0;
}
#endif

#if !SIMULATED_RT && !SIMULATED_NANO
EXPORTED int aclsysGetVersionStr(char* package, char* text) {
  if (const int code = simulated_ascend_begin_call(__func__, true); code != 0) return code;
  if (std::strcmp(package, "runtime") != 0) return kUnknownPackage;
  std::strcpy(text, "8.5.0-simulated");
  return 0;
}
EXPORTED int aclrtGetDeviceCount(uint32_t* count) {
  if (const int code = simulated_ascend_begin_call(__func__, true); code != 0) return code;
  *count = has_devices ? 2 : 0;
  return 0;
}
EXPORTED const char* aclrtGetSocName() {
  return simulated_ascend_begin_call(__func__, true) == 0 ? "Ascend310B4" : nullptr;
}
#endif
