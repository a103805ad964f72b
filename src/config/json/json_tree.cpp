#include "src/config/json/json_tree.hpp"

#ifndef SIMDJSON_EXCEPTIONS
#define SIMDJSON_EXCEPTIONS 0
#endif
#include <simdjson.h>

#include <algorithm>
#include <new>
#include <string>
#include <utility>

#include "src/config/json/byte_words.hpp"
#include "src/config/json/json_windows.hpp"
#include "src/config/letters.hpp"

#if SIMDJSON_EXCEPTIONS
#error "compile with -DSIMDJSON_EXCEPTIONS=0"
#endif

namespace opdump::config {
inline namespace OPDUMP_NAMESPACE {

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
  if (type() != JsonType::object) return nullptr;
  const JsonNode* found = nullptr;
  for (const JsonNode* child = first(); child != nullptr; child = child->next()) {
    if (child->key() == name) found = child;
  }
  return found;
}

struct JsonTree::Texts {
  Texts* previous;
  std::size_t left;  ///< bytes free behind `end`
  std::uint8_t* end;
};

JsonTree::~JsonTree() {
  while (texts_ != nullptr) ::operator delete(std::exchange(texts_, texts_->previous));
}

namespace {

namespace ondemand = simdjson::ondemand;

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

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

/// The flaw that keeps simdjson from finding the strings of `text`.
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

/// Walks the text once, front to back, and visits every value: On-Demand checks what is visited. After the first
/// error the document is not touched again, because simdjson 3.0.1 then reads through a null pointer. Each window of
/// the text is read as a document of its own: the brackets open at its begin are put before it, and closing ones for
/// those open at its end after it. Around this stands a pair of brackets of our own. So the root is a value like any
/// other, and text after the root appears as an element of an array that should have ended.
class JsonReader {
 public:
  JsonReader(JsonTree& tree, std::string_view text, Refusal& refusal, std::size_t window_bytes,
             const JsonTree::Progress& progress)
      : tree_(tree),
        text_(text),
        refusal_(refusal),
        progress_(progress),
        skipped_(text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0),
        window_bytes_(window_bytes),
        windows_(text, skipped_, window_bytes) {}

  const JsonNode* read() {
    capacity_ = count_values(text_);
    tree_.nodes_.reset(new (std::nothrow) std::byte[capacity_ * sizeof(JsonNode)]);
    if (tree_.nodes_ == nullptr) return no_memory_node();
    while (read_window()) {
      if (progress_.advanced != nullptr)
        progress_.advanced(progress_.context, windows_.end() - windows_.begin());
      if (windows_.last()) return node(0);
      windows_.advance();
    }
    return nullptr;
  }

 private:
  /// An array or object that is being read.
  struct Level {
    JsonNode* node = nullptr;
    JsonNode* last_child = nullptr;
    std::size_t last_token = 0;  ///< the last token that was right
  };

  /// Copies the window, with brackets put round it. False when there is no memory.
  bool copy_window() {
    const OpenBrackets& before = windows_.before();
    std::string_view body = text_.substr(windows_.begin(), windows_.end() - windows_.begin());
    const bool alone = windows_.last() && before.depth == 0;
    const std::size_t brackets = alone ? 2 : 5 * before.kinds.size() + 2;
    const std::size_t bytes = brackets + (alone ? body.size() : std::max(body.size(), window_bytes_));
    if (bytes > copy_bytes_) {
      copy_.reset(new (std::nothrow) char[bytes + simdjson::SIMDJSON_PADDING]);
      if (copy_ == nullptr) return false;
      copy_bytes_ = bytes;
    }
    char* to = copy_.get();
    *to++ = '[';
    for (std::size_t i = 0; i < before.depth; ++i) {
      *to++ = before.kinds[i];
      if (before.kinds[i] == '{' && i + 1 < before.depth) to = std::copy_n("\"\":", 3, to);
    }
    body_ = to;
    to += body.copy(to, body.size());
    if (!windows_.last()) {
      for (std::size_t i = windows_.after().depth; i > 0; --i)
        *to++ = windows_.after().kinds[i - 1] == '{' ? '}' : ']';
    }
    *to++ = ']';
    copied_ = static_cast<std::size_t>(to - copy_.get());
    // simdjson reads the first of these bytes, where an earlier window may have left a bracket.
    std::fill_n(to, simdjson::SIMDJSON_PADDING, '\0');
    return true;
  }

