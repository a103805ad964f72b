// What a firmware needs to read its config: load_plan, as it is called at boot.

#include "opdump/config/blob.hpp"

using namespace opdump;

extern "C" {
Status size_load_plan(Bytes plan, Arena& memory, DumpConfig& config) {
  return load_plan(plan, memory, config);
}
}
