#include "src/tool/read/card/ge_graph_file.hpp"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "src/tool/cli/decimal.hpp"
#include "src/tool/read/card/card_budget.hpp"

namespace opdump::tool {

using namespace cards;

namespace {

/// Reads an untrusted message in protobuf's text format, field by field. Refers to the text.
class ProtoText {
 public:
  explicit ProtoText(std::string_view text) : text_(text) { skip_blanks(); }

  /// Goes to the next field of the message that is open. False: the message ends, or the text is damaged. Each
  /// field has to be taken by one of the calls below.
  bool next() {
    for (;;) {
      if (in_list_ && take(',')) return good_;
      if (std::exchange(in_list_, false)) good_ = good_ && take(']');
      while (take(';') || take(',')) {
      }
      if (!good_ || (depth_ == 0 && at_ == text_.size())) return false;
      if (depth_ != 0 && (take('}') || take('>'))) {
        --depth_;
        return false;
      }
      name_ = word();
      const bool has_colon = take(':');
      in_list_ = has_colon && take('[');
      good_ = !name_.empty() && (has_colon || at_message());
      if (!in_list_ || !take(']')) return good_;
      in_list_ = false;
    }
  }

  bool is(std::string_view name) const { return name_ == name; }

  /// Opens the field as a message.
  void open() {
    good_ = good_ && !in_list_ && at_message() && depth_ != kMostDepth;
    if (!good_) return;
    ++depth_;
    ++at_;
    skip_blanks();
  }

  template <class Take>
  void each(Take take_field) {
    open();
    while (next()) take_field();
  }

  void skip() {
    if (at_message() && !in_list_) return each([this] { skip(); });
    append_scalar(nullptr);
  }

  /// A string without its escapes; a number or a name as it stands.
  std::string value() {
    std::string value;
    append_scalar(&value);
    return value;
  }

  bool good() const { return good_; }
  std::size_t line() const {
    const auto at = text_.begin() + static_cast<std::ptrdiff_t>(at_);
    return 1 + static_cast<std::size_t>(std::count(text_.begin(), at, '\n'));
  }

 private:
  static constexpr std::size_t kMostDepth = 64;

  void skip_blanks() {
    at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size());
    while (at_ < text_.size() && text_[at_] == '#')
      at_ = std::min(text_.find_first_not_of(" \t\r\n", text_.find('\n', at_)), text_.size());
  }

  bool take(char sign) {
    if (at_ == text_.size() || text_[at_] != sign) return false;
    ++at_;
    skip_blanks();
    return true;
  }

  bool at_message() const { return at_ < text_.size() && (text_[at_] == '{' || text_[at_] == '<'); }
  bool at_quote() const { return at_ < text_.size() && (text_[at_] == '"' || text_[at_] == '\''); }

  std::string_view word() {
    const std::size_t end = std::min(text_.find_first_of(" \t\r\n#:;,[]{}<>\"'", at_), text_.size());
    const std::string_view word = text_.substr(at_, end - at_);
    at_ = end;
    skip_blanks();
    return word;
  }

  /// Appends a scalar to `to`, if it is not null; strings that stand side by side are one.
  void append_scalar(std::string* to) {
    if (!at_quote()) {
      const std::string_view scalar = word();
      good_ = good_ && !scalar.empty();
      if (to != nullptr) *to = scalar;
    }
    while (good_ && at_quote()) {
      const char ends[] = {text_[at_++], '\\'};
      while (good_) {
        const std::size_t end = std::min(text_.find_first_of(std::string_view(ends, 2), at_), text_.size());
        if (to != nullptr) to->append(text_, at_, end - at_);
        at_ = std::min(end + 1, text_.size());
        good_ = at_ != end && (text_[end] != '\\' || at_ < text_.size());
        if (!good_ || text_[end] != '\\') break;
        const char escaped = read_escape();
        if (to != nullptr) *to += escaped;
      }
      skip_blanks();
    }
  }

  char read_escape() {
    constexpr std::string_view kNames = "abfnrtv", kMeant = "\a\b\f\n\r\t\v", kDigits = "0123456789abcdef";
    const char name = text_[at_++];
    if (const std::size_t named = kNames.find(name); named != kNames.npos) return kMeant[named];
    const std::string_view digits = kDigits.substr(0, name == 'x' || name == 'X' ? 16 : 8);
    if (digits.size() == 8 && digits.find(name) == digits.npos) return name;
    std::size_t code = digits.size() == 8 ? digits.find(name) : 0;
    for (std::size_t left = 2; left != 0 && at_ < text_.size(); --left, ++at_) {
      const char c = text_[at_];
      const std::size_t digit = digits.find(c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c);
      if (digit == digits.npos) break;
      code = code * digits.size() + digit;
    }
    return static_cast<char>(code);
  }

  const std::string_view text_;
  std::size_t at_ = 0;
  std::size_t depth_ = 0;
  std::string_view name_;
  bool in_list_ = false;  ///< within the brackets of a list of scalars, all of one field
  bool good_ = true;
};

bool is_constant(std::string_view type) {
  return type == "Const" || type == "Constant" || type == "FileConstant";
}

/// What stands for an input, a constant or the end of a graph: nothing that runs and could be dumped.
bool is_edge_of_graph(std::string_view type) {
  constexpr std::string_view kTypes[] = {"Data", "RefData", "AippData", "Variable", "NetOutput"};
  return is_constant(type) || std::find(std::begin(kTypes), std::end(kTypes), type) != std::end(kTypes);
}

class GeGraphReader {
 public:
  GeGraphReader(Bytes file, ModelCard& card) : in_(as_text(file)), card_(card) {}

