#pragma once
#include <cstdint>
#include <string>

#include "opdump/acl.h"
#include "opdump/impl/c_api/carried_memory.hpp"
#include "opdump/session.hpp"

namespace opdump::acl {
inline namespace OPDUMP_NAMESPACE {

/// The session behind the calls of opdump/acl.h: one per process, because those calls are the process's.
/// After aclInit the runtime adds its recorders and loads its models here; it calls begin_step, capture and
/// end_step on the recorders. Leave init, configs and finalize to the ACL calls.
using Session = BasicSession<c_api::PortMemory>;
Session& session();

/// Whose rules the ACL calls follow where they differ.
enum class Product : std::uint8_t {
  server,
  /// aclInit is counted: every further call returns 0, and aclFinalize is called as often. A config that is
  /// missing or refused leaves the dump off, as the log and `last_error` say, and aclInit returns 0; it
  /// returns 500000 when dumping cannot start. Configs are read as `ConfigContext::nano` says.
  /// aclmdlInitDump, aclmdlSetDump and aclmdlFinalizeDump are not there: 200001.
  nano,
};

/// Call it before aclInit; without a call the product is `Product::server`.
void use_product(Product product);

/// As `use_memory`, of a memory of any kind. `already_initialised` while the session is.
[[nodiscard]] Status use_carried_memory(const c_api::CarriedMemory& memory);

/// Where tensors lie from now on, and which device the session is of, if `memory` says that; without a call they lie
/// in plain memory, of device 0. The session does all that the concepts of device_memory.hpp say of the type
/// `Memory`, but for maps and the device's own statistics: it makes copies in the background, waits for the stream's
/// operators, and asks for overflows. The memory's rules and device count as they are when dumping starts. Call it
/// while nothing dumps, such as before aclInit: otherwise nothing changes, and `last_error` says so. `memory` stays.
template <class Memory>
void use_memory(Memory& memory) {
  static_cast<void>(use_carried_memory(c_api::CarriedMemory::carry(memory)));
}

/// Lets `hook` hear from now on which configs switch nothing on and what each model will cost. `last_error`
/// says what of a config has no effect. Null: nobody hears, as at first.
void log_to(LogHook hook, void* context);

/// Why the last refused call failed, for logs. Any thread may ask.
std::string last_error();

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::acl
