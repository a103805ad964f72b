#pragma once
#include <cstddef>
#include <cstdint>

#include "opdump/types/config.hpp"
#include "src/config/mindspore/mindspore_object.hpp"

namespace opdump::config {
inline namespace OPDUMP_NAMESPACE {

/// Reads the `e2e_dump_settings` of MindSpore's data_dump.json.
class MindSporeE2e : public MindSporeObject {
 public:
  static constexpr KeyPath kPath{nullptr, "e2e_dump_settings", KeyPath::kNoIndex};

  MindSporeE2e(const JsonNode* object, Reading& reading) : MindSporeObject(object, kPath, reading) {}

  bool read(DumpConfig& config);

  void note_unread_keys();

  /// Whether the device is to compute statistics.
  bool is_on_device() const { return side_ != 0; }

 private:
  bool read_sample(std::uint32_t& number);

  std::size_t side_ = 0;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::config
