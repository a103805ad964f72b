#include "json_tree.hpp"

#include <simdjson.h>

#include <array>
#include <new>
#include <string>
#include <utility>

#if SIMDJSON_EXCEPTIONS
#error "compile with -DSIMDJSON_EXCEPTIONS=0"
#endif

namespace opdump::config {

std::string_view to_string(JsonType type) {
  switch (type) {
    case JsonType::null:
      return "null";
    case JsonType::boolean:
      return "true or false";
    case JsonType::number:
      return "a number";
    case JsonType::string:
      return "a string";
    case JsonType::array:
      return "an array";
    case JsonType::object:
      return "an object";
  }
  return "an unknown value";
}

const JsonNode* JsonNode::member(std::string_view name) const {
  if (type_ != JsonType::object) return nullptr;
  const JsonNode* found = nullptr;
  for (const JsonNode* child = first_; child != nullptr; child = child->next_) {
    if (child->key_ == name) found = child;
  }
  return found;
}

struct JsonTree::Block {
  Block* previous;
  std::size_t used = 0;
  std::array<JsonNode, 256> nodes{};
};

JsonTree::~JsonTree() {
  while (last_ != nullptr) delete std::exchange(last_, last_->previous);
}

JsonNode* JsonTree::add() {
  if (last_ == nullptr || last_->used == last_->nodes.size()) {
    Block* block = new (std::nothrow) Block{last_};
    if (block == nullptr) return nullptr;
    last_ = block;
  }
  return &last_->nodes[last_->used++];
}

namespace {

namespace ondemand = simdjson::ondemand;

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

struct Flaw {
  std::size_t offset;
  std::string_view reason;
};

/// The first byte of a character that is not UTF-8.
std::size_t find_bad_utf8(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    std::size_t bytes = 1;
    while (bytes <= 4 && !simdjson::validate_utf8(text.substr(at, bytes))) ++bytes;
    if (bytes > 4) break;
    at += bytes;
  }
  return at;
}

/// What keeps simdjson from finding the strings of `text`.
Flaw find_bad_string(std::string_view text) {
  constexpr std::size_t kOutside = std::string_view::npos;
  std::size_t opened = kOutside;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') {
      opened = opened == kOutside ? i : kOutside;
    } else if (opened == kOutside) {
      if (text[i] == '\\') return {i, "a backslash may only stand inside a string"};
    } else if (text[i] == '\\') {
      ++i;
    } else if (static_cast<unsigned char>(text[i]) < 0x20) {
      return {i, "a line break or control character inside a string: close the string with \" or write \\n"};
    }
  }
  if (opened == kOutside) return {text.size(), "not valid JSON"};
  return {opened, "this string is not closed: a \" is missing"};
}

}  // namespace

/// Walks the document once, front to back, and visits every value: On-Demand checks what is visited. After
/// the first error the document is not touched again, because simdjson 3.0.1 then reads through a null
/// pointer. The text is read inside a pair of brackets of our own. So the root is a value like any other, and
/// what comes after it is met as the element of an array that should have ended.
class JsonReader {
 public:
  JsonReader(JsonTree& tree, std::string_view text, Refusal& refusal)
      : tree_(tree), text_(text), refusal_(refusal) {}

  const JsonNode* read() {
    skipped_ = text_.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
    const std::string_view body = text_.substr(skipped_);
    simdjson::padded_string padded(body.size() + 2);
    if (padded.data() == nullptr) return no_memory();
    padded.data()[0] = '[';
    body.copy(padded.data() + 1, body.size());
    padded.data()[body.size() + 1] = ']';
    base_ = padded.data();

    ondemand::document document;
    if (const simdjson::error_code error = parser_.iterate(padded).get(document)) return stage_one(error);
    document_ = &document;
    ondemand::array wrapper;
    if (document.get_array().get(wrapper)) return syntax(skipped_, "not valid JSON");
    ondemand::array_iterator it;
    if (wrapper.begin().get(it) || it == ondemand::array_iterator{}) return empty();
    ondemand::value value;
    if ((*it).get(value)) return syntax(skipped_, "not valid JSON");
    const JsonNode* root = read_value(value, 0);
    if (root == nullptr) return nullptr;
    const std::size_t end = here();
    if (end != text_.size()) return syntax(end, "the JSON value ends before this: remove what follows it");
    return root;
  }

 private:
  JsonNode* read_value(ondemand::value& value, int depth) {
    const std::size_t offset = offset_of(value.raw_json_token().data());
    ondemand::json_type type;
    if (value.type().get(type)) return syntax(offset, "a value is missing or misspelt here");
    JsonNode* node = tree_.add();
    if (node == nullptr) return no_memory();
    node->offset_ = offset;
    switch (type) {
      case ondemand::json_type::object:
        node->type_ = JsonType::object;
        return read_object(value, *node, depth + 1);
      case ondemand::json_type::array:
        node->type_ = JsonType::array;
        return read_array(value, *node, depth + 1);
      case ondemand::json_type::string: {
        node->type_ = JsonType::string;
        ondemand::raw_json_string raw;
        if (value.get_raw_json_string().get(raw)) return syntax(offset, "a string is expected here");
        return read_text(raw, node->text_) ? node : nullptr;
      }
      case ondemand::json_type::number: {
        node->type_ = JsonType::number;
        double number;
        if (value.get_double().get(number)) return syntax(offset, "not a number that JSON allows");
        return node;
      }
      case ondemand::json_type::boolean: {
        node->type_ = JsonType::boolean;
        bool boolean;
        if (value.get_bool().get(boolean)) return syntax(offset, "only true, false and null need no quotes");
        return node;
      }
      case ondemand::json_type::null: {
        node->type_ = JsonType::null;
        bool null = false;
        if (value.is_null().get(null) || !null)
          return syntax(offset, "only true, false and null need no quotes");
        return node;
      }
    }
    return syntax(offset, "a value is missing or misspelt here");
  }

