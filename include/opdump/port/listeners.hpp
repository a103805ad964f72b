#pragma once
#include <cstdint>
#include <string_view>

#include "opdump/types/account.hpp"
#include "opdump/types/config.hpp"
#include "opdump/types/faulty_tensor.hpp"
#include "opdump/types/plan.hpp"
#include "opdump/types/watch.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// Takes one line without its end, which is good during the call. Must not call back into the object that calls it.
using LogHook = void (*)(void* context, std::string_view line);

/// Hears of each overwrite. Called on the recorder's thread or interrupt; must not block for long.
class WatchListener {
 public:
  virtual void overwritten(const Overwrite& overwrite) = 0;

 protected:
  ~WatchListener() = default;
};

/// Hears, on the control context, what a session makes of its configs and models, and, on the recorder's,
/// which tensors are faulty. A session is given one by address, so that firmware without a log carries no
/// code for it; TextLog makes lines of text.
class SessionLog {
 public:
  /// The session of that device was given `config`, and may still refuse it.
  virtual void config_set(const DumpConfig& config, std::uint32_t device_id) = 0;

  /// The config asks for options, none of which counts for the session: neither `boot` nor
  /// `BasicSession::configure` got them. Not with OPDUMP_SMALL_CODE.
  virtual void options_ignored() {}

  /// `config`, which is active, has been resolved against the model of `plan`.
  virtual void model_loaded(const DumpConfig& config, const ModelPlan& plan) = 0;

  /// A config asked for `what`, and it was never captured. Names are reported when a model is loaded that should have
  /// them, all else when the model is unloaded or the config is no longer in force. Not with OPDUMP_SMALL_CODE.
  virtual void never_captured([[maybe_unused]] const NeverCaptured& what) {}

  /// A tensor of a wanted operator is faulty: the first one that lost a record as `invalid`, once per
  /// operator and loading; or, with `spare_bytes` or `no_statistics`, a tensor that is doubtful when it is
  /// first captured. Unlike the other calls, this one comes on the recorder's thread or interrupt, between
  /// captures of other recorders, and must not block for long. Not with OPDUMP_SMALL_CODE.
  virtual void tensor_faulty([[maybe_unused]] const FaultyTensor& faulty) {}

 protected:
  ~SessionLog() = default;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
