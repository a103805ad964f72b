#include "src/tool/read/dump/array_container.hpp"

#include <algorithm>
#include <optional>
#include <string_view>

#include "src/config/json/json_tree.hpp"
#include "src/tool/cli/decimal.hpp"
#include "src/tool/read/card/onnx_tensor.hpp"
#include "src/tool/read/dump/npy_array.hpp"
#include "src/tool/read/dump/safetensors_dtype.hpp"

namespace opdump::tool {
namespace {

bool refuse(std::string& reason, std::string text) {
  reason = std::move(text);
  return false;
}

/// Of an array that is of no use, while those beside it may be: the first one is told.
bool pass_over(std::string& reason, std::string text) {
  if (reason.empty()) reason = std::move(text);
  return true;
}

/// Whether the bytes lie in the file and are as many as dtype and shape ask for.
bool check(const ContainedArray& array, std::uint64_t file_bytes, std::string& reason) {
  const std::string what = "array '" + array.name + "': ";
  if (array.offset > file_bytes || file_bytes - array.offset < array.bytes)
    return refuse(reason, what + "it ends behind the file");
  const Result<std::uint64_t> packed = packed_bytes(array.dtype, array.shape);
  if (packed.ok() && packed.value() == array.bytes) return true;
  return refuse(
      reason, what + "it has " + std::to_string(array.bytes) + " bytes, other than dtype and shape ask for");
}

/// ZIP files as NumPy writes them.
class NpzReader {
 public:
  NpzReader(Bytes file, std::string& reason) : file_(file), left_(file.size()), reason_(reason) {}

  bool read(std::vector<ContainedArray>& arrays) {
    const std::optional<std::uint64_t> end = find_end();
    if (!end) return refuse(reason_, "is no npz file, or ends too early: it has no directory");
    ByteReader directory(file_.subspan(static_cast<std::size_t>(*end)));
    directory.take(10);
    std::uint64_t entries = directory.read<std::uint16_t>();
    directory.take(4);
    std::uint64_t at = directory.read<std::uint32_t>();
    if (at == UINT32_MAX || entries == UINT16_MAX)
      return refuse(reason_, "is an npz file of more than 4 GiB");
    for (; entries != 0; --entries) {
      if (at > file_.size() || !read_entry(at, arrays))
        return reason_.empty() ? refuse(reason_, kDamaged) : false;
    }
    return true;
  }

 private:
  static constexpr char kDamaged[] = "is a damaged npz file";
  static constexpr std::uint32_t kEndMark = 0x06054b50, kEntryMark = 0x02014b50, kLocalMark = 0x04034b50;

  /// Of the record at the end of the directory, which a comment may follow.
  std::optional<std::uint64_t> find_end() const {
    constexpr std::size_t kEndBytes = 22, kMostComment = 0xffff;
    if (file_.size() < kEndBytes) return std::nullopt;
    const std::size_t last = file_.size() - kEndBytes;
    for (std::size_t back = 0; back <= std::min(last, kMostComment); ++back) {
      if (load_little_endian<std::uint32_t>(file_.data() + last - back) == kEndMark) return last - back;
    }
    return std::nullopt;
  }

  /// Moves `at` to the entry behind.
  bool read_entry(std::uint64_t& at, std::vector<ContainedArray>& arrays) {
    ByteReader in(file_.subspan(static_cast<std::size_t>(at)));
    const std::uint32_t mark = in.read<std::uint32_t>();
    in.take(6);
    const std::uint16_t method = in.read<std::uint16_t>();
    in.take(8);
    std::uint64_t stored = in.read<std::uint32_t>();
    std::uint64_t bytes = in.read<std::uint32_t>();
    const std::uint16_t name_bytes = in.read<std::uint16_t>();
    const std::uint16_t extra_bytes = in.read<std::uint16_t>();
    const std::uint16_t comment_bytes = in.read<std::uint16_t>();
    in.take(8);
    const std::uint64_t local = in.read<std::uint32_t>();
    const std::string_view name = as_text(in.take(name_bytes));
    in.take(std::uint64_t{extra_bytes} + comment_bytes);
    if (in.truncated() || mark != kEntryMark) return false;
    at = file_.size() - in.remaining();
    constexpr std::uint16_t kStored = 0, kDeflated = 8;
    if (method != kStored && method != kDeflated)
      return refuse(reason_, "array '" + std::string(name) + "' is compressed by method " +
                                 std::to_string(method) + "; numpy.savez_compressed deflates, which is 8");
    if (stored == UINT32_MAX || bytes == UINT32_MAX || local == UINT32_MAX)
      return refuse(reason_, "array '" + std::string(name) + "' has 4 GiB or more");
    if (method == kDeflated && stored == 0) return false;
    return read_array(name, local, bytes, method == kStored ? 0 : stored, arrays);
  }

