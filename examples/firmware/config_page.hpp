#pragma once
#include <cstdio>

#include "opdump/config/blob.hpp"
#include "platform/flashlog/device.hpp"
#ifdef OPDUMP_EXAMPLE_JSON
#include "opdump/config/parse.hpp"
#endif

namespace firmware {

/// The config in the last block of the flash: what `opdump compile` wrote, or, in a build that has a parser,
/// the JSON itself. An erased block switches the dump off, and so does a config that is refused.
class ConfigPage {
 public:
  static constexpr std::uint32_t kPageBytes = 1024;

  const opdump::DumpConfig& read(const opdump::flashlog::Device& flash) {
    config_ = {};
    const opdump::Status read =
        flash.read(flash.context, flash.geometry.block_count - 1, 0, opdump::MutableBytes(page_));
    if (read != opdump::Status::ok || page_[0] == flash.geometry.erased) return config_;
    opdump::Arena lists(memory_);
#ifdef OPDUMP_EXAMPLE_JSON
    if (page_[0] == std::byte{'{'}) {
      const std::string_view page = opdump::as_text(page_);
      opdump::ConfigOutcome got;
      const std::string_view text = page.substr(0, page.find('\xff'));
      if (opdump::parse_config({text, lists}, got) != opdump::Status::ok)
        std::printf("the config is refused: %s: %s\n", got.error.key.c_str(), got.error.reason.c_str());
      return config_ = got.config;
    }
#endif
    if (const opdump::Status status = opdump::load_plan(page_, lists, config_);
        status != opdump::Status::ok) {
      const std::string_view reason = opdump::to_string(status);
      std::printf("the config is refused: %.*s\n", static_cast<int>(reason.size()), reason.data());
    }
    return config_;
  }

 private:
  alignas(8) std::byte page_[kPageBytes];
#ifdef OPDUMP_EXAMPLE_JSON
  alignas(8) std::byte memory_[opdump::config_memory_bytes(kPageBytes)];
#else
  alignas(8) std::byte memory_[512];
#endif
  opdump::DumpConfig config_;
};

}  // namespace firmware
