#pragma once
#include "opdump/config/environment.hpp"
#include "opdump/config/parse.hpp"
#include "platform/posix/config_file.hpp"

namespace opdump::posix {
inline namespace OPDUMP_NAMESPACE {

/// The environment of this process; empty for a setuid program, see has_borrowed_rights.
class ProcessEnvironment final : public Environment {
 public:
  /// `makes_directories` false: a directory that could be made counts as usable, and is not made.
  explicit ProcessEnvironment(bool makes_directories) : makes_directories_(makes_directories) {}

  const char* variable(const char* name) override;
  bool usable(std::string_view directory) override;

 private:
  const bool makes_directories_;
};

/// Changes the config of `outcome`, an acl.json whose bytes `memory` holds, as CANN does in `environment`: the
/// directory of an exception dump is that of `plan_exceptions`, and a config that asks for nothing dumps
/// exceptions when a variable asks for them. The notes get what a variable has changed, and which variables have
/// no effect: unknown scenes, unusable directories, exceptions besides another dump. `no_memory` with the config
/// as it was. Configs of other layouts stay as they are. For boot: allocates.
Status follow_environment(Environment& environment, ConfigMemory& memory, ConfigOutcome& outcome);

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::posix
