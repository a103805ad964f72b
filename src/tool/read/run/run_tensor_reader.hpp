#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "src/tool/read/run/json_fields.hpp"
#include "src/tool/read/run/quantisation_reader.hpp"
#include "src/tool/read/run/run_file.hpp"

namespace opdump::tool {

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

}  // namespace opdump::tool
