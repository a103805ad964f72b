#include <cstdio>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "src/tool/cli/commands.hpp"
#include "src/tool/cli/decimal.hpp"
#include "src/tool/cli/exit_code.hpp"
#include "src/tool/cli/human_text.hpp"
#include "src/tool/cli/interrupt.hpp"
#include "src/tool/cli/messages.hpp"
#include "src/tool/cli/options.hpp"
#include "src/tool/cli/progress.hpp"
#include "src/tool/diverge/step_list.hpp"
#include "src/tool/dump/record_file.hpp"
#include "src/tool/wire/player.hpp"
#include "src/tool/wire/recorded_inputs.hpp"
#include "src/tool/wire/wire_options.hpp"

namespace opdump::tool {
namespace {

constexpr char kSendHelp[] =
    R"(opdump send - plays the recorded inputs of a dump back into a device

usage: opdump send DEVICE|HOST:PORT DUMP [--input OP:N]... [--step LIST] [-o DIR] [--baud N] [--wait SECONDS]
                   [--idle SECONDS] [--frame BYTES]

      --input OP:N   sends input N of the operator OP at each step; may be repeated. Otherwise all recorded inputs
                     are offered, and the device says which of them it wants
      --step LIST    of these steps only, such as 0,3-5
  -o, -out, --output DIR
                     also receives the dump that the device makes meanwhile over the same line, as 'opdump receive'
      --baud N       of a serial line: 115200 unless it is given
      --wait SECONDS gives up when the device does not take a frame for so long, in which it may run a step; 30
                     otherwise
      --idle SECONDS with -o, ends when nothing new arrives for so long after the last step
      --frame BYTES  sends tensors in frames of so many bytes, 32 to 254; 254 otherwise. On a bad line more of the
                     short ones arrive

DUMP is a dump of one run and one model that holds inputs ("dump_mode": "input" or "all"), or a part of one. Its
names of operators are those of its files, with '_' for '/'. The firmware has a Playback (platform/wire): it gets
the inputs of a step, in the order in which they were recorded, and then runs the step.

Each frame is numbered, checked and sent again until the device has taken it, so that a bad line costs time alone.

Does the firmware still compute what it computed?

  opdump send /dev/ttyACM0 golden --input conv1:0 -o now
  opdump compare now golden

exit status
  0  all was played back; with -o, also all that the device has sent was written
  1  something was refused or not taken, and stderr says what; the steps before it were played
  2  the command line is wrong
)";

struct WantedInput {
  std::string op;
  std::uint64_t index = 0;
  bool sent = false;  ///< of this step
};

bool read_input(const std::string& text, WantedInput& input) {
  const std::size_t colon = text.rfind(':');
  if (colon == text.npos || colon == 0) return false;
  const std::optional<std::uint64_t> index = parse_decimal(text.substr(colon + 1));
  if (!index || *index > 255) return false;
  input = {text.substr(0, colon), *index};
  return true;
}

/// Plays the inputs of records back, and counts them.
class Playing {
 public:
  Playing(Player& player, std::vector<WantedInput>& wanted, const ReceiveOptions& options)
      : player_(player), wanted_(wanted), options_(options) {}

  bool play(const std::vector<RecordedOp>& ops) {
    // With -o the receiver tells what arrives.
    if (options_.output.empty() && Progress::is_seen()) {
      std::uint64_t bytes = 0;
      for (const RecordedOp& op : ops) bytes += op.bytes;
      progress_.emplace(bytes);
    }
    const bool good = play_steps(ops);
    progress_.reset();
    return good;
  }

  void print() const {
    std::string text = count_text(steps_, "step") + ", " + count_text(sent_, "input") + ", " +
                       byte_text(bytes_) + " played back";
    if (unwanted_ != 0) text += "; " + count_text(unwanted_, "input") + " that the device does not want";
    if (player_.resent_frames() != 0)
      text += "; " + count_text(player_.resent_frames(), "frame") + " sent again";
    print_line(text);
  }

 private:
  static std::string step_text(std::uint64_t step) { return "step " + std::to_string(step); }

  bool play_steps(const std::vector<RecordedOp>& ops) {
    for (std::size_t i = 0; i < ops.size(); ++i) {
      const std::uint64_t before = sent_;
      std::size_t next = i;
      for (WantedInput& input : wanted_) input.sent = false;
      for (; next < ops.size() && ops[next].step == ops[i].step; ++next) {
        if (!play(ops[next])) return false;
      }
      if (!has_all_inputs(ops[i].step)) return false;
      if (sent_ == before) return fail(step_text(ops[i].step) + ": no input of it was played");
      if (ops[i].step > UINT32_MAX) return fail(step_text(ops[i].step) + ": too large a number");
      if (!went(player_.step(static_cast<std::uint32_t>(ops[i].step)), step_text(ops[i].step))) return false;
      ++steps_;
      i = next - 1;
    }
    return went(player_.over(), "the end");
  }

  bool has_all_inputs(std::uint64_t step) {
    for (const WantedInput& input : wanted_) {
      if (!input.sent)
        return fail(step_text(step) + ": --input " + input.op + ':' + std::to_string(input.index) +
                    " is not in the dump");
    }
    return true;
  }

  bool fail(const std::string& message) {
    progress_.reset();
    say("opdump send: " + message);
    return false;
  }

  /// Says why not, if it did not.
  bool went(Player::Sent sent, const std::string& what) {
    if (sent == Player::Sent::taken) return true;
    if (sent == Player::Sent::refused)
      return fail(what + ": refused by the device: " + std::string(to_string(player_.refusal())));
    if (interrupted()) return fail(what + ": interrupted");
    return fail(what + ": " + options_.line + " has not answered for " +
                count_text(static_cast<std::uint64_t>(options_.wait.count()) / 1000, "second"));
  }

