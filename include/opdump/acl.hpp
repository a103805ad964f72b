#pragma once
#include <cstdint>
#include <string>

#include "opdump/acl.h"
#include "opdump/session.hpp"

namespace opdump::acl {
inline namespace OPDUMP_NAMESPACE {

/// The session behind the calls of opdump/acl.h: one per process, as these are the process's. The runtime
/// adds its recorders and loads its models here, after aclInit; begin_step, capture and end_step are the
/// recorders'. Init, configs and finalize are left to the ACL calls.
using Session = BasicSession<DeviceMemory>;
Session& session();

/// Whose rules the ACL calls follow where they differ.
enum class Product : std::uint8_t {
  server,
  /// aclInit is counted: every further call returns 0, and aclFinalize is called as often; whatever is wrong
  /// with the first one is 500000. aclmdlInitDump, aclmdlSetDump and aclmdlFinalizeDump are not there:
  /// 200001.
  nano,
};

/// `Product::server` unless it is called, before aclInit.
void use_product(Product product);

/// Where tensors lie from now on; plain memory unless it is called. Before aclInit.
void use_memory(DeviceMemory& memory);

/// Lets `hook` hear from now on which configs switch nothing on and what each model will cost. What has no
/// effect of a config is in `last_error`. Null: nobody, as at first.
void log_to(LogHook hook, void* context);

/// Why the last refused call failed, for logs. Of any thread.
std::string last_error();

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::acl
