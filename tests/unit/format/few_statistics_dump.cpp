#undef OPDUMP_ALL_STATISTICS
#define OPDUMP_ALL_STATISTICS 0
#include "tests/support/dump_of_all.hpp"

std::map<std::string, std::string> dump_of_few_statistics() {
  return dump_of_all(opdump::DumpData::full);
}
