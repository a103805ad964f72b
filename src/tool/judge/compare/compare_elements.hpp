#pragma once
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "opdump/impl/format/relayout.hpp"
#include "src/tool/judge/compare/compare_side.hpp"
#include "src/tool/judge/compare/comparison.hpp"
#include "src/tool/read/dump/mapped_file.hpp"

namespace opdump::tool {

/// The elements of one tensor of a dump: as they lie in its file, gathered from pieces of it, or rearranged
/// by a Relayout, window by window. Takes up to a few MiB for each reading thread, for a tensor of any size.
class CompareElements final : public compare::ElementSource {
 public:
  /// On false `error()` says why.
  bool open(const DumpSide& side, const DumpTensor& tensor, const std::optional<Relayout>& relayout);

  const std::byte* read(std::uint64_t offset, std::size_t count, std::byte* buffer) const override;

  /// Whether bytes could not be read, or the file was cut short meanwhile; `error()` then says so. Call it
  /// while nobody reads.
  bool failed();
  const std::string& error() const { return error_; }

 private:
  struct Window;

  bool gather(const DumpTensor& tensor);
  bool restore(std::uint64_t first, Window& window) const;

  MappedFile file_;
  std::string error_;
  mutable std::mutex failure_mutex_;
  mutable std::string failure_;      ///< the first failure in any thread
  std::vector<std::byte> gathered_;  ///< of a tensor in pieces, or not plain; else empty
  std::optional<Relayout> relayout_;
  std::uint64_t offset_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint32_t item_bytes_ = 0;
  std::uint64_t number_ = 0;  ///< distinguishes the windows of this opening from those of others
};

}  // namespace opdump::tool
