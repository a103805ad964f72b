#include "src/tool/show/tensor_numbers.hpp"

#include <algorithm>
#include <cmath>

#include "src/tool/compare/tensor_summary.hpp"

namespace opdump::tool {

std::optional<double> TensorNumbers::magnitude() const {
  if (!min || !max) return std::nullopt;
  return std::max(std::fabs(*min), std::fabs(*max));
}

bool tensor_numbers(const ShownRecord& record, RecordFile& file, const UseNumbers& use, std::string& error) {
  RecordTensors tensors = file.tensors();
  for (RecordTensor tensor; tensors.next(tensor);) {
    TensorDigest digest;
    if (!digest_tensor(file, tensor, false, 0, quant_of(record, tensor), digest, error) ||
        !digest.are_numbers)
      continue;
    const Statistics& statistics = digest.has_real ? digest.real : digest.statistics;
    TensorNumbers numbers;
    numbers.is_output = tensor.is_output;
    numbers.index = tensor.index;
    numbers.nan = statistics.nan();
    numbers.infinite = statistics.infinite();
    if (statistics.finite() != 0) {
      numbers.min = statistics.min();
      numbers.max = statistics.max();
      numbers.mean = statistics.mean();
    }
    use(numbers);
  }
  return error.empty();
}

void tensor_numbers(const StatisticsRecord& statistics, const UseNumbers& use) {
  for (const StatisticsLine& line : statistics.lines) {
    const TensorSummary summary = summary_of(line);
    TensorNumbers numbers;
    numbers.is_output = line.is_output;
    numbers.index = line.index;
    numbers.min = summary.min;
    numbers.max = summary.max;
    numbers.mean = summary.mean;
    numbers.nan = summary.nans.value_or(0);
    numbers.infinite = summary.negative_infinities.value_or(0) + summary.positive_infinities.value_or(0);
    use(numbers);
  }
}

}  // namespace opdump::tool
