#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "src/tool/write/wire/frame_reader.hpp"
#include "src/tool/write/wire/received_tree.hpp"
#include "src/tool/write/wire/reception.hpp"
#include "src/tool/write/wire/wire_line.hpp"

namespace opdump::tool {

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
  bool begin_output();
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
