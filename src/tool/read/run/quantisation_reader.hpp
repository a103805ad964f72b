#pragma once
#include "src/card/quantisation.hpp"
#include "src/tool/read/run/json_fields.hpp"

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

}  // namespace opdump::tool
