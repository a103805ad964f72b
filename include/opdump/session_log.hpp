#pragma once
#include <cstdint>

#include "opdump/dump_config.hpp"
#include "opdump/model_plan.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// Is told what a session makes of its configs and models, on the control context. A session is given one by
/// address, so that firmware without any carries no code for it; TextLog makes lines of text.
class SessionLog {
 public:
  /// `config` has been given to the session of that device, and may be refused yet.
  virtual void config_set(const DumpConfig& config, std::uint32_t device_id) = 0;

  /// `config`, which is active, has been resolved against the model of `plan`.
  virtual void model_loaded(const DumpConfig& config, const ModelPlan& plan) = 0;

 protected:
  ~SessionLog() = default;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
