// The tests of platform/opencl, on whatever devices there are; PoCL's two, one that works inside each call
// and one with threads, unless the environment says otherwise. Without a device: exit status 77, skipped.

#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>

#include "rig.hpp"
#include "tests/support/temporary_directory.hpp"

int main(int argc, char** argv) {
  constexpr int kSkipped = 77;
  const opdump::tests::TemporaryDirectory cache;
  setenv("POCL_DEVICES", "basic pthread", 0);
  setenv("POCL_CACHE_DIR", cache.text().c_str(), 0);
  if (opdump::tests::all_devices().empty()) {
    std::printf("skipped: there is no device of OpenCL here; Debian has one in pocl-opencl-icd\n");
    return kSkipped;
  }
  for (const cl_device_id device : opdump::tests::all_devices())
    std::printf("device: %s\n", opdump::tests::name_of(device).c_str());
  return doctest::Context(argc, argv).run();
}
