#include <algorithm>
#include <cmath>

#include "src/tool/cli/human_text.hpp"
#include "src/tool/dump/quantisation_text.hpp"
#include "src/tool/report/page_tensors.hpp"

namespace opdump::tool {
namespace {

class TensorColumns {
 public:
  TensorColumns(JsonWriter& json, PageTexts& texts, const ReportFacts& facts, const PageTensors& tensors)
      : json_(json), texts_(texts), facts_(facts), tensors_(tensors), mine_(facts.dumps.mine()) {}

  void write() {
    std::vector<std::uint32_t> run, dims, zeros, nan, infinite, note, quant, ulp, golden_dims, golden_dtype,
        original;
    std::vector<std::uint8_t> index, role, dtype, format, diverges, paired_by;
    std::vector<float> least, greatest, mean, deviation, norm, saturated, equal, bytes;
    std::vector<float> golden_least, golden_greatest, golden_mean, golden_saturated;
    constexpr std::uint32_t kNoUlp = UINT32_MAX;
    std::vector<std::vector<float>> measured(facts_.compared != nullptr ? facts_.compared->measures.size()
                                                                        : 0);
    for (const std::size_t i : tensors_.all()) {
      const DumpTensor& tensor = mine_.tensors[i];
      const TensorFacts& own = facts_.mine[i];
      run.push_back(count32(facts_.run_of[i]));
      role.push_back(tensor.is_output ? 1 : 0);
      index.push_back(byte_of(tensor.index));
      dtype.push_back(static_cast<std::uint8_t>(tensor.dtype));
      format.push_back(byte_of(number_of(tensor.layout.format)));
      dims.push_back(texts_.number(shape_text(tensor.shape)));
      bytes.push_back(static_cast<float>(tensor.data_bytes));
      quant.push_back(texts_.number(tensor.quant != nullptr ? parameter_text(*tensor.quant) : std::string()));
      original.push_back(texts_.number(tensor.original_op));
      least.push_back(real32(own.min));
      greatest.push_back(real32(own.max));
      mean.push_back(real32(own.mean));
      deviation.push_back(real32(own.deviation));
      norm.push_back(real32(own.norm));
      saturated.push_back(real32(own.saturated));
      zeros.push_back(count32(own.zeros));
      nan.push_back(count32(own.nan));
      infinite.push_back(count32(own.infinite));
      const PairResult* const result = facts_.result_of[i];
      std::string told = own.problem;
      if (result != nullptr) told = result->comparison ? result->remark : result->problem;
      note.push_back(texts_.number(told));
      if (facts_.compared == nullptr) continue;
      const bool compared = result != nullptr && result->comparison;
      diverges.push_back(compared && facts_.compared->diverges(*result) ? 1 : 0);
      const bool paired = result != nullptr && result->pair.golden;
      paired_by.push_back(paired ? static_cast<std::uint8_t>(static_cast<int>(result->pair.by) + 1) : 0);
      const DumpTensor* const golden =
          paired ? &facts_.dumps.golden().tensors[*result->pair.golden] : nullptr;
      golden_dims.push_back(
          golden != nullptr && golden->shape != tensor.shape ? texts_.number(shape_text(golden->shape)) : 0);
      golden_dtype.push_back(golden != nullptr && golden->dtype != tensor.dtype
                                 ? texts_.number(std::string(info(golden->dtype).name))
                                 : 0);
      const TensorFacts& theirs = facts_.golden[i];
      golden_least.push_back(real32(theirs.min));
      golden_greatest.push_back(real32(theirs.max));
      golden_mean.push_back(real32(theirs.mean));
      golden_saturated.push_back(real32(theirs.saturated));
      const compare::Comparison* const c = compared ? &*result->comparison : nullptr;
      for (std::size_t m = 0; m < measured.size(); ++m)
        measured[m].push_back(c != nullptr ? real32(facts_.compared->measures[m]->value(*c)) : NAN);
      equal.push_back(c == nullptr ? NAN
                      : c->elements == 0
                          ? 1.0F
                          : real32(static_cast<double>(c->equal) / static_cast<double>(c->elements)));
      ulp.push_back(c != nullptr && c->max_ulp ? std::min(count32(*c->max_ulp), kNoUlp - 1) : kNoUlp);
    }
    json_.key("tensors").open('{');
    PageColumns columns(json_);
    add_runs(columns, run);
    columns.add("role", role);
    columns.add_used("index", index);
    columns.add("dtype", dtype);
    columns.add("format", format);
    columns.add("dims", dims);
    columns.add("bytes", bytes);
    columns.add_used("quant", quant);
    columns.add_used("original", original);
    columns.add_known("min", least);
    columns.add_known("max", greatest);
    columns.add_known("mean", mean);
    columns.add_known("std", deviation);
    columns.add_known("l2", norm);
    columns.add_known("saturated", saturated);
    columns.add_used("zeros", zeros);
    columns.add_used("nan", nan);
    columns.add_used("inf", infinite);
    columns.add_used("note", note);
    if (facts_.compared != nullptr) {
      columns.add("diverges", diverges);
      columns.add("paired_by", paired_by);
      columns.add_used("golden_dims", golden_dims);
      columns.add_used("golden_dtype", golden_dtype);
      columns.add_known("golden_min", golden_least);
      columns.add_known("golden_max", golden_greatest);
      columns.add_known("golden_mean", golden_mean);
      columns.add_known("golden_saturated", golden_saturated);
      for (std::size_t m = 0; m < measured.size(); ++m)
        columns.add_known(facts_.compared->measures[m]->short_name, measured[m]);
      columns.add_known("equal", equal);
      columns.add("ulp", ulp);
    }
    json_.close('}');
  }

