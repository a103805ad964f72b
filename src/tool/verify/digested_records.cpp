#include "src/tool/verify/digested_records.hpp"

#include <algorithm>
#include <string>

#include "src/tool/read/dump/digest_file.hpp"
#include "src/tool/read/dump/record_name.hpp"

namespace opdump::tool {
namespace {

/// The path of the record's file, if it had one; lies in `text`.
bool path_of_record(const DigestedOp& op, std::uint64_t device, std::uint64_t step, std::string& text,
                    JournalPath& path) {
  text = std::to_string(device) + '/';
  if (op.in_model)
    text += sanitised(op.model) + '/' + std::to_string(op.model_id) + '/' + std::to_string(step) + '/';
  text += sanitised(op.type) + '.' + sanitised(op.name) + '.' + std::to_string(op.task) + '.' +
          std::to_string(op.stream);
  return parse_journal_path(text, path);
}

}  // namespace

std::uint64_t read_digested(Bytes file, std::uint64_t device, bool may_be_cut,
                            const DigestListener& listener) {
  DigestedOps ops;
  DigestReader reader(file, ops);
  std::uint64_t count = 0;
  std::string text;
  for (DigestedRecord record; reader.next(record); ++count) {
    const DigestedOp& op = ops[record.op];
    DigestedPath found;
    if (!path_of_record(op, device, record.step, text, found.path)) continue;
    const auto has = [&op](bool outputs) {
      return std::any_of(op.tensors.begin(), op.tensors.end(),
                         [outputs](const DigestedTensor& tensor) { return tensor.is_output == outputs; });
    };
    found.has_inputs = has(false);
    found.has_outputs = has(true);
    listener.record(found);
  }
  if (!reader.error().empty()) listener.problem(reader.error());
  if (reader.cut_bytes() != 0 && !may_be_cut) listener.problem("its last piece is cut short");
  if (reader.nameless_bytes() != 0 && !may_be_cut)
    listener.problem("it has records of operators that it does not name");
  return count;
}

}  // namespace opdump::tool