  /// `deflated`: bytes of the stream; 0: there is none.
  bool read_array(std::string_view name, std::uint64_t local, std::uint64_t bytes, std::uint64_t deflated,
                  std::vector<ContainedArray>& arrays) {
    if (local > file_.size()) return false;
    ByteReader in(file_.subspan(static_cast<std::size_t>(local)));
    const std::uint32_t mark = in.read<std::uint32_t>();
    in.take(22);
    const std::uint16_t name_bytes = in.read<std::uint16_t>();
    const std::uint16_t extra_bytes = in.read<std::uint16_t>();
    in.take(std::uint64_t{name_bytes} + extra_bytes);
    const std::uint64_t start = file_.size() - in.remaining();
    const Bytes member = in.take(deflated == 0 ? bytes : deflated);
    if (in.truncated() || mark != kLocalMark || member.size() > left_) return false;
    left_ -= member.size();
    NpyFile npy;
    std::string problem;
    Bytes head = member.first(std::min(member.size(), kMostNpyHeadBytes));
    std::vector<std::byte> inflated;
    if (deflated != 0) {
      if (!inflate_bytes(member, std::min<std::uint64_t>(bytes, kMostNpyHeadBytes), inflated, problem))
        return refuse(reason_, "array '" + std::string(name) + "': " + problem);
      head = inflated;
    }
    if (!parse_npy(head, npy, problem))
      return pass_over(reason_, "array '" + std::string(name) + "': " + problem);
    ContainedArray array = {std::string(name),       npy.dtype,      npy.shape,
                            start + npy.data_offset, npy.data_bytes, npy.form};
    if (deflated != 0) {
      array.offset = start;
      array.form.deflated = deflated;
      array.form.skipped = static_cast<std::uint32_t>(npy.data_offset);
    }
    if (array.name.ends_with(".npy")) array.name.resize(array.name.size() - 4);
    if (npy.data_offset + npy.data_bytes > bytes)
      return refuse(reason_, "array '" + array.name + "' ends before its last element");
    arrays.push_back(std::move(array));
    return true;
  }

  Bytes file_;
  std::size_t left_;  // that no array has yet: else a small file is the work of a large one
  std::string& reason_;
};

bool read_number(const config::JsonNode* node, std::string_view text, std::uint64_t& number) {
  if (node == nullptr || node->type() != config::JsonType::number) return false;
  const std::string_view rest = text.substr(node->offset());
  const std::optional<std::uint64_t> value =
      parse_decimal(rest.substr(0, rest.find_first_not_of("0123456789")));
  if (value) number = *value;
  return value.has_value();
}

bool read_safetensors(Bytes file, std::vector<ContainedArray>& arrays, std::string& reason) {
  constexpr std::uint64_t kLengthBytes = 8, kMostHead = 100'000'000;
  ByteReader in(file);
  const std::uint64_t length = in.read<std::uint64_t>();
  if (length > kMostHead)
    return refuse(reason, "is no safetensors file: its head would have more than 100 MB");
  const std::string_view text = as_text(in.take(length));
  if (in.truncated()) return refuse(reason, "is no safetensors file, or ends within its head");
  std::uint64_t left = in.remaining();  // that no array has yet, as in an npz file
  ConfigError error;
  config::Refusal refusal(text, error);
  config::JsonTree tree;
  if (!tree.parse(text, refusal)) return refuse(reason, "its head is no JSON: " + error.reason);
  for (const config::JsonNode* node = tree.root().first(); node != nullptr; node = node->next()) {
    if (node->key() == "__metadata__") continue;
    ContainedArray array;
    array.name = node->key();
    const config::JsonNode* const dtype = node->member("dtype");
    const config::JsonNode* const shape = node->member("shape");
    const config::JsonNode* const places = node->member("data_offsets");
    std::uint64_t start = 0, end = 0;
    bool good = dtype != nullptr && shape != nullptr && places != nullptr && places->first() != nullptr &&
                read_number(places->first(), text, start) && read_number(places->first()->next(), text, end);
    for (const config::JsonNode* dim = good ? shape->first() : nullptr; good && dim != nullptr;
         dim = dim->next())
      good = array.shape.size() < kMaxRank && read_number(dim, text, array.shape.emplace_back());
    if (!good || end < start || end > file.size())
      return refuse(reason, "the head of '" + array.name + "' is damaged");
    array.dtype = dtype_of_safetensors(dtype->text());
    if (array.dtype == DType::undefined) {
      pass_over(reason, "array '" + array.name + "': dtype " + std::string(dtype->text()) + " is not known");
      continue;
    }
    array.offset = kLengthBytes + length + start;
    array.bytes = end - start;
    if (!check(array, file.size(), reason)) return false;
    if (array.bytes > left) return refuse(reason, "array '" + array.name + "' has bytes of another one");
    left -= array.bytes;
    arrays.push_back(std::move(array));
  }
  return true;
}

bool read_tensor_proto(Bytes file, std::vector<ContainedArray>& arrays, std::string& reason) {
  OnnxTensor tensor;
  if (!read_onnx_tensor(file, tensor)) return refuse(reason, "is no ONNX TensorProto, or is damaged");
  if (tensor.is_external)
    return refuse(reason,
                  "its elements lie in the file '" + std::string(tensor.location) + "': save them within it");
  if (!tensor.numbers.empty() && tensor.raw.empty()) {
    std::vector<std::byte> elements;
    if (!onnx_elements(tensor, elements, reason)) return false;
    arrays.push_back({std::string(tensor.name), tensor.dtype, std::move(tensor.dims), 0, elements.size()});
    arrays.back().form.is_proto = true;
    return true;
  }
  const std::uint64_t offset =
      tensor.raw.empty() ? 0 : static_cast<std::uint64_t>(tensor.raw.data() - file.data());
  arrays.push_back(
      {std::string(tensor.name), tensor.dtype, std::move(tensor.dims), offset, tensor.raw.size()});
  return check(arrays.back(), file.size(), reason);
}

bool is_tensor_proto(const std::string& file_name) {
  return file_name.ends_with(".pb") || file_name.ends_with(".tensorproto");
}

}  // namespace

bool is_container(const std::string& file_name) {
  return file_name.ends_with(".npz") || file_name.ends_with(".safetensors") || is_tensor_proto(file_name);
}

bool read_container(const std::string& file_name, Bytes file, std::vector<ContainedArray>& arrays,
                    std::string& reason) {
  if (file_name.ends_with(".npz")) return NpzReader(file, reason).read(arrays);
  if (is_tensor_proto(file_name)) return read_tensor_proto(file, arrays, reason);
  return read_safetensors(file, arrays, reason);
}

}  // namespace opdump::tool
