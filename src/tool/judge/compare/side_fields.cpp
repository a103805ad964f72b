#include "src/tool/judge/compare/compare_side.hpp"

namespace opdump::tool {
namespace {

// Whoever adds a member has to write and read it here.
static_assert(sizeof(TensorSummary) ==
              7 * sizeof(std::optional<double>) + 2 * sizeof(std::string) + sizeof(std::uint64_t));

void write_summary(FieldWriter& to, const TensorSummary& summary) {
  to.put(summary.max).put(summary.min).put(summary.mean).put(summary.l2_norm).put(summary.nans);
  to.put(summary.negative_infinities).put(summary.positive_infinities);
  to.text(summary.md5).text(summary.sha1).put(summary.dialect);
}

void read_summary(FieldReader& from, TensorSummary& summary) {
  from.get(summary.max).get(summary.min).get(summary.mean).get(summary.l2_norm).get(summary.nans);
  from.get(summary.negative_infinities).get(summary.positive_infinities);
  from.get(summary.md5).get(summary.sha1).get(summary.dialect);
}

}  // namespace

void write_fields(FieldWriter& to, const DumpTensor& tensor) {
  to.put(tensor.file).put(tensor.is_output).put(tensor.index).put(tensor.dtype);
  to.put(tensor.layout.format).put(tensor.layout.original_format).put(tensor.layout.groups);
  to.list(tensor.layout.original_shape).text(tensor.problem).list(tensor.shape);
  to.put(tensor.elements).put(tensor.data_offset).put(tensor.data_bytes).put(tensor.address);
  to.text(tensor.original_op).put(tensor.original_index);
  to.put(tensor.quant).put(tensor.constant).put(tensor.name).put(tensor.pieces).put(tensor.piece_step);
  to.text(tensor.kept).put(tensor.summary.has_value());
  if (tensor.summary) write_summary(to, *tensor.summary);
}

void read_fields(FieldReader& from, DumpTensor& tensor) {
  from.get(tensor.file).get(tensor.is_output).get(tensor.index).get(tensor.dtype);
  from.get(tensor.layout.format).get(tensor.layout.original_format).get(tensor.layout.groups);
  from.list(tensor.layout.original_shape).get(tensor.problem).list(tensor.shape);
  from.get(tensor.elements).get(tensor.data_offset).get(tensor.data_bytes).get(tensor.address);
  from.get(tensor.original_op).get(tensor.original_index);
  from.get(tensor.quant).get(tensor.constant).get(tensor.name).get(tensor.pieces).get(tensor.piece_step);
  from.get(tensor.kept);
  if (from.next<bool>()) read_summary(from, tensor.summary.emplace());
}

void write_fields(FieldWriter& to, const DumpFile& file) {
  to.text(file.path).text(file.type).text(file.op).text(file.place);
  to.put(file.boot).put(file.unix_us).put(file.task).put(file.is_record).put(file.is_lite);
}

void read_fields(FieldReader& from, DumpFile& file) {
  from.get(file.path).get(file.type).get(file.op).get(file.place);
  from.get(file.boot).get(file.unix_us).get(file.task).get(file.is_record).get(file.is_lite);
}

}  // namespace opdump::tool
