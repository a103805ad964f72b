#include "opdump/acl_session.h"

#include <memory>
#include <string>
#include <utility>

#include "opdump/acl.hpp"
#include "src/acl/process_dump.hpp"
#include "src/c_api/c_text.hpp"
#include "src/c_api/handles.hpp"

namespace opdump::c_api {
inline namespace OPDUMP_NAMESPACE {
OPDUMP_LAYOUT(opdump_acl_memory, 40, 20, OPDUMP_FIELD(struct_bytes, 0, 0), OPDUMP_FIELD(memory, 8, 4),
              OPDUMP_FIELD(context, 16, 8), OPDUMP_FIELD(overflowed, 24, 12),
              OPDUMP_FIELD(device_id, 32, 16));
}
}  // namespace opdump::c_api

using namespace opdump;
using acl::ProcessDump;

namespace {

/// What a C program's memory can do, with its device.
class CMemory {
 public:
  CMemory(const opdump_memory& port, const opdump_acl_memory& options) : memory_(port), options_(options) {}

  using Copy = c_api::PortMemory::Copy;
  static constexpr std::size_t kMaxCopies = c_api::PortMemory::kMaxCopies;

  [[nodiscard]] Status copy(std::byte* to, Address from, std::size_t bytes) {
    return memory_.copy(to, from, bytes);
  }
  [[nodiscard]] Status start(Copy& copy, std::byte* to, Address from, std::size_t bytes) {
    return memory_.start(copy, to, from, bytes);
  }
  [[nodiscard]] Result<bool> poll(Copy& copy) { return memory_.poll(copy); }
  [[nodiscard]] Result<bool> complete(Copy& copy, std::uint32_t limit_ms) {
    return memory_.complete(copy, limit_ms);
  }
  [[nodiscard]] Status fence(std::uint32_t stream_id) { return memory_.fence(stream_id); }
  void will_read(Address from, std::uint64_t bytes) { memory_.will_read(from, bytes); }
  Bytes view(Address from, std::uint64_t bytes) const { return memory_.view(from, bytes); }
  CopyRules copy_rules() const { return memory_.copy_rules(); }
  Result<bool> overflowed(std::uint32_t stream_id) { return c_api::ask_overflowed(options_, stream_id); }
  std::uint32_t device_id() const { return options_.device_id; }

 private:
  c_api::PortMemory memory_;
  opdump_acl_memory options_;
};

/// How the program hears lines.
struct Listener {
  opdump_say say = nullptr;
  void* context = nullptr;
};

void say_line(void* listener, std::string_view line) {
  const Listener& to = *static_cast<const Listener*>(listener);
  to.say(to.context, line.data(), line.size());
}

}  // namespace

extern "C" {

opdump_session* opdump_acl_session(void) {
  // Never destroyed, as the session is not.
  static opdump_sink& sink = *new opdump_sink{ProcessDump::instance().sink()};
  static opdump_session& handle = *new opdump_session(acl::session(), sink);
  return &handle;
}

opdump_status opdump_acl_use_product(std::uint32_t product) {
  if (product > OPDUMP_ACL_NANO) return OPDUMP_ERR_INVALID_ARGUMENT;
  acl::use_product(static_cast<acl::Product>(product));
  return OPDUMP_OK;
}

opdump_status opdump_acl_use_memory(const opdump_acl_memory* from) {
  opdump_acl_memory options;
  opdump_memory port;
  Status status = c_api::take_struct(from, options);
  if (status == Status::ok) status = c_api::take_memory(options.memory, port);
  if (status != Status::ok) return c_api::to_c(status);
  auto memory = std::make_shared<CMemory>(port, options);
  return c_api::to_c(acl::use_carried_memory(c_api::CarriedMemory::carry(std::move(memory))));
}

void opdump_acl_log_to(opdump_say say, void* context) {
  static Listener& listener = *new Listener;
  acl::log_to(nullptr, nullptr);
  listener = {say, context};
  if (say != nullptr) acl::log_to(say_line, &listener);
}

std::size_t opdump_acl_last_error(char* text, std::size_t bytes) {
  return c_api::give_text(acl::last_error(), text, bytes);
}

}  // extern "C"
