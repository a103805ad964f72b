#pragma once
#include <optional>
#include <string>

#include "src/card/model_card.hpp"
#include "src/tool/read/card/onnx_file.hpp"
#include "src/tool/read/dump/mapped_file.hpp"

namespace opdump::tool {

inline constexpr std::size_t kMostCardBytes = 64 * 1024 * 1024;

/// Whether the first bytes are those of an ONNX model: the version of its IR, then a text.
bool is_onnx(Bytes file);

/// Whether read_model_file() makes a card of it.
bool is_model_file(Bytes file);

/// Makes the card of an ONNX or TensorFlow Lite model or a graph of CANN, and its text in `json`. The model is
/// called `name`; without one as its graph is in CANN, another as its file without the ending. On false `reason` says why not, without the path.
bool read_model_file(MappedFile& file, const std::string& path, const NamedDims& dims,
                     const std::optional<std::string>& name, cards::ModelCard& card, std::string& json,
                     std::string& reason);

}  // namespace opdump::tool
