#pragma once
#include <string>
#include <string_view>

#include "opdump/types/account.hpp"

namespace opdump::posix {
inline namespace OPDUMP_NAMESPACE {

/// A Provenance with texts of its own. Allocates.
class OwnProvenance {
 public:
  void set(const Provenance& provenance) {
    build_id_ = provenance.build_id;
    config_ = provenance.config;
    opdump_ = provenance.opdump;
    model_ = provenance.model;
    runtime_ = provenance.runtime;
    view_ = {build_id_, config_, opdump_, model_, runtime_};
    any_ = true;
  }

  /// Whether `set` was called.
  bool any() const { return any_; }

  /// The same with `digest` where no config is told. The result is good until the next call of either.
  const Provenance& with_config(std::string_view digest) {
    digest_ = digest;
    view_.config = config_.empty() ? digest_ : config_;
    return view_;
  }

 private:
  bool any_ = false;
  std::string build_id_, config_, opdump_, model_, runtime_, digest_;
  Provenance view_;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::posix
