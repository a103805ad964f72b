#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "src/tool/write/wire/received_tree.hpp"

namespace opdump::tool {

/// The frames of one boot, put in order: those that come too early wait for those that are missing, until
/// they arrive or are given up.
class Reception {
 public:
  /// What to ask the device for: at least half of these are missing, and the first.
  struct Missing {
    std::uint32_t first = 0;
    std::uint8_t count = 0;
  };

  Reception(std::uint32_t boot, ReceivedTree tree) : boot_(boot), tree_(std::move(tree)) {}

  std::uint32_t boot() const { return boot_; }

  /// Whether `frame`, of this boot's number, is of another boot nevertheless: its number has come with other
  /// bytes, or the device tells of fewer frames than it has sent.
  bool contradicts(const WireFrame& frame) const;

  /// A frame that does not contradict. One that came before is passed over.
  void take(WireFrame&& frame);

  /// Of the frames that are known of, the first ones, in as many requests as `most`. An answer has about as many
  /// bytes as eight of the longest frames, so of short ones more are asked for at once.
  std::vector<Missing> missing(std::size_t most) const;

  /// Bytes on the line of the longest frame that has come.
  std::uint32_t longest() const { return longest_; }

  /// Gives up the first frames that are missing, eight at most; or all.
  void give_up_first();
  void give_up_all();

  /// Nothing is missing, and the device has said that nothing comes any more.
  bool done() const { return ended_ && next_ == known_; }

  /// A frame has come behind an end that the device told of: a second dump of the same boot, in which it may
  /// tell of that end again while it goes on.
  bool went_on() const { return went_on_; }

  /// Behind the latest frame the device has told how far it is, so that it is known whether one is missing.
  bool told() const { return told_ == known_; }
  std::uint64_t known() const { return known_; }

  /// Once, at the end: gives up what is missing.
  void finish();

 private:
  static constexpr std::uint8_t kMostGivenUp = 8;
  /// Frames behind a gap, of which each takes some 400 bytes of memory.
  static constexpr std::size_t kMostWaiting = 1u << 17;

  std::uint8_t most_asked() const;
  std::uint64_t extended(std::uint32_t number) const;
  void advance();
  void lose_before(std::uint64_t number);
  void end_gap();

  const std::uint32_t boot_;
  ReceivedTree tree_;
  std::map<std::uint64_t, WireFrame> waiting_;
  /// Of the latest frames before `next_`, by number.
  struct Sum {
    std::uint64_t number = ~std::uint64_t{0};
    std::uint32_t sum = 0;
  };
  static constexpr std::size_t kSums = 1u << 16;
  std::vector<Sum> sums_ = std::vector<Sum>(kSums);
  std::uint64_t next_ = 0;            // number of the frame that the tree takes next
  std::uint64_t known_ = 0;           // behind the highest number that is known of
  std::uint64_t told_ = 0;            // the same as the device has told it
  std::optional<std::uint64_t> gap_;  // first frame of the one before `next_`, which may go on
  std::uint64_t jump_ = 0;            // frames that were taken at once, less those taken one by one since
  bool ended_ = false;
  bool went_on_ = false;
  std::uint32_t longest_ = 32;
};

}  // namespace opdump::tool
