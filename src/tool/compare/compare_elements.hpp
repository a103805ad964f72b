#pragma once
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include "opdump/impl/format/relayout.hpp"
#include "src/tool/compare/compare_side.hpp"
#include "src/tool/compare/comparison.hpp"
#include "src/tool/dump/mapped_file.hpp"

namespace opdump::tool {

/// The elements of one tensor of a dump, as they lie in its file, or through a Relayout in the order of its
/// result, made window by window. Up to a few MiB for each thread that reads, whatever the tensor's size.
class CompareElements final : public compare::ElementSource {
 public:
  /// On false `error()` says why.
  bool open(const DumpSide& side, const DumpTensor& tensor, const std::optional<Relayout>& relayout);

  const std::byte* read(std::uint64_t offset, std::size_t count, std::byte* buffer) const override;

  /// Whether bytes could not be read, or the file lost some meanwhile; `error()` then says so. While nobody
  /// reads.
  bool failed();
  const std::string& error() const { return error_; }

 private:
  struct Window;

  bool restore(std::uint64_t first, Window& window) const;

  MappedFile file_;
  std::string error_;
  mutable std::mutex failure_mutex_;
  mutable std::string failure_;  ///< the first of any thread
  std::optional<Relayout> relayout_;
  std::uint64_t offset_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint32_t item_bytes_ = 0;
  std::uint64_t number_ = 0;  ///< tells this opening's windows from those of others
};

}  // namespace opdump::tool
