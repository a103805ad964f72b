#pragma once
#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "opdump/base/bytes.hpp"
#include "opdump/parts/protobuf.hpp"
#include "src/tool/judge/diverge/replay_model.hpp"

namespace opdump::tool {

/// Fields of a protobuf message, put together in memory. What is added is written, also where it is 0 or empty.
class ProtoMessage {
 public:
  void add_number(std::uint32_t field, std::uint64_t value) {
    writer().add_varint(field << 3);
    writer().add_varint(value);
  }
  void add_float(std::uint32_t field, float value) {
    writer().add_varint(field << 3 | 5);
    std::byte bits[sizeof value];
    store_little_endian(bits, std::bit_cast<std::uint32_t>(value));
    out_.add(Bytes(bits));
  }
  void add_bytes(std::uint32_t field, Bytes bytes) {
    writer().add_varint(field << 3 | 2);
    writer().add_varint(bytes.size());
    out_.add(bytes);
  }
  void add_bytes(std::uint32_t field, std::string_view bytes) { add_bytes(field, as_bytes(bytes)); }
  void add_message(std::uint32_t field, const ProtoMessage& message) { add_bytes(field, message.bytes()); }

  /// Nothing for an empty text, and '_' for every byte beyond ASCII of one that is not UTF-8.
  void add_text(std::uint32_t field, std::string_view text) { writer().add_text(field, text); }

  const std::string& bytes() const { return out_.bytes; }

 private:
  struct Output {
    std::string bytes;
    void add(std::uint8_t byte) { bytes += static_cast<char>(byte); }
    void add(Bytes more) { bytes.append(reinterpret_cast<const char*>(more.data()), more.size()); }
  };

  ProtobufWriter<Output> writer() { return ProtobufWriter<Output>(out_); }

  Output out_;
};

/// A tensor of float64 as one of float32, float16 or bfloat16, rounded to the nearest, and to the even one of
/// two. False for other dtypes.
bool narrow_floats(const ReplayTensor& from, DType dtype, ReplayTensor& to);

/// The bytes of an `.npy` file; bfloat16 becomes float32, other dtypes that NumPy has not as `opdump convert`
/// has them. False: `reason` says why there is no such array.
bool array_of(const ReplayTensor& tensor, std::string& bytes, std::string& reason);

/// The k-th input of the model of one operator is "input_k", counting those that the operator is given, and
/// the k-th output "output_k", counting those that are wanted.
std::string model_input_name(std::size_t k);
std::string model_output_name(std::size_t k);

/// The bytes of an ONNX model of this operator alone, with its attributes, and with its inputs as inputs of the graph.
/// With `outputs`, one for each of `op.wanted`, the model is for people and for their compilers: it has the operator's
/// name, and all shapes. Without, ranks are all that it says of shapes, and the same operator at other shapes has the
/// same bytes. False: `reason` says why there is no such model. Source: onnx.proto, and ONNX's table of versions.
bool one_node_model(const ReplayOp& op, const std::vector<ReplayTensor>* outputs, std::string& model,
                    std::string& reason);

/// The bytes of a TensorProto. False: `reason` says why ONNX has none.
bool tensor_proto(const ReplayTensor& tensor, std::string& bytes, std::string& reason);

}  // namespace opdump::tool
