#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "src/tool/read/dump/temporary_file.hpp"

namespace opdump::tool {

/// Any number of texts in bounded memory, each of which can be read by its number: what passes 1 MiB lies in
/// a temporary file, of which the pages that were read last are kept. Besides it takes 2 bytes of memory for
/// each KiB of texts. Several threads may read at once, while none adds.
class SpilledTable {
 public:
  SpilledTable() : pages_(std::make_unique<Pages>()) {}

  /// False, with `error()`, when the temporary file does not take more. A text is shorter than 2^31 bytes.
  bool add(std::string_view text);

  std::size_t size() const { return pages_->first + pages_->ends.size(); }

  /// False, with `error()`, when the temporary file cannot be read, or there is no such text.
  bool read(std::size_t number, std::string& text) const;

  /// What is wrong with the temporary file; else empty.
  const std::string& error() const { return pages_->file.error(); }

 private:
  static constexpr std::size_t kPageBytes = std::size_t{16} << 10;
  static constexpr std::size_t kMostKept = 64;

  /// Texts one behind the other, and behind them where each ends.
  struct Page {
    std::size_t first;  ///< number of its first text
    std::uint64_t at;   ///< in the file
    std::uint32_t bytes;
  };
  struct Kept {
    std::size_t page;
    std::string bytes;
  };
  struct Pages {
    std::vector<Page> all{};
    TemporaryFile file{};
    std::uint64_t bytes = 0;   ///< of all pages
    std::vector<Kept> kept{};  ///< until there are more than kMostKept the whole pages, by their number
    std::size_t last = 0;      ///< of `kept`, the one that was read last
    std::size_t oldest = 0;    ///< of `kept`, the one that the next page is read into
    std::size_t first = 0;     ///< number of the first text of the page that is being filled
    std::string filling{};
    std::vector<std::uint32_t> ends{};
    std::mutex mutex{};
  };

  static bool end_page(Pages& pages);
  static std::size_t page_of(const Pages& pages, std::size_t number);
  static const Kept* keep(Pages& pages, std::size_t page);

  std::unique_ptr<Pages> pages_;
};

}  // namespace opdump::tool