  bool read_window() {
    if (!copy_window()) return no_memory();
    if (parser_.capacity() < copied_ && parser_.allocate(copy_bytes_, JsonTree::kMaxDepth + 2))
      return no_memory();
    ondemand::document document;
    const simdjson::padded_string_view padded(copy_.get(), copied_, copy_bytes_ + simdjson::SIMDJSON_PADDING);
    if (const simdjson::error_code error = parser_.iterate(padded).get(document)) return stage_one(error);
    document_ = &document;
    ondemand::array wrapper;
    if (document.get_array().get(wrapper)) return syntax(skipped_, "not valid JSON");
    ondemand::array_iterator it;
    if (wrapper.begin().get(it) || it == ondemand::array_iterator{}) return empty();
    ondemand::value value;
    if ((*it).get(value)) return syntax(skipped_, "not valid JSON");
    if (windows_.before().depth > 0) {
      if (!resume(value, 1)) return false;
    } else if (read_value(value, 0) == nullptr) {
      return false;
    }
    // Only our own bracket may be left.
    const std::size_t end = here();
    if (end != offset_of(copy_.get() + copied_ - 1))
      return syntax(end, "the JSON value ends before this: remove what follows it");
    return true;
  }

  /// Goes on with a container that earlier windows have begun.
  bool resume(ondemand::value& value, std::size_t depth) {
    Level& level = levels_[depth];
    level.last_token = windows_.begin() - 1;
    return level.node->type() == JsonType::array ? read_elements(value, depth, true)
                                                 : read_members(value, depth, true);
  }

  JsonNode* node(std::size_t index) { return reinterpret_cast<JsonNode*>(tree_.nodes_.get()) + index; }

  JsonNode* add() {
    return used_ == capacity_ ? nullptr : ::new (static_cast<void*>(node(used_++))) JsonNode;
  }

  void append(Level& level, JsonNode& child) {
    if (level.last_child == nullptr) {
      level.node->first_ = static_cast<std::uint32_t>(&child - level.node) & 0x1fffffff;
    } else {
      level.last_child->next_ = static_cast<std::uint32_t>(&child - level.last_child);
    }
    level.last_child = &child;
  }

  JsonNode* read_value(ondemand::value& value, std::size_t depth) {
    const std::size_t offset = offset_of(value.raw_json_token().data());
    ondemand::json_type type;
    if (value.type().get(type)) return fail(offset, "a value is missing or misspelt here");
    JsonNode* node = add();
    if (node == nullptr) return no_memory_node();
    node->offset_ = static_cast<std::uint32_t>(offset);
    switch (type) {
      case ondemand::json_type::object:
        return read_container(value, *node, JsonType::object, depth + 1);
      case ondemand::json_type::array:
        return read_container(value, *node, JsonType::array, depth + 1);
      case ondemand::json_type::string: {
        set_type(*node, JsonType::string);
        ondemand::raw_json_string raw;
        if (value.get_raw_json_string().get(raw)) return fail(offset, "a string is expected here");
        return read_text(raw, node->text_, node->text_size_) ? node : nullptr;
      }
      case ondemand::json_type::number: {
        set_type(*node, JsonType::number);
        double number;
        if (value.get_double().get(number)) return fail(offset, "not a number that JSON allows");
        return node;
      }
      case ondemand::json_type::boolean: {
        set_type(*node, JsonType::boolean);
        bool boolean;
        if (value.get_bool().get(boolean)) return fail(offset, "only true, false and null need no quotes");
        return node;
      }
      case ondemand::json_type::null: {
        bool null = false;
        if (value.is_null().get(null) || !null)
          return fail(offset, "only true, false and null need no quotes");
        return node;
      }
    }
    return fail(offset, "a value is missing or misspelt here");
  }

  static void set_type(JsonNode& node, JsonType type) { node.type_ = static_cast<std::uint32_t>(type) & 7; }

  JsonNode* read_container(ondemand::value& value, JsonNode& node, JsonType type, std::size_t depth) {
    set_type(node, type);
    if (depth > JsonTree::kMaxDepth) return too_deep(node.offset_);
    levels_[depth] = {&node, nullptr, node.offset_};
    const bool whole =
        type == JsonType::array ? read_elements(value, depth, false) : read_members(value, depth, false);
    return whole ? &node : nullptr;
  }

