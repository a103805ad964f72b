#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "opdump/impl/plan/op_index.hpp"
#include "platform/posix/impl/kernel_types.hpp"
#include "platform/posix/impl/pattern_set.hpp"

namespace opdump::posix {
inline namespace OPDUMP_NAMESPACE {

/// Finds in one pass all operators of a model that patterns and kernel types name, by tables on the heap.
class NameSearch final : public ExtrasSearch {
 public:
  /// `ops` must stay as long as this object.
  explicit NameSearch(std::span<const OpDesc> ops) : ops_(ops) {}

  void add(const ModelExtras& extras) override { extras_.push_back(&extras); }
  std::span<const std::uint8_t> find() override;

  bool has_pattern(const ModelExtras& extras, std::size_t number) const override;
  bool has_type_part(const ModelExtras& extras, std::size_t number) const override;

 private:
  const std::span<const OpDesc> ops_;
  std::vector<const ModelExtras*> extras_;
  PatternSet patterns_;
  std::vector<bool> parts_used_;
  std::vector<std::uint8_t> found_;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::posix
