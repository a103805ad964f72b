#pragma once
#include <string>

#include "opdump/types/config.hpp"
#include "src/config/json/node_reader.hpp"

namespace opdump::config {
inline namespace OPDUMP_NAMESPACE {

/// Reads the `kernels` of MindSpore's data_dump.json: full names, types and regular expressions.
class MindSporeKernels : NodeReader {
 public:
  MindSporeKernels(const JsonNode& list, const KeyPath& at, Reading& reading)
      : NodeReader(reading), list_(list), at_(at) {}

  /// Fills the part of `rule` that names operators; a list that names no operator stands for every operator.
  bool read(ModelRule& rule);

 private:
  enum class Kind : std::uint8_t { blank, name, type, pattern, nothing };
  struct Entry {
    Kind kind = Kind::blank;
    std::string text;
  };

  Entry classify(const JsonNode& element) const;
  void note_duplicates();
  bool store(const JsonNode& element, const KeyPath& at, const Entry& entry);

  const JsonNode& list_;
  const KeyPath& at_;
  std::string_view* next_name_ = nullptr;
  std::string_view* next_type_ = nullptr;
  NamePattern* next_pattern_ = nullptr;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::config
