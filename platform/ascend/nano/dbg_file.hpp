#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "opdump/base/bytes.hpp"
#include "opdump/types/model.hpp"

/// A model's `.dbg` file, which CANN's converter writes beside the model for its nano products: the operators
/// by task, with the tensors of each. Little endian, no padding:
///
///     u32 version 0
///     u32 magic 0x5A5A5A5A
///     TLV 0: name of the model
///     TLV 1: u32 count, then `count` operators in execution order:
///       u32 task, u32 stream, u32 logical stream, i32 kind of task, u32 blocks, u8 several kernels,
///       u32 bytes of TLVs, and the TLVs
///         0 name, 1 type
///         2 operators of the framework that were fused into it: u32 length and text of each
///         4 u32 count, then the inputs; 5 u32 count, then the outputs: as in nano records
///         others: workspaces, buffers and sizes of memory
///
///     TLV    u32 tag, u32 bytes of the value, value
///
/// A TLV with another tag is skipped. Source: the structures that the vendor's converter writes and its
/// executor reads. The records of inputs and outputs are in `opdump/format/nano.hpp`.

namespace opdump::nano {
inline namespace OPDUMP_NAMESPACE {

/// Something wrong in a `.dbg` file.
struct DbgFault {
  std::uint64_t offset = 0;  ///< in the file
  std::string reason;
  /// The vendor's executor, too, refuses the file for it. Otherwise only tensors of one operator are unknown.
  bool fatal = true;
};

/// A tensor of an operator, and where its description stands in the file.
struct TensorEntry {
  TensorView view;  ///< `address` as in the file; the texts and dims lie in the DbgFile
  std::vector<Dim> dims;
  std::vector<Dim> original_dims;
  std::uint64_t offset = 0;  ///< the field of that name behind the address
  std::size_t start = 0;
  std::size_t end = 0;
};

/// The inputs or outputs of an operator; `start` and `end` are those of their TLV with its head.
struct TensorList {
  std::vector<TensorEntry> list;
  std::size_t start = 0;
  std::size_t end = 0;
};

/// An operator, and where its description stands in the file, from its fixed part to the last of its TLVs.
struct OpEntry {
  std::string_view name;
  std::string_view type;
  std::vector<std::string_view> original_names;
  std::uint32_t task_id = 0;
  std::uint32_t stream_id = 0;
  TensorList inputs;
  TensorList outputs;
  std::size_t start = 0;
  std::size_t end = 0;
};

/// A `.dbg` file, read and checked.
class DbgFile {
 public:
  DbgFile() = default;
  DbgFile(const DbgFile&) = delete;
  DbgFile& operator=(const DbgFile&) = delete;

  /// Whether `bytes` begin as a `.dbg` file does.
  static bool is_dbg(Bytes bytes);

  /// Takes the bytes of a file, and replaces what was read before. Adds what is wrong to `faults`. False, and
  /// nothing is read, if any of that is fatal. Allocates.
  bool read(std::vector<std::byte> bytes, std::vector<DbgFault>& faults);

  Bytes bytes() const { return bytes_; }

  /// Name of the model in the file; a view into `bytes()`.
  std::string_view model_name() const { return model_name_; }

  const std::vector<OpEntry>& ops() const { return ops_; }

  /// The model as it is loaded from a file `file_name`. The name in the `.dbg` file is that of the graph, if
  /// it is another. Refers to this object and to `file_name`.
  ModelDesc model(std::string_view file_name, std::uint32_t id = 0) const;

  /// Whether a tensor is left out; `index` is its position among the operator's inputs or outputs.
  using LeavesOut = std::function<bool(std::size_t op, bool is_output, std::uint32_t index)>;

  /// The bytes of the file, less the tensors that `leaves_out` names. Their operators stay.
  std::vector<std::byte> without(const LeavesOut& leaves_out) const;

 private:
  friend class DbgReader;

  void clear();
  void describe();

  std::vector<std::byte> bytes_;
  std::string_view model_name_;
  std::vector<OpEntry> ops_;
  std::size_t ops_start_ = 0;  ///< of TLV 1 with its head

  std::vector<OpDesc> descs_;
  std::vector<TensorView> views_;
  std::vector<CapturedTensors> tensors_;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::nano
