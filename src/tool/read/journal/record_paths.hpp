#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "opdump/impl/record/ring_record.hpp"
#include "opdump/impl/record/targets.hpp"
#include "opdump/types/model.hpp"
#include "src/tool/read/journal/journal_line.hpp"

namespace opdump::tool {

/// The paths that the records of one config and device have, as a journal gives them and without a time
/// stamp. Records with digests have those that CANN's layout would give them.
class RecordPaths {
 public:
  RecordPaths(const DumpForm& form, std::uint32_t device);

  /// Of operator `op` at `step` of the model `id`, which has the name `model` in the dump. Good until the
  /// next call.
  const JournalPath& in_model(const OpDesc& op, std::string_view model, std::uint32_t id, std::uint64_t step);

  /// The same outside a model.
  const JournalPath& outside(const OpDesc& op);

 private:
  const JournalPath& of(const OpDesc& op, RecordHead head, std::string_view model);

  DumpTarget target_;
  std::vector<std::uint64_t> head_;
  std::vector<std::byte> name_;
  std::string text_;
  JournalPath path_;
};

}  // namespace opdump::tool