  WantedInput* find(const std::string& op, std::uint64_t index) {
    for (WantedInput& input : wanted_) {
      if (input.op == op && input.index == index) return &input;
    }
    return nullptr;
  }

  bool play(const RecordedOp& op) {
    if (record_.open(op.path) != RecordFile::Opened::ok) return fail(record_.error());
    RecordTensors tensors = record_.tensors();
    for (RecordTensor tensor; tensors.next(tensor);) {
      if (tensor.is_output) continue;
      WantedInput* const wanted = find(op.op, tensor.index);
      if (!wanted_.empty() && wanted == nullptr) continue;
      if (!play(op, tensor, wanted)) return false;
    }
    if (progress_) progress_->add(op.bytes);
    return true;
  }

  bool play(const RecordedOp& op, const RecordTensor& tensor, WantedInput* wanted) {
    const std::string what = op.path + ": input " + std::to_string(tensor.index) + " of " + op.op;
    if (op.op.size() > Player::kMostNameBytes)
      return fail(what + ": the name has more than " + std::to_string(Player::kMostNameBytes) + " bytes");
    if (tensor.bytes > UINT32_MAX || tensor.index > 255) return fail(what + ": too large for a playback");
    Player::Sent sent = player_.input(op.op, static_cast<std::uint8_t>(tensor.index), tensor.dtype,
                                      static_cast<std::uint32_t>(tensor.bytes));
    if (sent == Player::Sent::refused && wanted == nullptr && player_.refusal() == Status::no_such_op) {
      ++unwanted_;
      return true;
    }
    const bool read = sent != Player::Sent::taken ||
                      record_.for_each_block(tensor.data_offset, tensor.bytes, [&](Bytes block) {
                        sent = player_.bytes(block);
                        return sent == Player::Sent::taken;
                      });
    if (!read) return fail(record_.error());
    if (!went(sent, what)) return false;
    if (wanted != nullptr) wanted->sent = true;
    ++sent_;
    bytes_ += tensor.bytes;
    return true;
  }

  Player& player_;
  std::vector<WantedInput>& wanted_;
  const ReceiveOptions& options_;
  RecordFile record_;
  std::optional<Progress> progress_;
  std::uint64_t steps_ = 0;
  std::uint64_t sent_ = 0;
  std::uint64_t unwanted_ = 0;
  std::uint64_t bytes_ = 0;
};

std::uint32_t new_session() {
  std::random_device device;
  for (;;) {
    if (const auto number = static_cast<std::uint32_t>(device()); number != 0) return number;
  }
}

}  // namespace

int run_send(Words words) {
  std::optional<std::string> output;
  std::optional<std::string> steps;
  std::optional<std::string> frame;
  std::vector<std::string> inputs;
  std::vector<std::string> rest;
  LineWords line;
  const Option list[] = {
      {"-o", "--output", nullptr, &output},  {"-out", {}, nullptr, &output},
      {"--input", {}, nullptr, {}, &inputs}, {"--step", {}, nullptr, &steps},
      {"--baud", {}, nullptr, &line.baud},   {"--wait", {}, nullptr, &line.wait},
      {"--idle", {}, nullptr, &line.idle},   {"--frame", {}, nullptr, &frame},
  };
  if (const std::optional<int> end = read_options({"send", kSendHelp, list}, words, rest)) return *end;
  if (rest.size() != 2) return usage_error("send", "a DEVICE or HOST:PORT and one DUMP belong here");
  if (output && output->empty()) return usage_error("send", "'-o' needs a directory");
  ReceiveOptions options = {.line = rest[0], .output = output.value_or(std::string())};
  std::chrono::milliseconds wait(30000);
  std::string error;
  if (!read_line_words(line, options.baud, wait, options.idle, error)) return usage_error("send", error);
  if (options.idle.count() != 0 && !output) return usage_error("send", "'--idle' goes with '-o'");
  const std::optional<std::uint64_t> frame_bytes = frame ? parse_decimal(*frame) : wire::kMaxFrameBytes;
  if (!frame_bytes || *frame_bytes < Player::kLeastFrameBytes || *frame_bytes > wire::kMaxFrameBytes)
    return usage_error("send", "'" + *frame + "' is no number of bytes from 32 to 254");
  StepList wanted_steps;
  if (steps && !wanted_steps.read(*steps, error)) return usage_error("send", error);
  std::vector<WantedInput> wanted;
  for (const std::string& text : inputs) {
    wanted.emplace_back();
    if (!read_input(text, wanted.back()))
      return usage_error("send", "'" + text + "' is not OP:N, an operator and the number of its input");
  }
  std::vector<RecordedOp> ops;
  if (!find_recorded(rest[1], ops, error)) {
    say("opdump send: " + error);
    return kExitFailed;
  }
  std::erase_if(ops, [&](const RecordedOp& op) { return !wanted_steps.has('/' + std::to_string(op.step)); });
  if (ops.empty()) {
    say("opdump send: " + rest[1] + ": holds none of these steps");
    return kExitFailed;
  }
  Receiver receiver(options);
  if (!receiver.begin()) return kExitFailed;
  bool good = receiver.two_way();
  if (!good) say("opdump send: " + rest[0] + ": has one direction only: a device has to answer");
  if (good) {
    options.wait = wait;
    Player player(receiver, new_session(), wait, *frame_bytes);
    Playing playing(player, wanted, options);
    good = playing.play(ops);
    playing.print();
  }
  if (output && good) {
    receiver.put_off_idle();
    while (receiver.turn() && !receiver.over()) {
    }
  }
  return receiver.end() && good ? kExitOk : kExitFailed;
}

}  // namespace opdump::tool