  /// `resumed`: the first element may be a container that an earlier window has begun.
  bool read_elements(ondemand::value& value, std::size_t depth, bool resumed) {
    Level& level = levels_[depth];
    ondemand::array array;
    ondemand::array_iterator it;
    if (value.get_array().get(array) || array.begin().get(it))
      return syntax(level.last_token, "this array does not end: a ] is missing");
    bool resumes_child = resumed && depth < windows_.before().depth;
    for (; it != ondemand::array_iterator{}; ++it) {
      ondemand::value element;
      if ((*it).get(element)) return syntax(level.last_token, "a comma or ] is missing before this");
      if (resumes_child) {
        if (!resume(element, depth + 1)) return false;
        resumes_child = false;
      } else {
        JsonNode* child = read_value(element, depth);
        if (child == nullptr) return false;
        append(level, *child);
      }
      level.last_token = here();
    }
    return true;
  }

  bool read_members(ondemand::value& value, std::size_t depth, bool resumed) {
    Level& level = levels_[depth];
    ondemand::object object;
    ondemand::object_iterator it;
    if (value.get_object().get(object) || object.begin().get(it))
      return syntax(level.last_token, "this object does not end: a } is missing");
    bool resumes_child = resumed && depth < windows_.before().depth;
    for (; it != ondemand::object_iterator{}; ++it) {
      ondemand::field field;
      if ((*it).get(field)) return bad_member(level.last_token, level.node->offset_);
      if (resumes_child) {
        if (!resume(field.value(), depth + 1)) return false;
        resumes_child = false;
      } else {
        const char* key = nullptr;
        std::uint32_t key_size = 0;
        const std::size_t key_offset = offset_of(field.key().raw() - 1);
        if (!read_text(field.key(), key, key_size)) return false;
        JsonNode* child = read_value(field.value(), depth);
        if (child == nullptr) return false;
        child->key_ = key;
        child->key_size_ = key_size;
        child->key_offset_ = static_cast<std::uint32_t>(key_offset);
        append(level, *child);
      }
      level.last_token = here();
    }
    return true;
  }

  /// simdjson does not say which of the tokens after `last_token` it refused.
  bool bad_member(std::size_t last_token, std::size_t object_offset) {
    if (last_token != object_offset && (last_token >= text_.size() || text_[last_token] != ','))
      return syntax(last_token, "a comma or } is missing before this");
    std::size_t next = last_token + 1;
    while (next < text_.size() && is_space(text_[next])) ++next;
    if (next < text_.size() && text_[next] == '"') return syntax(next, "a colon is missing after this key");
    return syntax(next, "a key in double quotes is expected here");
  }

  /// A string or key whose first byte inside the quotes is `raw`.
  bool read_text(ondemand::raw_json_string raw, const char*& text, std::uint32_t& size) {
    const std::size_t begin = offset_of(raw.raw());
    const std::size_t end = find_string_sign(text_, begin);
    std::string_view found = text_.substr(begin, end - begin);
    if (text_[end] != '"') {
      std::uint8_t* to = room_for_text(skip_string(text_, begin - 1) - begin);
      if (to == nullptr) return no_memory();
      // A lone surrogate may be unescaped to three bytes that are not UTF-8.
      if (parser_.unescape(raw, to).get(found) || !simdjson::validate_utf8(found))
        return syntax(begin - 1, "a backslash in this string starts nothing that JSON knows");
      tree_.texts_->left -= found.size();
      tree_.texts_->end += found.size();
    }
    text = found.data();
    size = static_cast<std::uint32_t>(found.size());
    return true;
  }

  /// Room for a string of `bytes` bytes; simdjson writes beyond its end.
  std::uint8_t* room_for_text(std::size_t bytes) {
    constexpr std::size_t kBlockBytes = 512;
    const std::size_t needed = bytes + simdjson::SIMDJSON_PADDING;
    if (tree_.texts_ == nullptr || tree_.texts_->left < needed) {
      const std::size_t room = std::max(needed, kBlockBytes);
      void* memory = ::operator new(sizeof(JsonTree::Texts) + room, std::nothrow);
      if (memory == nullptr) return nullptr;
      std::uint8_t* end = static_cast<std::uint8_t*>(memory) + sizeof(JsonTree::Texts);
      tree_.texts_ = ::new (memory) JsonTree::Texts{tree_.texts_, room, end};
    }
    return tree_.texts_->end;
  }

