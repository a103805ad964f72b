#include "src/tool/write/record_converter.hpp"

#include <string.h>
#include <algorithm>

#include "src/config/text/human_text.hpp"
#include "src/tool/cli/progress.hpp"
#include "src/tool/read/dump/block_format.hpp"
#include "src/tool/read/dump/npy_array.hpp"
#include "src/tool/read/dump/safetensors_dtype.hpp"
#include "src/tool/read/overflow/op_debug.hpp"
#include "src/tool/write/array_writer.hpp"

namespace opdump::tool {
namespace {

constexpr std::size_t kBlockBytes = 64 * 1024;
constexpr std::uint32_t kMostItemBytes = 16;

RecordTensor described(const DumpTensor& tensor) {
  RecordTensor record;
  record.dtype = tensor.dtype;
  record.dtype_known = true;
  record.has_shape = true;
  record.rank = static_cast<std::uint8_t>(tensor.shape.size());
  std::copy(tensor.shape.begin(), tensor.shape.end(), record.dims);
  record.bytes = tensor.data_bytes;
  return record;
}

DType dtype_of_descr(std::string_view descr) {
  for (int i = 0; i < kDTypeCount; ++i) {
    if (kDTypes[i].npy_descr == descr) return static_cast<DType>(i);
  }
  return DType::undefined;
}

bool plan_order(const DumpTensor& tensor, Format format, StoredArray& stored, std::string& reason) {
  if (tensor.layout.format == format || stored.elements == 0) return true;
  if (stored.element_bits < 8) {
    reason = "elements smaller than a byte are not rearranged";
    return false;
  }
  const RelayoutRequest request = restoration(tensor.layout, tensor.shape, format, stored.element_bits / 8);
  Relayout& relayout = stored.relayout.emplace();
  if (relayout.plan(request) != Status::ok || relayout.source_elements() != stored.elements) {
    reason = format_text(tensor.layout.format) + " " + shape_text(tensor.shape) +
             " cannot be rearranged into " + format_text(format) + " by the original shape " +
             shape_text(tensor.layout.original_shape);
    return false;
  }
  stored.shape.assign(relayout.dims().begin(), relayout.dims().end());
  stored.elements = relayout.elements();
  return true;
}

}  // namespace

bool plan_stored(const DumpTensor& tensor, const std::optional<Format>& format, StoredArray& stored,
                 std::string& reason) {
  stored = {};
  reason = tensor.summary ? "there are statistics of it, and no elements" : tensor.problem;
  if (tensor.shape.size() > kMaxRank) reason = "it has more than " + std::to_string(kMaxRank) + " dims";
  if (!reason.empty()) return false;
  stored.shape = tensor.shape;
  stored.elements = tensor.elements;
  stored.element_bits = info(tensor.dtype).bits;
  stored.dtype = tensor.dtype;
  if (name_in_safetensors(tensor.dtype).empty()) {
    NpyArray array;
    if (!describe_array(described(tensor), false, array, reason)) return false;
    stored.dtype = dtype_of_descr(array.descr);
    stored.convert = array.convert;
    stored.item_bytes = array.item_bytes;
    if (name_in_safetensors(stored.dtype).empty()) {
      reason = "safetensors has no dtype for " + std::string(info(tensor.dtype).name);
      return false;
    }
  }
  if (format && !plan_order(tensor, *format, stored, reason)) return false;
  stored.bytes = stored.convert != nullptr ? stored.elements * stored.item_bytes
                                           : (stored.elements * stored.element_bits + 7) / 8;
  return true;
}

bool StoredElements::open(const DumpSide& side, const DumpTensor& tensor, const StoredArray& stored,
                          std::string& reason) {
  stored_ = &stored;
  source_bytes_.resize(kBlockBytes);
  if (source_.open(side, tensor, stored.relayout)) return true;
  reason = source_.error();
  return false;
}

bool StoredElements::next(std::uint64_t done, Bytes& items, std::size_t& bytes, std::size_t& count,
                          std::string& reason) {
  if (interrupted()) return false;
  // A multiple of 8, so that a block begins at a whole byte.
  const std::uint64_t most = kBlockBytes / std::max<std::uint32_t>(stored_->element_bits, 8) * 8;
  count = static_cast<std::size_t>(std::min(most, stored_->elements - done));
  bytes = (count * stored_->element_bits + 7) / 8;
  const std::byte* const read = source_.read(done * stored_->element_bits / 8, bytes, source_bytes_.data());
  if (read == nullptr) {
    reason = source_.failed() ? source_.error() : "its bytes cannot be read";
    return false;
  }
  items = {read, bytes};
  if (stored_->convert == nullptr) return true;
  items_.resize(std::max<std::size_t>(items_.size(), most * kMostItemBytes));
  stored_->convert(read, count, items_.data());
  items = Bytes(items_).first(count * stored_->item_bytes);
  return true;
}

Converted RecordConverter::convert(const FoundFile& found, const std::string& namesake) {
  result_ = {};
  const RecordFile::Opened opened = file_.open(found.path);
  const Stray stray = judge_stray(found);
  if (opened == RecordFile::Opened::not_a_record && stray != Stray::error) {
    if (stray == Stray::worth_a_note) result_.messages.push_back(stray_note(found));
    progress_.add(file_.bytes());
  } else if (opened != RecordFile::Opened::ok) {
    result_.fail(file_.error());
    progress_.add(file_.bytes());
  } else if (!namesake.empty()) {
    result_.fail(found.path + ": not written: " + namesake + " has the same name, and so would its files");
    progress_.add(file_.bytes());
  } else if (use_directory(found)) {
    ++result_.records;
    convert_tensors(found);
  }
  return std::move(result_);
}

bool RecordConverter::use_directory(const FoundFile& found) {
  const std::string directory = found.below.empty() ? settings_.output : settings_.output + '/' + found.below;
  if (directory == directory_) return true;
  if (const int error = make_directories(directory); error != 0) {
    result_.fail(directory + ": " + strerror(error));
    return false;
  }
  directory_ = directory;
  return true;
}

void RecordConverter::convert_tensors(const FoundFile& found) {
  RecordTensors tensors = file_.tensors();
  std::uint64_t selectable = 0;
  bool found_it = false;
  for (RecordTensor tensor; !interrupted() && tensors.next(tensor);) {
    if (settings_.only) {
      if (tensor.is_output != settings_.only->is_output) continue;
      ++selectable;
      if (tensor.index != settings_.only->index) continue;
      found_it = true;
    }
    convert_tensor(found, tensor);
  }
  if (settings_.only && !interrupted() && !found_it) {
    result_.fail(found.path + ": there is no " + (settings_.only->is_output ? "output " : "input ") +
                 std::to_string(settings_.only->index) + ": the record has " +
                 count_text(selectable, settings_.only->is_output ? "output" : "input"));
  }
  if (settings_.format) return;
  for (RecordBlob blob; !interrupted() && tensors.next(blob);) write_blob(found, blob);
}

void RecordConverter::convert_tensor(const FoundFile& found, const RecordTensor& tensor) {
  std::string reason;
  mapping_row_.clear();
  const bool is_debug = !settings_.format && is_op_debug_name(found.real_name);
  if (is_debug && !tensor.is_output) return;
  if (is_debug ? write_op_debug(found, tensor, reason) : write_array(found, tensor, reason)) {
    ++result_.files;
  } else if (!interrupted()) {
    result_.fail(file_.error_at(tensor.data_offset, role_text(tensor) + ": " + reason));
  }
}

ArrayName RecordConverter::wanted_name(Format format) const {
  return {.type = settings_.type,
          .restored = settings_.format.has_value(),
          .format = format,
          .op_name = file_.op_name(),
          .is_nano = file_.kind() == RecordFile::Kind::nano};
}

std::string RecordConverter::header(const NpyArray& array) const {
  return settings_.type == ArrayType::bin ? std::string() : npy_header(array.descr, array.shape);
}

bool RecordConverter::write_array(const FoundFile& found, const RecordTensor& tensor, std::string& reason) {
  NpyArray array;
  if (!describe_array(tensor, settings_.keep_bfloat16, array, reason)) return false;
  const bool rearranged =
      settings_.format && memory_layout(tensor).format != *settings_.format && array.elements != 0;
  return rearranged ? write_restored(found, tensor, std::move(array), reason)
                    : write_in_order(found, tensor, array, reason);
}

bool RecordConverter::write_in_order(const FoundFile& found, const RecordTensor& tensor,
                                     const NpyArray& array, std::string& reason) {
  const std::string name = array_name(found.real_name, tensor, array,
                                      wanted_name(settings_.format.value_or(tensor.format)), reason);
  OutputFile out;
  return !name.empty() && create(out, name, settings_.type == ArrayType::bin ? ".bin" : ".npy", reason) &&
         commit(out, writer_.write(file_, tensor, array, header(array), out, reason), reason);
}

bool RecordConverter::write_restored(const FoundFile& found, const RecordTensor& tensor, NpyArray array,
                                     std::string& reason) {
  const MemoryLayout layout = memory_layout(tensor);
  RelayoutRequest request = restoration(layout, tensor.shape(), *settings_.format, array.item_bytes);
  if (!settings_.shape.empty()) {
    request.logical = settings_.shape;
    request.in_order_of_to = true;
  }
  Relayout relayout;
  if (const Status status = relayout.plan(request); status != Status::ok) {
    reason = status == Status::not_supported
                 ? "there is no way from " + format_text(request.from) + " to " + format_text(request.to)
                 : format_text(request.from) + " " + shape_text(request.shape) + " and the original shape " +
                       shape_text(request.logical) + " do not fit each other; '-s' gives another";
    return false;
  }
  if (relayout.source_elements() != array.elements) {
    reason = "the shape does not cover the tensor";
    return false;
  }
  array.shape.assign(relayout.dims().begin(), relayout.dims().end());
  const std::string name = array_name(found.real_name, tensor, array, wanted_name(request.to), reason);
  OutputFile out;
  return !name.empty() && create(out, name, settings_.type == ArrayType::bin ? ".bin" : ".npy", reason) &&
         commit(out, writer_.write(file_, tensor, array, relayout, header(array), out, reason), reason);
}

bool RecordConverter::write_op_debug(const FoundFile& found, const RecordTensor& tensor,
                                     std::string& reason) {
  OpDebug debug;
  if (!read_op_debug(file_, tensor, debug, reason)) return false;
  const std::string text = op_debug_json(debug);
  const Bytes part = as_bytes(text);
  OutputFile out;
  if (!create(out, found.real_name + '.' + role_text(tensor) + ".json", ".json", reason)) return false;
  progress_.add(tensor.bytes);
  return commit(out, out.write({&part, 1}), reason);
}

void RecordConverter::write_blob(const FoundFile& found, const RecordBlob& blob) {
  mapping_row_.clear();
  const std::string part = blob_word(blob) + '.' + std::to_string(blob.index);
  std::string reason;
  OutputFile out;
  if (create(out, found.real_name + '.' + part + ".bin", ".bin", reason) &&
      commit(out, writer_.write(file_, blob.data_offset, blob.bytes, out, reason), reason)) {
    ++result_.files;
  } else if (!interrupted()) {
    result_.fail(file_.error_at(blob.data_offset, part + ": " + reason));
  }
}

bool RecordConverter::create(OutputFile& out, const std::string& long_name, std::string_view suffix,
                             std::string& reason) {
  constexpr std::size_t kLongestName = 254;  // msaccucmp shortens from 255 on
  std::string name = long_name;
  if (long_name.size() > kLongestName) {
    name = uuid3_dns(long_name) + std::string(suffix);
    mapping_row_ = name + ',' + long_name + '\n';
  }
  if (out.create(directory_, name)) return true;
  reason = out.error();
  return false;
}

bool RecordConverter::commit(OutputFile& out, bool written, std::string& reason) {
  if (!written || !out.commit()) {
    if (reason.empty()) reason = out.error();
    return false;
  }
  if (!mapping_row_.empty()) {
    result_.mapping_directory = directory_;
    result_.mapping_rows += mapping_row_;
  }
  return true;
}

}  // namespace opdump::tool