  void write_names() {
    json_.key("dtypes").open('{');
    std::vector<std::uint8_t> dtypes;
    for (const std::size_t i : tensors_.all()) {
      const auto number = static_cast<std::uint8_t>(mine_.tensors[i].dtype);
      if (std::find(dtypes.begin(), dtypes.end(), number) == dtypes.end()) dtypes.push_back(number);
    }
    std::sort(dtypes.begin(), dtypes.end());
    for (const std::uint8_t number : dtypes)
      json_.key(std::to_string(number)).text(info(static_cast<DType>(number)).name);
    json_.close('}').key("formats").open('[');
    for (const Format format : formats_) json_.text(format_text(format));
    json_.close(']').key("paired_by").open('[');
    for (int by = 0; by <= static_cast<int>(PairedBy::alignment); ++by)
      json_.text(to_string(static_cast<PairedBy>(by)));
    json_.close(']');
  }

  /// Where flagged tensors are farthest from golden.
  void write_farthest() {
    if (facts_.compared == nullptr) return;
    std::vector<std::uint32_t> of, at;
    std::vector<float> mine, golden;
    for (const std::size_t i : tensors_.all()) {
      const PairResult* const result = facts_.result_of[i];
      if (!tensors_.is_flagged(i) || result == nullptr || !result->comparison ||
          !result->comparison->max_absolute_at)
        continue;
      const compare::Comparison& c = *result->comparison;
      of.push_back(tensors_.row(i));
      at.push_back(texts_.number(position_text(*c.max_absolute_at, result->shape)));
      mine.push_back(real32(c.x_at_max));
      golden.push_back(real32(c.y_at_max));
    }
    json_.key("farthest").open('{');
    PageColumns columns(json_);
    columns.add("of", of);
    columns.add("at", at);
    columns.add("mine", mine);
    columns.add("golden", golden);
    json_.close('}');
  }

 private:
  /// Each tensor's run, by how many runs after that of the tensor before, where that takes a byte.
  static void add_runs(PageColumns& columns, const std::vector<std::uint32_t>& runs) {
    std::vector<std::uint8_t> after;
    std::uint32_t before = 0;
    for (const std::uint32_t run : runs) {
      if (run - before > UINT8_MAX) return columns.add("run", runs);
      after.push_back(static_cast<std::uint8_t>(run - before));
      before = run;
    }
    columns.add("run_after", after);
  }

  std::size_t number_of(Format format) {
    const auto at = std::find(formats_.begin(), formats_.end(), format);
    if (at != formats_.end()) return static_cast<std::size_t>(at - formats_.begin());
    formats_.push_back(format);
    return formats_.size() - 1;
  }

  JsonWriter& json_;
  PageTexts& texts_;
  const ReportFacts& facts_;
  const PageTensors& tensors_;
  const DumpSide& mine_;
  std::vector<Format> formats_;
};

}  // namespace

void write_tensor_columns(JsonWriter& json, PageTexts& texts, const ReportFacts& facts,
                          const PageTensors& tensors) {
  TensorColumns columns(json, texts, facts, tensors);
  columns.write();
  columns.write_names();
  columns.write_farthest();
}

}  // namespace opdump::tool
