#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "platform/runtimes/onnxruntime/ort_abi.hpp"
#include "src/tool/judge/diverge/replay_model.hpp"

namespace opdump::tool {

/// The library of ONNX Runtime. It stays loaded until the program ends, as it starts threads.
struct OrtLibrary {
  const OrtApi* api = nullptr;
  std::string version;  ///< "1.28.2"
};

/// Whether the variable OPDUMP_ORT names a library.
bool is_ort_named();

/// Loads the library `path`; if that is empty, the one that the variable OPDUMP_ORT names, else the system's. Loading
/// runs what a library does when it starts. Nothing: `reason` names the file, and says why it cannot be had.
std::optional<OrtLibrary> load_ort(const std::string& path, std::string& reason);

/// Computes operators as they should be.
class OpReference {
 public:
  virtual ~OpReference() = default;

  /// What computes, for people: "onnxruntime 1.30.0".
  virtual std::string name() const = 0;

  /// Fills `outputs`, one for each of `op.wanted` and in their order; one that the model leaves out may stay
  /// empty. An output has the operator's dtype; one of floats may have float64 instead. False where the
  /// operator cannot be computed: `reason` then says why in a few words.
  virtual bool run(const ReplayOp& op, std::vector<ReplayTensor>& outputs, std::string& reason) = 0;
};

/// Computes operators by ONNX Runtime, in one thread and without optimisations: each in a model of its own,
/// whose sessions are kept for operators that are alike but for their shapes. Where the runtime has no
/// bfloat16 for an operator, it computes float32 of the same inputs. `path`: as `load_ort` has it. Null:
/// `reason` names the library, and says why it cannot be used.
std::unique_ptr<OpReference> open_ort(const std::string& path, std::string& reason);

/// Computes each operator by `reference` in a process of its own: one in which that crashes cannot be
/// computed, and the signal is the reason. `reference` has no threads of its own between operators.
class IsolatedReference final : public OpReference {
 public:
  explicit IsolatedReference(std::unique_ptr<OpReference> reference) : reference_(std::move(reference)) {}

  std::string name() const override { return reference_->name(); }
  bool run(const ReplayOp& op, std::vector<ReplayTensor>& outputs, std::string& reason) override;

 private:
  const std::unique_ptr<OpReference> reference_;
};

}  // namespace opdump::tool
