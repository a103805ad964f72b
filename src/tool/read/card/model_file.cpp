#include "src/tool/read/card/model_file.hpp"

#include <algorithm>

#include "src/card/card_json.hpp"
#include "src/card/sha256.hpp"
#include "src/tool/read/card/ge_graph_file.hpp"
#include "src/tool/read/card/tflite_file.hpp"

namespace opdump::tool {

bool is_model_file(Bytes file) {
  return is_onnx(file) || is_tflite(file) || is_ge_graph(file);
}

bool is_onnx(Bytes file) {
  const std::string_view text = as_text(file.first(std::min<std::size_t>(file.size(), 3)));
  return text.size() == 3 && text[0] == 8 && text[1] > 0 && text[1] < 32 && (text[2] & 7) == 2;
}

bool read_model_file(MappedFile& file, const std::string& path, const NamedDims& dims,
                     const std::optional<std::string>& name, cards::ModelCard& card, std::string& json,
                     std::string& reason) {
  if (as_text(file.bytes()).starts_with('{')) {
    reason = "is JSON, not a model; of a graph of CANN the text is read that such JSON is made from";
    return false;
  }
  const bool is_graph = is_ge_graph(file.bytes());
  const bool read = is_graph                  ? read_ge_graph(file.bytes(), card, reason)
                    : is_tflite(file.bytes()) ? read_tflite(file.bytes(), card, reason)
                                              : read_onnx(file.bytes(), dims, card, reason);
  card.sha256 = cards::sha256(file.bytes());
  if (file.cut_short()) {
    reason = file.error().substr(path.size() + 2);
    return false;
  }
  if (!read) return false;
  const std::string own = path.substr(path.rfind('/') + 1);  // npos + 1 is 0: no slash
  // CANN calls the folder of a graph's dump after the graph.
  card.name = name && !name->empty()                 ? *name
              : is_graph && !card.graph_name.empty() ? card.graph_name
                                                     : own.substr(0, own.rfind('.'));
  const Status status = cards::write_card(card, kMostCardBytes, json);
  if (status == Status::too_large) reason = "its card would be longer than 64 MiB";
  if (status == Status::invalid_argument) reason = "a name of the model is not UTF-8, which JSON cannot hold";
  return status == Status::ok;
}

}  // namespace opdump::tool
