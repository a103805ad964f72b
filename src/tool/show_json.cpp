#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string_view>

#include "findings.hpp"
#include "human_text.hpp"
#include "show_listing.hpp"

namespace opdump::tool {
namespace {

/// JSON has no number that is none: these become texts.
std::string json_number(double number) {
  if (!std::isfinite(number)) return std::isnan(number) ? "\"nan\"" : number < 0 ? "\"-inf\"" : "\"inf\"";
  char text[64];
  std::snprintf(text, sizeof text, "%.17g", number);
  return text;
}

/// Takes the digits off the front of `text`; false when there are none.
bool skip_digits(std::string_view& text) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  text.remove_prefix(digits);
  return digits != 0;
}

/// Whether `text` is a number as JSON has it.
bool is_json_number(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  const bool one_zero = text.size() > 1 && text[0] == '0' && text[1] >= '0' && text[1] <= '9';
  if (one_zero || !skip_digits(text)) return false;
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    if (!skip_digits(text)) return false;
  }
  if (text.starts_with('e')) {
    text.remove_prefix(1);
    if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
    if (!skip_digits(text)) return false;
  }
  return text.empty();
}

/// A number where the text of a cell is one, otherwise the text.
std::string json_cell(const std::string& text) {
  return is_json_number(text) ? text : json_text(text);
}

std::string digest_json(const TensorDigest& digest) {
  if (!digest.are_numbers) return {};
  const Statistics& statistics = digest.statistics;
  std::string json = ", \"elements\": " + std::to_string(digest.elements);
  if (statistics.finite() != 0) {
    json += ", \"min\": " + json_number(statistics.min()) + ", \"max\": " + json_number(statistics.max()) +
            ", \"mean\": " + json_number(statistics.mean());
  }
  json += ", \"nan\": " + std::to_string(statistics.nan()) +
          ", \"inf\": " + std::to_string(statistics.infinite());
  if (digest.has_spread) {
    json += ", \"std\": " + json_number(digest.deviation) + ", \"zeros\": " + std::to_string(digest.zeros) +
            ", \"histogram\": " + shape_text(digest.bins);
  }
  if (!digest.head.empty()) {
    json += ", \"head\": ";
    char separator = '[';
    for (const double number : digest.head) {
      json += separator + json_number(number);
      separator = ',';
    }
    json += ']';
  }
  return json;
}

std::string tensor_json(const RecordTensor& tensor) {
  std::string json = "{\"role\": \"" + std::string(tensor.is_output ? "output" : "input") +
                     "\", \"index\": " + std::to_string(tensor.index) +
                     ", \"dtype\": " + json_text(dtype_text(tensor)) +
                     ", \"format\": " + json_text(format_text(tensor.format)) +
                     ", \"shape\": " + (tensor.has_shape ? shape_text(tensor.shape()) : "null");
  if (tensor.has_original_shape) json += ", \"original_shape\": " + shape_text(tensor.original_shape());
  return json + ", \"bytes\": " + std::to_string(tensor.bytes);
}

}  // namespace

void JsonListing::put_head(const ShownRecord& record) {
  std::string json = sums_.records++ == 0 ? "{\"records\": [\n" : ",\n";
  json += "{\"file\": " + json_text(record.found.path);
  if (record.name) {
    json += ", \"type\": " + json_text(record.name->type) + ", \"name\": " + json_text(record.name->name) +
            ", \"task\": " + std::to_string(record.name->task) +
            ", \"stream\": " + std::to_string(record.name->stream) +
            ", \"unix_us\": " + std::to_string(record.name->unix_us);
  }
  if (record.place) {
    json += ", \"model\": " + json_text(record.place->model) +
            ", \"model_id\": " + std::to_string(record.place->model_id) +
            ", \"step\": " + std::to_string(record.place->step);
  }
  json += ", \"tensors\": [";
  std::fputs(json.c_str(), stdout);
}

void JsonListing::show(const ShownRecord& record, const StatisticsRecord& statistics) {
  put_head(record);
  const char* separator = "\n  ";
  for (const StatisticsLine& line : statistics.lines) {
    ++sums_.tensors;
    std::string json = separator;
    json += "{\"role\": \"" + std::string(line.is_output ? "output" : "input") +
            "\", \"index\": " + std::to_string(line.index) + ", \"dtype\": " + json_text(line.dtype);
    if (!line.format.empty()) json += ", \"format\": " + json_text(line.format);
    json += ", \"shape\": " + (line.shape.empty() ? "null" : line.shape) +
            ", \"bytes\": " + std::to_string(line.bytes) + ", \"statistics\": {";
    for (std::size_t i = 0; i < line.values.size(); ++i)
      json +=
          (i == 0 ? "" : ", ") + json_text(line.values[i].first) + ": " + json_cell(line.values[i].second);
    std::fputs((json + "}}").c_str(), stdout);
    separator = ",\n  ";
  }
  std::fputs("]}", stdout);
}

bool JsonListing::show(const ShownRecord& record, RecordFile& file, std::string& error) {
  put_head(record);
  std::string json;
  bool first = true;
  RecordTensors tensors = file.tensors();
  for (RecordTensor tensor; tensors.next(tensor); first = false) {
    ++sums_.tensors;
    sums_.bytes += tensor.bytes;
    TensorDigest digest;
    std::string problem;
    const bool good = digest_tensor(file, tensor, detail_.spread, detail_.head, digest, problem);
    json = (first ? "\n  " : ",\n  ") + tensor_json(tensor);
    json += good ? digest_json(digest) : ", \"problem\": " + json_text(problem);
    std::fputs((json + '}').c_str(), stdout);
    if (!good) error = problem;
  }
  std::fputs("]}", stdout);
  return error.empty();
}

void JsonListing::finish() const {
  std::printf("%s], \"count\": {\"records\": %llu, \"tensors\": %llu, \"bytes\": %llu}}\n",
              sums_.records == 0 ? "{\"records\": [" : "\n", static_cast<unsigned long long>(sums_.records),
              static_cast<unsigned long long>(sums_.tensors), static_cast<unsigned long long>(sums_.bytes));
}

}  // namespace opdump::tool
