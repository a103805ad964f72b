#include "platform/ascend/nano/dbg_file.hpp"

#include <algorithm>
#include <utility>

#include "opdump/base/text.hpp"
#include "opdump/format/nano.hpp"

namespace opdump::nano {
inline namespace OPDUMP_NAMESPACE {
namespace {

constexpr std::size_t kHeadBytes = 8;
constexpr std::size_t kOpBytes = 25;
constexpr std::size_t kOpTlvBytesAt = 21;  // in the fixed part of an operator
constexpr std::uint32_t kTagModelName = 0;
constexpr std::uint32_t kTagOps = 1;
constexpr std::uint32_t kTagOpName = 0;
constexpr std::uint32_t kTagOpType = 1;
constexpr std::uint32_t kTagOriginalNames = 2;
/// The vendor's executor takes the list of operators for 4 bytes longer than it is.
constexpr std::uint64_t kVendorSlack = 4;

std::string hex(std::uint32_t number) {
  std::string text = "0x";
  for (int shift = 28; shift >= 0; shift -= 4) text += hex_digit(number >> shift & 15);
  return text;
}

void subtract(std::vector<std::byte>& bytes, std::size_t at, std::size_t count) {
  store_little_endian(&bytes[at],
                      static_cast<std::uint32_t>(load_little_endian<std::uint32_t>(&bytes[at]) - count));
}

/// One TLV.
struct Tlv {
  std::uint32_t tag = 0;
  std::size_t start = 0;  ///< in the file, of its head
  Bytes value;

  std::size_t value_start() const { return start + kNanoTlvHeadBytes; }
};

}  // namespace

class DbgReader {
 public:
  DbgReader(DbgFile& file, std::vector<DbgFault>& faults) : file_(file), all_(file.bytes_), faults_(faults) {}

  /// False: there is a fatal fault.
  bool read() {
    if (all_.size() < kHeadBytes) return fail(0, "shorter than the 8 bytes of a head");
    const std::uint32_t magic = load_little_endian<std::uint32_t>(&all_[4]);
    if (magic != kNanoMagic)
      return fail(4, "the magic number is " + hex(magic) + " and not " + hex(kNanoMagic));
    if (const std::uint32_t version = load_little_endian<std::uint32_t>(all_.data()); version != 0)
      doubt(0, "version " + std::to_string(version) + ", of which nothing is known");
    bool has_ops = false;
    std::size_t at = kHeadBytes;
    while (all_.size() - at >= kNanoTlvHeadBytes) {
      Tlv tlv;
      if (!next(at, all_.size(), tlv))
        return fail(at, "a TLV of " + std::to_string(length_at(at)) + " bytes passes the end of the file");
      if (tlv.tag == kTagModelName) {
        file_.model_name_ = as_text(tlv.value);
        if (tlv.value.empty()) return fail(tlv.start, "the name of the model is empty");
      } else if (tlv.tag == kTagOps && has_ops) {
        doubt(tlv.start, "a second list of operators, which does not count");
      } else if (tlv.tag == kTagOps) {
        has_ops = true;
        if (!read_ops(tlv)) return false;
      }
      at = tlv.value_start() + tlv.value.size();
    }
    if (at != all_.size()) doubt(at, std::to_string(all_.size() - at) + " bytes behind the last TLV");
    if (file_.model_name_.empty()) doubt(kHeadBytes, "no name of the model");
    if (!has_ops) doubt(kHeadBytes, "no list of operators");
    return true;
  }

 private:
  bool fail(std::size_t offset, std::string reason) {
    faults_.push_back({offset, std::move(reason), true});
    return false;
  }

  void doubt(std::size_t offset, std::string reason) {
    faults_.push_back({offset, std::move(reason), false});
  }

  std::uint32_t length_at(std::size_t tlv) const { return load_little_endian<std::uint32_t>(&all_[tlv + 4]); }

  /// The TLV at `at`, where there are 8 bytes before `end`. False: its value passes `end`.
  bool next(std::size_t at, std::size_t end, Tlv& tlv) const {
    const std::size_t bytes = length_at(at);
    if (bytes > end - at - kNanoTlvHeadBytes) return false;
    tlv = {load_little_endian<std::uint32_t>(&all_[at]), at, all_.subspan(at + kNanoTlvHeadBytes, bytes)};
    return true;
  }

  bool read_ops(const Tlv& tlv) {
    file_.ops_start_ = tlv.start;
    ByteReader in(tlv.value);
    const std::uint32_t count = in.read<std::uint32_t>();
    if (in.truncated()) {
      doubt(tlv.start, "the list of operators has no count");
      return true;
    }
    while (in.remaining() >= kOpBytes) {
      if (!read_op(in, tlv.value_start())) return false;
    }
    if (in.remaining() != 0)
      doubt(tlv.value_start() + in.position(),
            std::to_string(in.remaining()) + " bytes behind the last whole operator");
    if (count != file_.ops_.size())
      doubt(tlv.value_start(), "the list of operators promises " + std::to_string(count) + " and has " +
                                   std::to_string(file_.ops_.size()));
    return true;
  }

  bool read_op(ByteReader& in, std::size_t list_start) {
    OpEntry& op = file_.ops_.emplace_back();
    op.start = list_start + in.position();
    const std::string which = "operator " + std::to_string(file_.ops_.size() - 1);
    op.task_id = in.read<std::uint32_t>();
    op.stream_id = in.read<std::uint32_t>();
    in.take(kOpTlvBytesAt - 8);
    std::uint64_t bytes = in.read<std::uint32_t>();
    if (bytes > in.remaining()) {
      std::string reason = which + " promises " + std::to_string(bytes) + " bytes of TLVs where " +
                           std::to_string(in.remaining()) + " are left";
      if (bytes > in.remaining() + kVendorSlack) return fail(op.start, std::move(reason));
      doubt(op.start, std::move(reason));
      bytes = in.remaining();
    }
    const std::size_t tlvs = list_start + in.position();
    in.take(bytes);
    op.end = tlvs + static_cast<std::size_t>(bytes);
    read_op_tlvs(op, tlvs, which);
    if (op.name.empty() && !op.original_names.empty()) op.name = op.original_names[0];
    if (!has_name_) return fail(op.start, which + " has no name");
    if (op.name.empty()) doubt(op.start, which + " has an empty name");
    if (op.type.empty()) doubt(op.start, which + " has no type");
    return true;
  }

  void read_op_tlvs(OpEntry& op, std::size_t at, const std::string& which) {
    has_name_ = false;
    while (op.end - at >= kNanoTlvHeadBytes) {
      Tlv tlv;
      if (!next(at, op.end, tlv)) {
        doubt(at, "a TLV of " + std::to_string(length_at(at)) + " bytes passes the end of " + which);
        return;
      }
      read_op_tlv(op, tlv, which);
      at = tlv.value_start() + tlv.value.size();
    }
    if (at != op.end) doubt(at, std::to_string(op.end - at) + " bytes behind the last TLV of " + which);
  }

  void read_op_tlv(OpEntry& op, const Tlv& tlv, const std::string& which) {
    switch (tlv.tag) {
      case kTagOpName:
        op.name = as_text(tlv.value);
        has_name_ = true;
        break;
      case kTagOpType:
        op.type = as_text(tlv.value);
        break;
      case kTagOriginalNames:
        has_name_ = true;
        read_original_names(op, tlv, which);
        break;
      case kNanoTagInputs:
        read_tensors(op.inputs, tlv, false, which);
        break;
      case kNanoTagOutputs:
        read_tensors(op.outputs, tlv, true, which);
        break;
      default:
        break;
    }
  }

  void read_original_names(OpEntry& op, const Tlv& tlv, const std::string& which) {
    ByteReader in(tlv.value);
    op.original_names.clear();
    while (in.remaining() != 0) {
      const Bytes name = in.take(in.read<std::uint32_t>());
      if (in.truncated() || name.empty())
        return doubt(tlv.start, "the original names of " + which +
                                    (in.truncated() ? " end too early" : " have an empty one"));
      op.original_names.push_back(as_text(name));
    }
  }

  /// Leaves no tensor of a list in which one is damaged.
  void read_tensors(TensorList& tensors, const Tlv& tlv, bool is_output, const std::string& which) {
    const std::string list = std::string(is_output ? "outputs" : "inputs") + " of " + which;
    tensors.list.clear();
    tensors.start = tlv.start;
    tensors.end = tlv.value_start() + tlv.value.size();
    ByteReader in(tlv.value);
    const std::uint32_t count = in.read<std::uint32_t>();
    for (std::uint32_t i = 0; i < count && !in.truncated(); ++i)
      read_tensor(in, tlv.value_start(), is_output, tensors.list.emplace_back(), list);
    if (!in.truncated() && in.remaining() == 0) return;
    doubt(tlv.start, "the " + list +
                         (in.truncated() ? " end too early: there should be "
                                         : " do not fill their TLV: there should be ") +
                         std::to_string(count));
    tensors.list.clear();
  }

  void read_tensor(ByteReader& in, std::size_t list_start, bool is_output, TensorEntry& tensor,
                   const std::string& list) {
    tensor.start = list_start + in.position();
    const auto number = [&in] { return static_cast<std::int32_t>(in.read<std::uint32_t>()); };
    TensorView& view = tensor.view;
    const Result<DType> dtype = dtype_from_ge_code(number());
    view.dtype = dtype.ok() ? dtype.value() : DType::undefined;
    view.format = static_cast<Format>(number());
    view.address_kind = static_cast<AddressKind>(number());
    if (is_output) {
      view.original_index = number();
      const Result<DType> original = dtype_from_ge_code(number());
      view.original_dtype = original.ok() ? original.value() : DType::undefined;
      view.original_format = static_cast<Format>(number());
    }
    view.address = in.read<std::uint64_t>();
    tensor.offset = in.read<std::uint64_t>();
    view.bytes = in.read<std::uint64_t>();
    ByteReader tlvs(in.take(in.read<std::uint32_t>()));
    tensor.end = list_start + in.position();
    while (tlvs.remaining() != 0) {
      const std::uint32_t tag = tlvs.read<std::uint32_t>();
      const Bytes value = tlvs.take(tlvs.read<std::uint32_t>());
      if (tlvs.truncated()) return doubt(tensor.start, "the TLVs of one of the " + list + " end too early");
      if (tag == kNanoTagShape) read_dims(value, tensor.dims, tensor.start, list);
      if (tag == kNanoTagOriginalShape) read_dims(value, tensor.original_dims, tensor.start, list);
      if (tag == kNanoTagOriginalName && is_output) view.original_name = as_text(value);
    }
  }

  void read_dims(Bytes value, std::vector<Dim>& dims, std::size_t tensor, const std::string& list) {
    dims.clear();
    if (value.size() % sizeof(Dim) != 0 || value.size() / sizeof(Dim) > kMaxRank)
      return doubt(tensor, "one of the " + list + " has a shape of " + std::to_string(value.size()) +
                               " bytes; each dim takes 8, and there may be " + std::to_string(kMaxRank));
    for (ByteReader in(value); in.remaining() != 0;) dims.push_back(in.read<std::uint64_t>());
  }

  DbgFile& file_;
  const Bytes all_;
  std::vector<DbgFault>& faults_;
  bool has_name_ = false;  ///< of the operator that is being read
};

bool DbgFile::is_dbg(Bytes bytes) {
  return bytes.size() >= kHeadBytes && load_little_endian<std::uint32_t>(&bytes[4]) == kNanoMagic;
}

bool DbgFile::read(std::vector<std::byte> bytes, std::vector<DbgFault>& faults) {
  clear();
  bytes_ = std::move(bytes);
  if (!DbgReader(*this, faults).read()) {
    clear();
    return false;
  }
  describe();
  return true;
}

void DbgFile::clear() {
  tensors_.clear();
  views_.clear();
  descs_.clear();
  ops_.clear();
  model_name_ = {};
  bytes_.clear();
}

/// Makes the form that a ModelDesc takes, once nothing moves any more.
void DbgFile::describe() {
  std::size_t tensors = 0;
  for (const OpEntry& op : ops_) tensors += op.inputs.list.size() + op.outputs.list.size();
  views_.reserve(tensors);
  const auto views_of = [this](std::vector<TensorEntry>& list) {
    const std::size_t first = views_.size();
    for (TensorEntry& tensor : list) {
      tensor.view.shape = tensor.dims;
      tensor.view.original_shape = tensor.original_dims;
      views_.push_back(tensor.view);
    }
    return std::span<const TensorView>(views_).subspan(first);
  };
  for (OpEntry& op : ops_) {
    descs_.push_back({.name = op.name,
                      .type = op.type,
                      .task_id = op.task_id,
                      .stream_id = op.stream_id,
                      .original_names = op.original_names});
    CapturedTensors& of_op = tensors_.emplace_back();
    of_op.inputs = views_of(op.inputs.list);
    of_op.outputs = views_of(op.outputs.list);
  }
}

ModelDesc DbgFile::model(std::string_view file_name, std::uint32_t id) const {
  return {.name = file_name,
          .graph_name = model_name_ == file_name ? std::string_view() : model_name_,
          .id = id,
          .ops = descs_,
          .tensors = tensors_};
}

std::vector<std::byte> DbgFile::without(const LeavesOut& leaves_out) const {
  std::vector<std::byte> left = bytes_;
  std::size_t to = 0;
  std::size_t from = 0;
  const auto keep_until = [&](std::size_t end) {
    std::copy(left.begin() + static_cast<std::ptrdiff_t>(from),
              left.begin() + static_cast<std::ptrdiff_t>(end),
              left.begin() + static_cast<std::ptrdiff_t>(to));
    to += end - from;
  };
  // Lengths first, while they are where the file has them.
  std::vector<std::pair<std::size_t, std::size_t>> cuts;
  for (std::size_t i = 0; i < ops_.size(); ++i) {
    for (const bool is_output : {false, true}) {
      const TensorList& tensors = is_output ? ops_[i].outputs : ops_[i].inputs;
      for (std::uint32_t index = 0; index < tensors.list.size(); ++index) {
        if (!leaves_out(i, is_output, index)) continue;
        const TensorEntry& tensor = tensors.list[index];
        const std::size_t bytes = tensor.end - tensor.start;
        subtract(left, ops_start_ + 4, bytes);
        subtract(left, ops_[i].start + kOpTlvBytesAt, bytes);
        subtract(left, tensors.start + 4, bytes);
        subtract(left, tensors.start + kNanoTlvHeadBytes, 1);
        cuts.emplace_back(tensor.start, tensor.end);
      }
    }
  }
  std::sort(cuts.begin(), cuts.end());
  for (const auto& [start, end] : cuts) {
    keep_until(start);
    from = end;
  }
  keep_until(left.size());
  left.resize(to);
  return left;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::nano