  /// Offset of the token that would be read next: the text's size for our own closing bracket, and more when
  /// our bracket was taken for one of the text's. Only before the first error.
  std::size_t here() {
    const char* location = nullptr;
    return document_->current_location().get(location) ? text_.size() + 1 : offset_of(location);
  }

  std::size_t offset_of(const char* at) const {
    return windows_.begin() + static_cast<std::size_t>(at - body_);
  }

  bool stage_one(simdjson::error_code error) {
    if (error == simdjson::MEMALLOC) return no_memory();
    if (error == simdjson::UTF8_ERROR)
      return syntax(find_bad_utf8(text_), "not UTF-8: save the file in that encoding");
    const Flaw flaw = find_bad_string(text_);
    return syntax(flaw.offset, flaw.reason);
  }

  /// What other languages allow at `offset`, and JSON does not; empty for anything else.
  std::string_view habit_at(std::size_t offset) const {
    const std::string_view from = text_.substr(offset);
    if (from[0] == '#' || from.starts_with("//") || from.starts_with("/*"))
      return "a comment, and JSON has none: take it out";
    if (from[0] == '\'') return "a single quote: strings and keys stand in double quotes in JSON";
    std::size_t before = offset;
    while (before != 0 && is_space(text_[before - 1])) --before;
    const bool after_comma = before != 0 && text_[before - 1] == ',';
    if (after_comma && (from[0] == '}' || from[0] == ']'))
      return "no comma may stand before this: take it out";
    return {};
  }

  bool syntax(std::size_t offset, std::string_view reason) {
    const bool is_wide = text_.starts_with("\xff\xfe") || text_.starts_with("\xfe\xff") ||
                         text_.substr(0, 2).find('\0') != std::string_view::npos;
    if (is_wide) {
      offset = 0;
      reason = "UTF-16, and not UTF-8: save the file in that encoding";
    } else if (offset >= text_.size()) {
      reason = "the text ends too early: a value or a closing bracket is missing";
    } else if (const std::string_view habit = habit_at(offset); !habit.empty()) {
      reason = habit;
    }
    return refusal_.refuse(ConfigFault::syntax, offset, "", reason);
  }

  JsonNode* fail(std::size_t offset, std::string_view reason) {
    syntax(offset, reason);
    return nullptr;
  }

  bool empty() {
    return refusal_.refuse(ConfigFault::syntax, 0, "",
                           "there is no JSON in the text: write an object, or make the file 0 bytes long");
  }

  JsonNode* too_deep(std::size_t offset) {
    refusal_.refuse(ConfigFault::too_deep, offset, "",
                    joined({"nested more than ", decimal(JsonTree::kMaxDepth), " levels deep"}));
    return nullptr;
  }

  bool no_memory() {
    return refusal_.refuse(ConfigFault::no_memory, 0, "", "the heap is too small to parse this text");
  }

  JsonNode* no_memory_node() {
    no_memory();
    return nullptr;
  }

  JsonTree& tree_;
  std::string_view text_;
  Refusal& refusal_;
  const JsonTree::Progress progress_;
  std::size_t skipped_;  ///< bytes of a byte order mark
  std::size_t window_bytes_;
  JsonWindows windows_;
  std::size_t capacity_ = 0;  ///< how many nodes fit
  std::size_t used_ = 0;      ///< how many nodes are used
  Level levels_[JsonTree::kMaxDepth + 1];
  std::unique_ptr<char[]> copy_;  ///< a window with brackets round it
  std::size_t copy_bytes_ = 0;    ///< bytes that `copy_` has room for, without the padding
  std::size_t copied_ = 0;        ///< bytes of the document in `copy_`
  const char* body_ = nullptr;    ///< the window itself in `copy_`
  ondemand::parser parser_;
  ondemand::document* document_ = nullptr;
};

bool JsonTree::parse(std::string_view text, Refusal& refusal, std::size_t window_bytes,
                     const Progress& progress) {
  root_ = JsonReader(*this, text, refusal, window_bytes, progress).read();
  return root_ != nullptr;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::config
