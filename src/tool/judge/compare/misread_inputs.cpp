#include "src/tool/judge/compare/misread_inputs.hpp"

#include "src/config/text/human_text.hpp"
#include "src/tool/judge/compare/msprobe_dump.hpp"

namespace opdump::tool {
namespace {

bool has_scales_as_inputs(const std::string& type) {
  return type == "DequantizeLinear" || type == "QGemm" || type.starts_with("QLinear");
}

/// The tensors of one operator.
class InputReader {
 public:
  InputReader(const DumpSide& side, const PairResults& results, std::span<const std::size_t> of_operator)
      : side_(side), results_(results), of_operator_(of_operator) {}

  /// Empty: it is read as it was written, or it is not known how.
  std::string misread(const DumpTensor& tensor) const {
    const Quantisation& quant = *tensor.quant;
    const std::string text = unlike("scale ", tensor.index + 1, quant.scales);
    if (!text.empty()) return text;
    static const std::vector<std::int64_t> kZero = {0};
    return unlike("zero point ", tensor.index + 2, quant.zero_points.empty() ? kZero : quant.zero_points);
  }

 private:
  template <class Number>
  std::string unlike(const char* what, std::uint32_t index, const std::vector<Number>& written) const {
    const std::optional<DumpTensor> tensor = input(index);
    if (!tensor || tensor->elements != written.size()) return {};
    std::string text;
    std::size_t i = 0;
    for_each_number(side_, *tensor, [&](std::span<const double> numbers) {
      for (const double number : numbers) {
        const auto by = static_cast<double>(written[i++]);
        if (number != by && text.empty())
          text = what + number_text(number) + ", which was written by " + number_text(by);
      }
    });
    return text;
  }

  std::optional<DumpTensor> input(std::uint32_t index) const {
    for (const std::size_t result : of_operator_) {
      DumpTensor tensor = side_.tensors[*results_[result].pair.mine];
      if (!tensor.is_output && tensor.index == index) return tensor;
    }
    return std::nullopt;
  }

  const DumpSide& side_;
  const PairResults& results_;
  const std::span<const std::size_t> of_operator_;
};

}  // namespace

std::optional<MisreadInput> find_misread_input(const DumpSide& mine, const PairResults& results,
                                               std::span<const std::size_t> of_operator) {
  const InputReader reader(mine, results, of_operator);
  for (const std::size_t result : of_operator) {
    const DumpTensor& tensor = mine.tensors[*results[result].pair.mine];
    if (tensor.is_output || tensor.quant == nullptr || tensor.quant->scheme != QuantScheme::affine ||
        !has_scales_as_inputs(mine.files[tensor.file].type))
      continue;
    if (std::string text = reader.misread(tensor); !text.empty())
      return MisreadInput{result, std::move(text)};
  }
  return std::nullopt;
}

}  // namespace opdump::tool
