#include "opdump/acl.h"

#include "src/acl/process_dump.hpp"

using opdump::acl::ProcessDump;

extern "C" {

aclError aclInit(const char* configPath) {
  return ProcessDump::instance().init(configPath);
}

aclError aclFinalize(void) {
  return ProcessDump::instance().finalize();
}

aclError aclmdlInitDump(void) {
  return ProcessDump::instance().init_dump();
}

aclError aclmdlSetDump(const char* dumpCfgPath) {
  return ProcessDump::instance().set_dump(dumpCfgPath);
}

aclError aclmdlFinalizeDump(void) {
  return ProcessDump::instance().finalize_dump();
}

aclError acldumpRegCallback(int32_t (*messageCallback)(const acldumpChunk*, int32_t), int32_t flag) {
  return ProcessDump::instance().register_callback(messageCallback, flag);
}

void acldumpUnregCallback(void) {
  ProcessDump::instance().unregister_callback();
}

const char* acldumpGetPath(acldumpType dumpType) {
  return ProcessDump::instance().path_of(dumpType);
}

}  // extern "C"
