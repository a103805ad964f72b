#pragma once
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "opdump/acl.hpp"
#include "opdump/config/environment.hpp"
#include "platform/posix/config_file.hpp"
#include "platform/posix/dump_kit.hpp"
#include "src/acl/routed_sink.hpp"

namespace opdump::acl {
inline namespace OPDUMP_NAMESPACE {

/// What the process has made of the ACL dump calls, one at a time. Source of order and codes: CANN's aclInit,
/// aclFinalize, aclmdlInitDump, aclmdlSetDump and aclmdlFinalizeDump.
class ProcessDump {
 public:
  static ProcessDump& instance();

  aclError init(const char* path);
  aclError finalize();
  aclError init_dump();
  aclError set_dump(const char* path);
  aclError finalize_dump();
  aclError register_callback(ChunkCallback callback, std::int32_t flag);
  void unregister_callback();
  const char* path_of(acldumpType type);

  void use_product(Product product);
  Session& session() { return kit_.session(); }
  Sink& sink() { return kit_.store(); }
  Status use_memory(const c_api::CarriedMemory& memory);
  void log_to(LogHook hook, void* context);
  std::string last_error();

 private:
  ProcessDump();

  aclError init_once(const char* path);
  aclError finalize_once();
  aclError check_ready(const char* call);
  std::string directory_of(acldumpType type) const;
  aclError fail(aclError code, std::string reason);
  void follow_memory();
  aclError start();
  aclError stop();
  aclError use_config(const char* path);
  void tell_losses();                       ///< those that the log has not been told of
  void note_line(const std::string& line);  ///< adds it to `error_`
  static bool read_content(const char* path, std::string& content);

  std::mutex mutex_;
  std::string error_;
  Product product_ = Product::server;
  std::uint32_t lost_told_ = 0;
  std::uint32_t inits_ = 0;  ///< of a nano product: aclInit less aclFinalize
  bool initialised_ = false;
  bool finalized_ = false;  ///< aclFinalize was the last of the two
  bool ever_initialised_ = false;
  bool dump_ready_ = false;    ///< between aclmdlInitDump and aclmdlFinalizeDump
  std::string first_content_;  ///< of the config of the first aclInit

  /// Configs stay in use until the session is finalized.
  std::vector<std::unique_ptr<posix::ConfigMemory>> configs_;

  c_api::CarriedMemory carried_;
  c_api::PortMemory memory_{{}};
  std::byte scratch_[4096];
  alignas(8) std::byte watch_[64 * 1024];
  /// In ACL each model that is loaded may have a config of its own.
  static constexpr std::size_t kMoreConfigs = 60;
  alignas(8) std::byte more_configs_[more_config_bytes(kMoreConfigs)];
  posix::DumpKit<c_api::PortMemory, RoutedSink> kit_;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::acl
