#include <cmath>
#include <cstdio>

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

bool JsonListing::show(const ShownRecord& record, RecordFile& file, std::string& error) {
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
