#pragma once
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "opdump/base/bytes.hpp"

namespace opdump::tests {

/// A tensor of a `.dbg` file, by the numbers that stand in it.
struct MadeTensor {
  std::int32_t dtype = 0;
  std::vector<std::uint64_t> dims{};
  std::uint64_t bytes = 0;
  std::int32_t format = 2;
  std::int32_t address_kind = 5;
  std::uint64_t address = 0;
  std::uint64_t offset = 0;
  std::vector<std::uint64_t> original_dims{};
  std::string original_name{};  ///< of an output
};

struct MadeOp {
  std::string name;
  std::string type;
  std::uint32_t task_id = 0;
  std::vector<MadeTensor> inputs{};
  std::vector<MadeTensor> outputs{};
  std::vector<std::string> original_names{};
  std::uint32_t stream_id = 0;
};

/// Writes `.dbg` files field by field, apart from the reader.
class DbgMaker {
 public:
  static std::vector<std::byte> file(std::string_view model, const std::vector<MadeOp>& ops) {
    DbgMaker whole;
    whole.number(std::uint32_t{0});
    whole.number(std::uint32_t{0x5a5a5a5a});
    whole.text(0, model);
    DbgMaker list;
    list.number(static_cast<std::uint32_t>(ops.size()));
    for (const MadeOp& op : ops) list.add(op);
    whole.tlv(1, list);
    return whole.bytes_;
  }

 private:
  template <std::integral T>
  void number(T value) {
    for (std::size_t i = 0; i < sizeof value; ++i)
      bytes_.push_back(static_cast<std::byte>(static_cast<std::uint64_t>(value) >> (8 * i)));
  }

  void append(const std::vector<std::byte>& bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }

  void append(std::string_view text) {
    for (const char c : text) bytes_.push_back(static_cast<std::byte>(c));
  }

  void tlv(std::uint32_t tag, const DbgMaker& value) {
    number(tag);
    number(static_cast<std::uint32_t>(value.bytes_.size()));
    append(value.bytes_);
  }

  void text(std::uint32_t tag, std::string_view text) {
    DbgMaker value;
    value.append(text);
    tlv(tag, value);
  }

  void dims(std::uint32_t tag, const std::vector<std::uint64_t>& dims) {
    DbgMaker value;
    for (const std::uint64_t dim : dims) value.number(dim);
    tlv(tag, value);
  }

  void tensors(std::uint32_t tag, const std::vector<MadeTensor>& list, bool outputs) {
    DbgMaker value;
    value.number(static_cast<std::uint32_t>(list.size()));
    for (const MadeTensor& tensor : list) {
      for (const std::int32_t field : {tensor.dtype, tensor.format, tensor.address_kind}) value.number(field);
      if (outputs) {
        for (const std::int32_t field : {std::int32_t{0}, tensor.dtype, tensor.format}) value.number(field);
      }
      for (const std::uint64_t field : {tensor.address, tensor.offset, tensor.bytes}) value.number(field);
      DbgMaker tlvs;
      tlvs.dims(0, tensor.dims);
      tlvs.dims(1, tensor.original_dims.empty() ? tensor.dims : tensor.original_dims);
      if (outputs && !tensor.original_name.empty()) tlvs.text(2, tensor.original_name);
      value.number(static_cast<std::uint32_t>(tlvs.bytes_.size()));
      value.append(tlvs.bytes_);
    }
    tlv(tag, value);
  }

  void add(const MadeOp& op) {
    DbgMaker tlvs;
    tlvs.text(0, op.name);
    tlvs.text(1, op.type);
    if (!op.original_names.empty()) {
      DbgMaker names;
      for (const std::string& name : op.original_names) {
        names.number(static_cast<std::uint32_t>(name.size()));
        names.append(name);
      }
      tlvs.tlv(2, names);
    }
    tlvs.tensors(4, op.inputs, false);
    tlvs.tensors(5, op.outputs, true);
    DbgMaker memory;  // one record of five sizes, without TLVs
    memory.number(std::uint32_t{1});
    for (int i = 0; i < 5; ++i) memory.number(std::uint64_t{4096});
    memory.number(std::uint32_t{0});
    tlvs.tlv(8, memory);
    for (const std::uint32_t field :
         {op.task_id, op.stream_id, op.stream_id, std::uint32_t{0}, std::uint32_t{1}})
      number(field);
    number(std::uint8_t{0});
    number(static_cast<std::uint32_t>(tlvs.bytes_.size()));
    append(tlvs.bytes_);
  }

  std::vector<std::byte> bytes_;
};

/// A network of four operators: conv (task 0) to relu (1), pool (2) and fc (3), which was fused.
inline std::vector<MadeOp> made_ops() {
  const MadeTensor image = {.dtype = 1, .dims = {1, 4, 4, 2}, .bytes = 64, .format = 1, .address_kind = 3};
  const MadeTensor weights = {.dtype = 1, .dims = {2, 2}, .bytes = 32, .address_kind = 4};
  const MadeTensor map = {
      .dtype = 1, .dims = {1, 4, 4, 2}, .bytes = 64, .format = 1, .original_name = "conv"};
  const MadeTensor small = {.dtype = 0, .dims = {1, 4}, .bytes = 16};
  return {{"conv", "Conv2D", 0, {image, weights}, {map}},
          {"relu", "Relu", 1, {map}, {map}},
          {"pool", "MaxPool", 2, {map}, {small}},
          {"fc_add", "MatMul", 3, {small, weights}, {small}, {"fc", "add"}}};
}

}  // namespace opdump::tests
