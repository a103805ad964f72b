#pragma once
#include <cstdint>
#include <string_view>

#include "opdump/types/tensor.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// One tensor of a dump record. Fixed size; `shape()` and `original_shape()` refer to this object.
struct RecordTensor {
  bool is_output = false;
  std::uint32_t index = 0;      ///< among the operator's inputs or outputs, as far as the file tells
  std::int32_t dtype_code = 0;  ///< as in the file, numbered by the file's format
  bool dtype_known = false;     ///< whether the code is assigned; if not, `dtype` is `undefined`
  DType dtype = DType::undefined;
  Format format = Format::nd;
  std::int32_t sub_format = 0;  ///< groups of a convolution's weights; protobuf records only
  AddressKind address_kind = AddressKind::traditional;  ///< nano records only
  std::int32_t original_index = 0;
  std::int32_t original_dtype_code = 0;
  DType original_dtype = DType::undefined;  ///< outputs only; `undefined` when the code is unknown
  Format original_format = Format::nd;
  std::uint64_t address = 0;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::uint64_t data_offset = 0;  ///< of the tensor's bytes in the file
  bool has_shape = false;
  bool has_original_shape = false;
  std::uint8_t rank = 0;
  std::uint8_t original_rank = 0;
  Dim dims[kMaxRank] = {};
  Dim original_dims[kMaxRank] = {};
  std::string_view original_name;  ///< refers to the file's bytes

  Shape shape() const { return {dims, rank}; }
  Shape original_shape() const { return {original_dims, original_rank}; }
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
