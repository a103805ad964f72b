#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "opdump/base/bytes.hpp"
#include "src/tool/read/dump/sealed_head.hpp"
#include "src/tool/read/seal/unsealer.hpp"

namespace opdump::tool {

/// Who gets what a sealed file holds. All texts are authenticated when they are given.
struct SealedUse {
  /// A stream begins, of the object or lines of that name; an object has one. An empty `file`: lines whose
  /// name is overwritten. False: it is not wanted.
  std::function<bool(const std::string& directory, const std::string& file, bool lines)> name;
  std::function<void(Bytes text)> text;                   ///< in order
  std::function<void(const std::string& message)> fault;  ///< something was changed, is missing, or too much
  std::function<void(const std::string& message)> note;   ///< something is missing, and nobody is to blame
};

/// Heads of streams, one of each session, by which lines are opened whose own head a flash log has overwritten.
using KnownHeads = std::vector<std::vector<std::byte>>;

/// Opens one untrusted sealed file.
class SealedReader {
 public:
  SealedReader(Unsealer& key, const SealedUse& use, const KnownHeads* known = nullptr)
      : key_(key), use_(use), known_(known) {}

  /// Reads it to the end, or of an object to the first fault.
  void read(Bytes file);

  bool wrong_key() const { return wrong_key_; }
  std::size_t faults() const { return faults_; }
  /// Whether the only fault of an object is that its end is missing.
  bool cut_short() const { return cut_short_; }

 private:
  struct Before {
    std::uint32_t stream;
    std::uint32_t chunks;
    bool operator==(const Before&) const = default;
  };

  void read_object();
  void read_lines();
  bool check_head(std::size_t offset);
  bool resume(std::size_t offset, std::uint32_t& number);
  bool read_chunk(std::size_t& offset, std::uint32_t number, bool& last);
  std::string chunk_fault(std::size_t offset, std::uint32_t number);
  bool opens(Bytes nonce, Bytes associated, std::size_t offset, std::size_t bytes);
  bool take(bool lines, const std::optional<Before>& before, bool sure, bool cut);
  std::size_t next_head(std::size_t from) const;
  void split_notes();
  void take_notes();
  void fault(const std::string& message);

  Unsealer& key_;
  const SealedUse& use_;
  const KnownHeads* known_;
  Bytes file_;
  std::string_view notes_;        ///< lines in clear behind it
  std::vector<std::byte> head_;   ///< of the stream under way
  std::vector<std::byte> chunk_;  ///< text, and the tag behind it
  std::string start_;             ///< of the stream's text, until its name is known
  bool named_ = false;
  bool wanted_ = false;
  bool accepted_ = false;  ///< a stream was wanted
  bool wrong_key_ = false;
  bool cut_short_ = false;
  std::size_t faults_ = 0;
};

}  // namespace opdump::tool
