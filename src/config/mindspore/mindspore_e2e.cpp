#include "src/config/mindspore/mindspore_e2e.hpp"

#include <array>
#include <string_view>

#include "src/config/json/node_reader.hpp"

namespace opdump::config {
inline namespace OPDUMP_NAMESPACE {
namespace {

// The order of the words is that of their numbers.
constexpr std::array<std::string_view, 2> kSides = {"host", "device"};
constexpr std::array<std::string_view, 2> kPrecisions = {"high", "low"};

}  // namespace

bool MindSporeE2e::read(DumpConfig& config) {
  if (object_ == nullptr) return true;
  if (object_->type() != JsonType::object) note(*object_, kPath, "is no object, and counts as an empty one");
  bool trans_flag = true;
  std::size_t precision = 0;
  if (!read_bool("enable", config.synchronous) || !read_bool("trans_flag", trans_flag) ||
      !read_bool("save_kernel_args", config.save_kernel_args) ||
      !read_word("stat_calc_mode", kSides, side_) ||
      !read_word("device_stat_precision_mode", kPrecisions, precision) || !read_sample(config.sample_number))
    return false;
  config.device_format = !trans_flag;
  config.statistics_in_dtype = precision == 1;
  return true;
}

bool MindSporeE2e::read_sample(std::uint32_t& number) {
  std::uint32_t mode = 0;
  if (!read_choice("sample_mode", 1, mode)) return false;
  if (mode == 0) {
    note_key("sample_num", "not looked at: it only counts with \"sample_mode\": 1");
    return true;
  }
  number = 100;
  if (!read_uint("sample_num", number)) return false;
  return number != 0 || refuse(ConfigFault::invalid_value, *member("sample_num"), path_of("sample_num"),
                               "0 is not allowed: at least 1 element is kept");
}

void MindSporeE2e::note_unread_keys() {
  if (object_ != nullptr)
    note_unknown_keys(*object_, kPath, kE2eKeys, {{"\"common_dump_settings\"", kCommonKeys}, kKeysOfOptions});
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::config
