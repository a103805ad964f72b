#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "opdump/base/bytes.hpp"
#include "opdump/types/dtype.hpp"
#include "opdump/types/tensor.hpp"
#include "src/tool/read/card/onnx_file.hpp"
#include "src/tool/read/dump/mapped_file.hpp"
#include "src/tool/read/run/beside_cards.hpp"
#include "src/tool/read/run/run_file.hpp"

namespace opdump::tool {

/// A tensor in plain row-major order, its elements packed and little-endian.
struct ReplayTensor {
  std::string name;  ///< in the model; may be empty
  DType dtype = DType::undefined;
  std::vector<Dim> dims;
  std::vector<std::byte> bytes;  ///< of all elements: as many as dtype and dims need
};

/// The value of an attribute, in ONNX's types.
using ReplayValue = std::variant<std::int64_t, float, std::string, std::vector<std::int64_t>,
                                 std::vector<float>, std::vector<std::string>>;

struct ReplayAttribute {
  std::string name;
  ReplayValue value;
  std::string message{};  ///< the AttributeProto, as it stands in the model's file; empty: made of `value`
};

/// An operator of ONNX with the inputs that it had on the device.
struct ReplayOp {
  std::string name;                                   ///< in the model
  std::string type;                                   ///< of ONNX, "Conv"
  std::string domain;                                 ///< empty: ONNX's own
  std::uint64_t opset = 0;                            ///< of the domain; never 0
  std::vector<ReplayAttribute> attributes;            ///< those that the model gives
  std::vector<std::optional<ReplayTensor>> inputs;    ///< nothing: an optional one that is not given
  std::vector<std::pair<std::string, DType>> wanted;  ///< of each output its name, empty where the model
                                                      ///< leaves it out, and the dtype that the device made

  /// The attribute's value if it is there and of that type, else null.
  template <class Value>
  const Value* attribute(std::string_view attribute_name) const {
    for (const ReplayAttribute& given : attributes) {
      if (given.name == attribute_name) return std::get_if<Value>(&given.value);
    }
    return nullptr;
  }
};

/// An operator as the model describes it.
struct ReplayNode {
  std::string name;
  std::string dumped_type;  ///< as a dump has it
  std::uint32_t task = kNoTask;
  std::string type;  ///< of ONNX
  std::string domain;
  std::uint64_t opset = 0;
  std::vector<ReplayAttribute> attributes;
  std::vector<std::string> inputs;  ///< names of tensors; empty: an optional one that is not given
  std::vector<std::string> outputs;
  std::vector<bool> is_constant;  ///< of each input, whether the model holds its elements
  std::string problem;            ///< why it cannot be computed, whatever its inputs are; empty: it can
};

/// The operators of a model, from its ONNX file or from what RunFile reads.
class ReplayModel {
 public:
  /// On false it has said on stderr why, in the name of `command`.
  bool load(const std::string& path, std::string_view command = "diverge");

  /// Learns from a record whether the model counts tasks as the dump does; else none tells operators apart.
  void check_task(const OpIdentity& record) const;

  /// The operator; null: there is none, or several may be it.
  const ReplayNode* node(const OpIdentity& identity) const;
  bool is_ambiguous(const OpIdentity& identity) const {
    return node(identity) == nullptr && places_.contains(std::string(identity.name));
  }

  /// The operator that reads that tensor; null: none does, or several do.
  const ReplayNode* only_reader(const std::string& tensor) const;

  /// Whether the elements of that tensor are in the model's file.
  bool has_constant(const std::string& tensor) const { return constants_.count(tensor) != 0; }

  /// Those elements; on false `reason` says why they cannot be had.
  bool constant(const std::string& tensor, ReplayTensor& to, std::string& reason) const;

  std::size_t size() const { return nodes_.size(); }

 private:
  bool load_onnx();
  void load_card(const RunModel& model);
  void index();
  OpDesc desc_of(std::size_t i) const;

  std::string path_;
  std::string teller_;
  MappedFile file_;
  std::vector<ReplayNode> nodes_;
  std::unordered_map<std::string, std::vector<std::size_t>>
      places_;                                        ///< by the names that a dump gives operators
  std::unordered_map<std::string, Bytes> constants_;  ///< TensorProto messages
  mutable bool other_tasks_ = false;
};

}  // namespace opdump::tool
