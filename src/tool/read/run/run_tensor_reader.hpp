#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "src/card/quantisation.hpp"
#include "src/tool/read/run/json_fields.hpp"
#include "src/tool/read/run/run_file.hpp"

namespace opdump::tool {

/// Reads what a card says of how the numbers of a tensor stand for real ones.
class QuantisationReader {
 public:
  explicit QuantisationReader(JsonFields& fields) : fields_(fields) {}

  /// Reads the object under the key "quant" of a tensor, if it is there.
  bool read(const config::JsonNode& parent, const config::KeyPath& path, cards::Quantisation& quant);

 private:
  bool read_affine(const config::JsonNode& node, const config::KeyPath& path, cards::Quantisation& quant);
  bool read_pow2(const config::JsonNode& node, const config::KeyPath& path, cards::Quantisation& quant);
  bool read_block(const config::JsonNode& node, const config::KeyPath& path, cards::Quantisation& quant);
  bool read_lut(const config::JsonNode& node, const config::KeyPath& path, cards::Quantisation& quant);

  JsonFields& fields_;
};

/// Reads tensors of a RUN.json or a card, with the heads of the files that they name.
class RunTensorReader {
 public:
  /// `directory`, empty or with a slash behind it, is where the files are whose names have none.
  RunTensorReader(JsonFields& fields, std::string directory)
      : fields_(fields), quantisations_(fields), directory_(std::move(directory)) {}

  /// With `card`, dtype and shape may be missing, and so may what fills the tensor.
  bool read(const config::JsonNode& node, const config::KeyPath& path, bool card, RunTensor& tensor);

 private:
  /// Whether a card tells how large the tensor is: its dtype and all of its dims.
  bool is_sized(const config::JsonNode& node) const;
  bool read_dtype(const config::JsonNode& parent, const config::KeyPath& path, DType& dtype);
  bool read_format(const config::JsonNode& parent, const config::KeyPath& path, Format& format);
  bool read_dims(const config::JsonNode& parent, const config::KeyPath& path, std::string_view key,
                 std::vector<Dim>& dims);
  /// The bytes that dtype and shape make; both must be there.
  bool need_bytes(const config::JsonNode& node, const config::KeyPath& path, const RunTensor& tensor,
                  std::uint64_t& bytes);
  /// A tensor may take more bytes than its elements.
  bool read_padding(const config::JsonNode& node, const config::KeyPath& path, std::uint64_t& bytes);
  bool count_bytes(const config::JsonNode& node, const config::KeyPath& path, const RunTensor& tensor,
                   std::uint64_t& bytes);
  bool read_data(const config::JsonNode& node, const config::JsonNode& data, const config::KeyPath& parent,
                 RunTensor& tensor);
  bool read_npy(const config::JsonNode& node, const config::JsonNode& data, const config::KeyPath& parent,
                Bytes file, RunTensor& tensor);

  JsonFields& fields_;
  QuantisationReader quantisations_;
  const std::string directory_;
};

/// Reads what is to go wrong, for models and a number of steps that have been read.
class RunFaultReader {
 public:
  RunFaultReader(JsonFields& fields, const RunFile& run) : fields_(fields), run_(run) {}

  bool read(const config::JsonNode& node, const config::KeyPath& path, RunFault& fault);

 private:
  bool check_step(const config::JsonNode& node, const config::KeyPath& path, const RunFault& fault);
  bool find_model(const config::JsonNode& node, const config::KeyPath& path, std::size_t& index);
  bool find_op(const config::JsonNode& node, const config::KeyPath& path, std::string_view key,
               const RunModel& model, std::size_t& index);
  bool check_floats(const config::JsonNode& node, const config::KeyPath& path, const RunFault& fault);
  bool check_victim(const config::JsonNode& node, const config::KeyPath& path, RunFault& fault);

  JsonFields& fields_;
  const RunFile& run_;
};

}  // namespace opdump::tool
