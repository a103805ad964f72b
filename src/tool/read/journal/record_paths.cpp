#include "src/tool/read/journal/record_paths.hpp"

#include <algorithm>
#include <cstring>

#include "opdump/impl/drain/dump_name.hpp"
#include "opdump/impl/record/record_view.hpp"

namespace opdump::tool {

RecordPaths::RecordPaths(const DumpForm& form, std::uint32_t device) {
  target_.form = form;
  target_.device_id = device;
  if ((form.statistics & kAnyDigest) != 0) target_.form.layout = Layout::cann;
}

const JournalPath& RecordPaths::in_model(const OpDesc& op, std::string_view model, std::uint32_t id,
                                         std::uint64_t step) {
  RecordHead head = {};
  head.in_model = 1;
  head.model_id = id;
  head.step = step;
  return of(op, head, model);
}

const JournalPath& RecordPaths::outside(const OpDesc& op) {
  return of(op, {}, {});
}

const JournalPath& RecordPaths::of(const OpDesc& op, RecordHead head, std::string_view model) {
  head.task_id = op.task_id;
  head.stream_id = op.stream_id;
  head.model_name_bytes = static_cast<std::uint16_t>(model.size());
  head.type_bytes = static_cast<std::uint16_t>(op.type.size());
  head.name_bytes = static_cast<std::uint16_t>(op.name.size());
  const std::size_t bytes = sizeof head + model.size() + op.type.size() + op.name.size();
  head_.assign((bytes + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t), 0);
  auto* const memory = reinterpret_cast<std::byte*>(head_.data());
  std::memcpy(memory, &head, sizeof head);
  char* to = reinterpret_cast<char*>(memory) + sizeof head;
  for (const std::string_view text : {model, op.type, op.name}) to = std::copy(text.begin(), text.end(), to);
  path_ = {};
  const Result<RecordView> record = RecordView::parse({memory, bytes});
  if (!record.ok()) return path_;

  name_.resize(dump_name_bytes(model.size(), op.type.size(), op.name.size()));
  DumpNamer namer(name_);
  namer.enter(record.value(), target_);
  const std::string_view file = namer.make_untimed(record.value(), target_);
  char dump[kMaxDumpDirectoryBytes];
  std::string_view below = namer.in_directory(record.value(), target_, 0, file).directory;
  below.remove_prefix(static_cast<std::size_t>(put_dump_directory(dump, target_) - dump));
  if (below.starts_with('/')) below.remove_prefix(1);
  text_.assign(below).append(below.empty() ? "" : "/").append(file);
  // It is such a path as the core writes.
  static_cast<void>(parse_journal_path(text_, path_));
  return path_;
}

}  // namespace opdump::tool