  bool read(std::string& reason) {
    bool has_graph = false;
    while (in_.next()) in_.is("graph") ? read_graph(!std::exchange(has_graph, true)) : in_.skip();
    reason = budget_.is_spent() ? "describes more than 8388608 operators, tensors, dims and scales"
             : !in_.good()      ? "is no graph of CANN, or is damaged in line " + std::to_string(in_.line())
             : !has_graph       ? "has no graph"
                                : "";
    return reason.empty();
  }

 private:
  struct Node {
    CardOp op{};
    std::vector<std::string> inputs{};  ///< "writer:index"; of index -1 is an order without a tensor
    std::vector<CardTensor> input_tensors{};
    std::vector<CardTensor> outputs{};
  };

  void read_graph(bool is_first) {
    std::vector<Node> nodes;
    in_.each([&] {
      if (in_.is("op") && !budget_.is_spent()) return read_node(nodes.emplace_back());
      if (!in_.is("name") || !is_first) return in_.skip();
      card_.graph_name = in_.value();
    });
    places_.clear();
    for (Node& node : nodes) add_outputs(node);
    for (Node& node : nodes) add_op(node);
  }

  void read_node(Node& node) {
    CardOp& op = node.op;
    in_.each([&] {
      if (in_.is("attr")) return read_attribute(op);
      if (in_.is("input_desc")) return read_tensor(node.input_tensors.emplace_back());
      if (in_.is("output_desc")) return read_tensor(node.outputs.emplace_back());
      if (in_.is("subgraph_name")) op.flags.assign(1, "control_flow");
      if (in_.is("name")) return void(op.name = in_.value());
      if (in_.is("type")) return void(op.type = in_.value());
      if (in_.is("input")) return node.inputs.push_back(in_.value());
      if (!in_.is("stream_id")) return in_.skip();
      op.stream_id = static_cast<std::uint32_t>(parse_decimal(in_.value()).value_or(op.stream_id));
    });
    budget_.take(1 + op.name.size() / 16 + node.inputs.size() + node.outputs.size());
  }

  void read_tensor(CardTensor& tensor) {
    in_.each([&] {
      if (in_.is("shape")) {
        tensor.has_shape = true;
        in_.each([&] { in_.is("dim") ? add_dim(tensor, in_.value()) : in_.skip(); });
      } else if (in_.is("dtype")) {
        if (const Result<DType> dtype = dtype_from_name(in_.value()); dtype.ok())
          tensor.dtype = dtype.value();
      } else {
        in_.skip();
      }
    });
  }

  void add_dim(CardTensor& tensor, const std::string& text) {
    constexpr std::string_view kUnknownRank = "-2";
    if (text == kUnknownRank || tensor.shape.size() == kMaxRank) tensor.has_shape = false;
    if (tensor.has_shape && budget_.take(1))
      tensor.shape.push_back(parse_decimal(text).value_or(CardTensor::kUnknownDim));
  }

  /// Keeps the names of the operators that were fused.
  void read_attribute(CardOp& op) {
    bool is_names = false;
    in_.each([&] {
      if (in_.is("key")) {
        is_names = in_.value() == "_datadump_original_op_names";
      } else if (in_.is("value") && is_names) {
        in_.each([&] {
          if (!in_.is("list")) return in_.skip();
          in_.each([&] { in_.is("s") ? op.original_names.push_back(in_.value()) : in_.skip(); });
        });
      } else {
        in_.skip();
      }
    });
    budget_.take(op.original_names.size());
  }

  std::uint32_t add_tensor(CardTensor tensor) {
    card_.tensors.push_back(std::move(tensor));
    return static_cast<std::uint32_t>(card_.tensors.size() - 1);
  }

  void add_outputs(Node& node) {
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      CardTensor& tensor = node.outputs[i];
      tensor.name = node.op.name + ':' + std::to_string(i);
      tensor.constant = is_constant(node.op.type);
      node.op.outputs.push_back(add_tensor(tensor));
      places_.emplace(tensor.name, node.op.outputs.back());
    }
  }

  void add_op(Node& node) {
    if (is_edge_of_graph(node.op.type)) return;
    std::size_t described = 0;
    for (const std::string& name : node.inputs) {
      if (name.ends_with(":-1")) continue;
      std::uint32_t place = CardOp::kNoTensor;
      if (const auto known = places_.find(name); known != places_.end()) {
        place = known->second;
      } else if (!name.empty()) {
        CardTensor tensor =
            described < node.input_tensors.size() ? node.input_tensors[described] : CardTensor();
        tensor.name = name;
        place = places_[name] = add_tensor(std::move(tensor));
      }
      described += place == CardOp::kNoTensor ? 0 : 1;
      node.op.inputs.push_back(place);
    }
    if (node.op.type.empty()) node.op.type = "unknown";
    card_.ops.push_back(std::move(node.op));
  }

  ProtoText in_;
  ModelCard& card_;
  CardBudget budget_;
  std::unordered_map<std::string, std::uint32_t> places_;  ///< of the graph that is read
};

}  // namespace

bool is_ge_graph(Bytes file) {
  constexpr std::size_t kLooksAt = 4096;
  ProtoText in(as_text(file.first(std::min(file.size(), kLooksAt))));
  while (in.next() && (in.is("name") || in.is("version") || in.is("custom_version"))) in.skip();
  if (!in.good() || !in.is("graph")) return false;
  in.open();
  return in.next() && (in.is("name") || in.is("input") || in.is("op"));
}

bool read_ge_graph(Bytes file, ModelCard& card, std::string& reason) {
  return GeGraphReader(file, card).read(reason);
}

}  // namespace opdump::tool
