#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/tool/write/wire/received_tree.hpp"
#include "src/tool/write/wire/wire_line.hpp"

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

struct ReceiveOptions {
  std::string line;
  std::string output;
  unsigned baud = 115200;
  std::chrono::milliseconds wait{5000};  ///< for frames that were asked for
  std::chrono::milliseconds idle{0};     ///< nothing new arrives for so long: that is the end; 0: never
};

/// Takes what comes over a line until it ends, and asks for what is missing.
class Receiver {
 public:
  explicit Receiver(const ReceiveOptions& options) : options_(options) {}

  /// Whether all that the device has sent was written. Says on stderr what was not, and sums up on stdout.
  bool run();

 private:
  using Clock = std::chrono::steady_clock;

  bool begin();
  bool turn();
  bool over() const;
  bool end();
  bool take_bytes();
  std::chrono::milliseconds time_of(std::uint64_t bytes) const;
  bool is_silent() const;
  void take(WireFrame&& frame);
  void take_answer(const WireFrame& state);
  bool begin_boot(std::uint32_t boot);
  std::string of_boot(std::uint32_t boot) const;
  void end_boot(bool is_over);
  void sync();
  void ask_on_time();
  void ask(std::uint32_t boot, Reception::Missing what);
  void give_up_on_time();
  void draw();
  void wipe();
  void error(const std::string& message);
  void print_tally();

  const ReceiveOptions options_;
  WireLine line_;
  FrameReader reader_;
  WireTally tally_;
  posix::TreeSink sink_;  // of all boots
  std::unique_ptr<Reception> reception_;
  std::uint64_t boots_ = 0;
  std::uint64_t frames_ = 0;
  std::uint64_t asks_ = 0;
  std::uint64_t bytes_ = 0;  // that have arrived
  bool is_two_way_ = false;  // the line, even while it is gone
  bool there_ = true;        // the same
  bool is_drained_ = true;   // of what has come all was read
  bool is_broken_ = false;   // nothing can be written
  bool good_ = true;
  Clock::time_point begun_;
  Clock::time_point last_frame_;  // the latest that arrived
  Clock::time_point looked_;      // the latest look at the line: all that came before it is read
  Clock::time_point last_news_;   // the latest frame that was no state
  Clock::time_point next_ask_;
  Clock::time_point answered_;       // the latest state that arrived
  Clock::time_point missing_since_;  // the frame `missing_`
  std::uint32_t missing_ = 0;
  bool is_missing_ = false;
  std::uint32_t asks_for_missing_ = 0;

  struct Asked {
    std::uint32_t first;
    std::uint32_t count;
    Clock::time_point at;
  };
  std::vector<Asked> asked_;  // and not answered
  bool hears_ = false;        // something came of the latest requests
  std::chrono::milliseconds answer_time_{150};

  bool shown_ = false;
  Clock::time_point next_draw_;
};

}  // namespace opdump::tool
