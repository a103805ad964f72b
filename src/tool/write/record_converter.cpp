#include "src/tool/write/record_converter.hpp"

#include <string.h>

#include "src/config/text/human_text.hpp"
#include "src/tool/cli/interrupt.hpp"
#include "src/tool/read/dump/memory_layout.hpp"
#include "src/tool/read/dump/npy_header.hpp"
#include "src/tool/read/overflow/op_debug_file.hpp"
#include "src/tool/write/uuid3.hpp"

namespace opdump::tool {

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
