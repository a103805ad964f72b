#undef OPDUMP_SMALL_CODE
#define OPDUMP_SMALL_CODE 1
#define OPDUMP_OVERFLOW 1
#include "tests/support/dump_of_all.hpp"

std::map<std::string, std::string> dump_of_small_code(bool with_statistics) {
  return dump_of_all(with_statistics ? opdump::DumpData::full : opdump::DumpData::tensor);
}

std::map<std::string, std::string> overflows_of_small_code() {
  return dump_of_all(opdump::DumpData::tensor, true);
}
