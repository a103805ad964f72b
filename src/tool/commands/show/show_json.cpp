#include <algorithm>
#include <cstdio>
#include <string_view>

#include "src/card/card_json.hpp"
#include "src/config/text/human_text.hpp"
#include "src/tool/commands/show/show_listing.hpp"

namespace opdump::tool {

namespace {

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

void write_digest(JsonWriter& json, const TensorDigest& digest) {
  if (!digest.are_numbers) return;
  const Statistics& statistics = digest.statistics;
  json.key("elements").number(digest.elements);
  if (statistics.finite() != 0) {
    json.key("min").real(statistics.min()).key("max").real(statistics.max());
    json.key("mean").real(statistics.mean());
  }
  json.key("nan").number(statistics.nan()).key("inf").number(statistics.infinite());
  if (digest.has_spread) {
    json.key("std").real(digest.deviation).key("zeros").number(digest.zeros);
    json.key("histogram").json(shape_text(digest.bins));
  }
  if (!digest.head.empty()) json.key("head").reals(digest.head);
}

void write_real(JsonWriter& json, const Quantisation& quant, const TensorDigest& digest) {
  json.key("quant");
  cards::put_quant(json, quant);
  if (!digest.has_real) return;
  if (digest.real.finite() != 0) {
    json.key("real_min").real(digest.real.min()).key("real_max").real(digest.real.max());
    json.key("real_mean").real(digest.real.mean());
  }
  if (digest.has_limits) json.key("at_least").number(digest.at_least).key("at_most").number(digest.at_most);
}

void write_role(JsonWriter& json, bool is_output, std::uint64_t index) {
  json.key("role").text(is_output ? "output" : "input").key("index").number(index);
}

void write_tensor(JsonWriter& json, const ShownRecord& record, const RecordTensor& tensor) {
  write_role(json, tensor.is_output, tensor.index);
  const RunTensor* const named =
      record.card == nullptr || !record.name
          ? nullptr
          : record.card->tensor(identity_of(*record.name), tensor.is_output, tensor.index);
  if (named != nullptr && !named->name.empty()) json.key("tensor").text(named->name);
  json.key("dtype").text(dtype_text(tensor)).key("format").text(format_text(tensor.format));
  json.key("shape").json(tensor.has_shape ? shape_text(tensor.shape()) : "null");
  if (tensor.has_original_shape) json.key("original_shape").json(shape_text(tensor.original_shape()));
  json.key("bytes").number(tensor.bytes);
}

void write_statistics(JsonWriter& json, const StatisticsLine& line) {
  write_role(json, line.is_output, line.index);
  json.key("dtype").text(line.dtype);
  if (!line.format.empty()) json.key("format").text(line.format);
  json.key("shape").json(line.shape.empty() ? "null" : line.shape).key("bytes").number(line.bytes);
  if (!line.kept.empty()) json.key("kept").text(line.kept);
  json.key("statistics").open('{');
  for (const auto& [name, value] : line.values) {
    json.key(name);
    is_json_number(value) ? json.json(value) : json.text(value);
  }
  json.close('}');
}

}  // namespace

JsonListing::JsonListing(const ShowDetail& detail) : detail_(detail) {
  json_.open('{').key("records").open('[');
}

void JsonListing::write_head(const ShownRecord& record) {
  ++sums_.records;
  json_.line().open('{').key("file").text(record.found.path);
  if (const std::optional<std::uint32_t> boot = boot_of(record.found.path)) json_.key("boot").number(*boot);
  if (record.name && record.name->name_only) {
    json_.key("name").text(record.name->name);
  } else if (record.name) {
    json_.key("type").text(record.type()).key("name").text(record.op());
    if (is_ambiguous(record)) json_.key("ambiguous").flag(true);
    json_.key("task").number(record.name->task);
    if (record.name->stream != UINT64_MAX) json_.key("stream").number(record.name->stream);
    json_.key("unix_us").number(record.unix_us);
    if (record.unix_us != record.name->unix_us) json_.key("clock_us").number(record.name->unix_us);
  }
  if (record.place) {
    json_.key("model").text(record.place->model);
    if (record.place->has_model_id) json_.key("model_id").number(record.place->model_id);
    json_.key("step").number(record.place->step);
  }
  json_.key("tensors").open('[');
}

void JsonListing::show(const ShownRecord& record, const StatisticsRecord& statistics) {
  write_head(record);
  for (const StatisticsLine& line : statistics.lines) {
    ++sums_.tensors;
    json_.line(2).open('{');
    write_statistics(json_, line);
    json_.close('}');
    print();
  }
  json_.close(']').close('}');
  print();
}

bool JsonListing::show(const ShownRecord& record, RecordFile& file, std::string& error) {
  write_head(record);
  RecordTensors tensors = file.tensors();
  for (RecordTensor tensor; tensors.next(tensor);) {
    ++sums_.tensors;
    sums_.bytes += tensor.bytes;
    TensorDigest digest;
    std::string problem;
    const Quantisation* const quant = quant_of(record, tensor);
    const bool good = digest_tensor(file, tensor, detail_.spread, detail_.head, quant, digest, problem);
    json_.line(2).open('{');
    write_tensor(json_, record, tensor);
    if (good) {
      write_digest(json_, digest);
      if (quant != nullptr) write_real(json_, *quant, digest);
    } else {
      json_.key("problem").text(problem);
      error = problem;
    }
    json_.close('}');
    print();
  }
  json_.close(']');
  RecordBlob blob;
  if (tensors.next(blob)) {
    json_.key("blobs").open('[');
    do {
      json_.open('{').key("kind").text(blob_word(blob)).key("index").number(blob.index);
      json_.key("bytes").number(blob.bytes).close('}');
      sums_.bytes += blob.bytes;
      print();
    } while (tensors.next(blob));
    json_.close(']');
  }
  json_.close('}');
  print();
  return error.empty();
}

void JsonListing::finish(const DumpProvenance& provenance) {
  if (sums_.records != 0) json_.line();
  json_.close(']');
  write_provenance(json_, provenance);
  json_.key("count").open('{').key("records").number(sums_.records);
  json_.key("tensors").number(sums_.tensors).key("bytes").number(sums_.bytes).close('}').close('}');
  print();
  std::puts("");
}

void JsonListing::print() {
  std::fputs(json_.take().c_str(), stdout);
}

}  // namespace opdump::tool
