#pragma once
#include <cstdint>
#include <span>
#include <string_view>

#include "opdump/config/parse.hpp"
#include "opdump/types/config.hpp"
#include "src/config/mindspore/mindspore_e2e.hpp"
#include "src/config/mindspore/mindspore_object.hpp"

namespace opdump::config {
inline namespace OPDUMP_NAMESPACE {

/// Whose rules hold for a file.
struct MindSporeRules {
  MindSporeMode mode = MindSporeMode::by_file;
  bool has_e2e = false;  ///< those of e2e dump

  bool are_cpu() const { return mode == MindSporeMode::cpu; }
};

/// Reads the `common_dump_settings` of MindSpore's data_dump.json, which has to be there, after its
/// `e2e_dump_settings`. Of these it notes what has no effect with the common ones.
class MindSporeCommon : public MindSporeObject {
 public:
  static constexpr KeyPath kPath{nullptr, "common_dump_settings", KeyPath::kNoIndex};

  MindSporeCommon(const JsonNode* object, const MindSporeRules& rules, MindSporeE2e& e2e, Reading& reading)
      : MindSporeObject(object, kPath, reading), rules_(rules), e2e_(e2e) {}

  bool read(DumpConfig& config);

  void note_unread_keys();

  /// 0 to 2.
  std::uint32_t input_output() const { return input_output_; }
  bool is_overflow_dump() const { return debug_mode_ == kOverflowMode; }
  bool is_exception_dump() const { return debug_mode_ == kExceptionMode; }

 private:
  static constexpr std::uint32_t kOverflowMode = 3;
  static constexpr std::uint32_t kExceptionMode = 4;

  bool check_keys();
  bool check_present(std::string_view key, std::string_view condition);
  bool check_bytes(const JsonNode& node, const KeyPath& at, std::string_view text, bool (*allowed)(char),
                   std::string_view advice);
  bool read_dump_mode();
  bool read_path(std::string_view& path);
  bool read_net_name(std::string_view& name);
  bool read_iteration(StepSet& steps);
  bool read_kernels(DumpConfig& config);
  bool read_devices(DumpConfig& config);
  void note_twice(const JsonNode& list, const KeyPath& at, std::span<const std::uint32_t> devices);
  bool fix_debug_mode(DumpConfig& config);
  bool read_format(FileFormat& format);
  bool read_overflow_number(std::uint32_t& number);
  bool read_saved_data(DumpConfig& config);
  bool read_statistics(DumpConfig& config);
  void fix_side(DumpConfig& config);

  const MindSporeRules& rules_;
  MindSporeE2e& e2e_;
  std::uint32_t dump_mode_ = 0;
  std::uint32_t input_output_ = 0;
  std::uint32_t debug_mode_ = 0;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::config