  JsonNode* read_array(ondemand::value& value, JsonNode& node, int depth) {
    if (depth > JsonTree::kMaxDepth) return too_deep(node.offset_);
    ondemand::array array;
    ondemand::array_iterator it;
    std::size_t last_token = node.offset_;
    if (value.get_array().get(array) || array.begin().get(it))
      return syntax(last_token, "this array does not end: a ] is missing");
    const JsonNode** link = &node.first_;
    for (; it != ondemand::array_iterator{}; ++it) {
      ondemand::value element;
      if ((*it).get(element)) return syntax(last_token, "a comma or ] is missing before this");
      JsonNode* child = read_value(element, depth);
      if (child == nullptr) return nullptr;
      *link = child;
      link = &child->next_;
      last_token = here();
    }
    return &node;
  }

  JsonNode* read_object(ondemand::value& value, JsonNode& node, int depth) {
    if (depth > JsonTree::kMaxDepth) return too_deep(node.offset_);
    ondemand::object object;
    ondemand::object_iterator it;
    std::size_t last_token = node.offset_;
    if (value.get_object().get(object) || object.begin().get(it))
      return syntax(last_token, "this object does not end: a } is missing");
    const JsonNode** link = &node.first_;
    for (; it != ondemand::object_iterator{}; ++it) {
      ondemand::field field;
      if ((*it).get(field)) return bad_member(last_token, node.offset_);
      std::string_view key;
      const std::size_t key_offset = offset_of(field.key().raw() - 1);
      if (!read_text(field.key(), key)) return nullptr;
      JsonNode* child = read_value(field.value(), depth);
      if (child == nullptr) return nullptr;
      child->key_ = key;
      child->key_offset_ = key_offset;
      *link = child;
      link = &child->next_;
      last_token = here();
    }
    return &node;
  }

  /// simdjson does not say which of the tokens after `last_token` it did not like.
  JsonNode* bad_member(std::size_t last_token, std::size_t object_offset) {
    if (last_token != object_offset && (last_token >= text_.size() || text_[last_token] != ','))
      return syntax(last_token, "a comma or } is missing before this");
    std::size_t next = last_token + 1;
    while (next < text_.size() && is_space(text_[next])) ++next;
    if (next < text_.size() && text_[next] == '"') return syntax(next, "a colon is missing after this key");
    return syntax(next, "a key in double quotes is expected here");
  }

  /// A string or key whose first byte inside the quotes is `raw`.
  bool read_text(ondemand::raw_json_string raw, std::string_view& text) {
    const std::size_t begin = offset_of(raw.raw());
    const std::size_t end = text_.find_first_of("\"\\", begin);
    if (text_[end] == '"') {
      text = text_.substr(begin, end - begin);
      return true;
    }
    if (tree_.unescaped_ == nullptr) {
      tree_.unescaped_.reset(new (std::nothrow) std::uint8_t[text_.size() + simdjson::SIMDJSON_PADDING]);
      if (tree_.unescaped_ == nullptr) return no_memory() != nullptr;
      unescaped_end_ = tree_.unescaped_.get();
    }
    // A lone surrogate may come out as three bytes that are no UTF-8.
    if (parser_.unescape(raw, unescaped_end_).get(text) || !simdjson::validate_utf8(text))
      return syntax(begin - 1, "a backslash in this string starts nothing that JSON knows") != nullptr;
    return true;
  }

  /// Offset of the token that would be read next: the text's size for our own closing bracket, and more when
  /// that has been taken for one of the text's. Only before the first error.
  std::size_t here() {
    const char* location = nullptr;
    return document_->current_location().get(location) ? text_.size() + 1 : offset_of(location);
  }

  std::size_t offset_of(const char* at) const { return skipped_ + static_cast<std::size_t>(at - base_) - 1; }

  JsonNode* stage_one(simdjson::error_code error) {
    if (error == simdjson::MEMALLOC) return no_memory();
    if (error == simdjson::UTF8_ERROR)
      return syntax(find_bad_utf8(text_), "not UTF-8: save the file in that encoding");
    const Flaw flaw = find_bad_string(text_);
    return syntax(flaw.offset, flaw.reason);
  }

  JsonNode* syntax(std::size_t offset, std::string_view reason) {
    if (offset >= text_.size()) reason = "the text ends too early: a value or a closing bracket is missing";
    refusal_.refuse(ConfigFault::syntax, offset, {}, std::string(reason));
    return nullptr;
  }

  JsonNode* empty() {
    refusal_.refuse(ConfigFault::syntax, 0, {},
                    "there is no JSON in the text: write an object, or make the file 0 bytes long");
    return nullptr;
  }

  JsonNode* too_deep(std::size_t offset) {
    refusal_.refuse(ConfigFault::too_deep, offset, {},
                    "nested more than " + std::to_string(JsonTree::kMaxDepth) + " levels deep");
    return nullptr;
  }

  JsonNode* no_memory() {
    refusal_.refuse(ConfigFault::no_memory, 0, {}, "the heap is too small to parse this text");
    return nullptr;
  }

  JsonTree& tree_;
  std::string_view text_;
  Refusal& refusal_;
  std::size_t skipped_ = 0;  ///< bytes of a byte order mark
  const char* base_ = nullptr;
  std::uint8_t* unescaped_end_ = nullptr;
  ondemand::parser parser_;
  ondemand::document* document_ = nullptr;
};

bool JsonTree::parse(std::string_view text, Refusal& refusal) {
  root_ = JsonReader(*this, text, refusal).read();
  return root_ != nullptr;
}

}  // namespace opdump::config
