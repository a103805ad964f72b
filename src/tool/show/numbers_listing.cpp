#include "src/tool/show/numbers_listing.hpp"

#include <utility>

namespace opdump::tool {

bool NumbersListing::show(const ShownRecord& record, RecordFile& file, std::string& error) {
  tensor_numbers(record, file, count(record), error);
  sums_.bytes += file.bytes();
  return error.empty();
}

void NumbersListing::show(const ShownRecord& record, const StatisticsRecord& statistics) {
  tensor_numbers(statistics, count(record));
}

UseNumbers NumbersListing::count(const ShownRecord& record) {
  ++sums_.records;
  return [this, use = use_of(record)](const TensorNumbers& numbers) {
    ++sums_.tensors;
    use(numbers);
  };
}

}  // namespace opdump::tool
