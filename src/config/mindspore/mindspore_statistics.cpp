#include "src/config/mindspore/mindspore_statistics.hpp"

#include <algorithm>
#include <array>

namespace opdump::config {
inline namespace OPDUMP_NAMESPACE {
namespace {

struct Category {
  StatBits bit;
  bool on_device;
};

constexpr std::array<std::string_view, 15> kNames = {"max",
                                                     "min",
                                                     "avg",
                                                     "count",
                                                     "negative zero count",
                                                     "positive zero count",
                                                     "nan count",
                                                     "negative inf count",
                                                     "positive inf count",
                                                     "zero count",
                                                     "l2norm",
                                                     "md5",
                                                     "hash",
                                                     "hash:sha1",
                                                     "hash:md5"};
/// The statistics of the names, in the order of the names.
constexpr std::array<Category, 15> kCategories = {{{kStatMax, true},
                                                   {kStatMin, true},
                                                   {kStatMean, true},
                                                   {kStatCount, false},
                                                   {kStatNegative, false},
                                                   {kStatPositive, false},
                                                   {kStatNan, false},
                                                   {kStatNegativeInf, false},
                                                   {kStatPositiveInf, false},
                                                   {kStatZero, false},
                                                   {kStatL2Norm, true},
                                                   {kStatMd5, false},
                                                   {kStatSha1, false},
                                                   {kStatSha1, false},
                                                   {kStatMd5, false}}};
constexpr StatBits kByDefault[] = {kStatMax, kStatMin, kStatL2Norm};

const Category& category_of(std::string_view name) {
  return kCategories[static_cast<std::size_t>(std::find(kNames.begin(), kNames.end(), name) -
                                              kNames.begin())];
}

}  // namespace

bool MindSporeStatistics::read(DumpConfig& config) {
  config.form.statistics = 0;
  if (list_ == nullptr) {
    config.statistic_columns = kByDefault;
    for (const StatBits bit : kByDefault)
      config.form.statistics = static_cast<StatBits>(config.form.statistics | bit);
    return true;
  }
  if (!check_array_of(list_, JsonType::string, at_, [this](const JsonNode& node, const KeyPath& at) {
        return check_word(node, node.text(), kNames, at);
      }))
    return false;
  const Result<std::span<StatBits>> columns = memory().array<StatBits>(count(list_));
  if (!columns.ok()) return no_memory(*list_, at_);
  std::size_t taken = 0;
  check_each(list_, at_, [&](const JsonNode& node, const KeyPath& at) {
    const Category& category = category_of(node.text());
    if (config.form.statistics_on_device && !category.on_device) {
      note(node, at, in_quotes(node.text()) + " is left out: the device cannot compute it");
      return true;
    }
    columns.value()[taken++] = category.bit;
    config.form.statistics = static_cast<StatBits>(config.form.statistics | category.bit);
    return true;
  });
  config.statistic_columns = columns.value().first(taken);
  return true;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::config
