#undef OPDUMP_SMALL_CODE
#undef OPDUMP_JOURNAL
#undef OPDUMP_DEGRADE
#define OPDUMP_SMALL_CODE 1
#define OPDUMP_JOURNAL 0
#define OPDUMP_DEGRADE 0
#include "tests/support/dump_of_all.hpp"

std::map<std::string, std::string> dump_of_smallest_code() {
  return dump_of_all(opdump::DumpData::tensor);
}
