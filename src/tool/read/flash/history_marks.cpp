#include "src/tool/read/flash/history_marks.hpp"

#include <algorithm>
#include <cstring>

#include "platform/flashlog/flash_history.hpp"

namespace opdump::tool {
namespace {

using flashlog::Position;

/// Steps that were handed on, of which some may be told twice.
bool has(const std::vector<HistoryMarks::WrittenOut>& written, std::uint64_t step) {
  return std::any_of(written.begin(), written.end(), [step](const HistoryMarks::WrittenOut& one) {
    return step >= one.first && step <= one.last;
  });
}

}  // namespace

/// The marks of one run.
class HistoryMarks::Finder final : public flashlog::RunVisitor {
 public:
  struct Step {
    Position at;
    std::uint64_t step = 0;
  };

  void restart(flashlog::Walk::RunBegin) override {
    steps.clear();
    written.clear();
    got_ = 0;
  }

  void entry(const flashlog::Entry& entry) override {
    kind_ = entry.begin < from ? flashlog::Kind::data : entry.head.kind();
    at_ = entry.begin;
    got_ = 0;
  }

  void body(Bytes bytes) override {
    const bool wanted = kind_ == flashlog::Kind::step || kind_ == flashlog::Kind::written_out;
    if (!wanted || bytes.size() > sizeof memory_ - got_) return;
    copy_bytes(memory_ + got_, bytes);
    got_ += bytes.size();
    if (kind_ == flashlog::Kind::step && got_ == sizeof(flashlog::StepMark)) {
      flashlog::StepMark mark;
      std::memcpy(&mark, memory_, sizeof mark);
      steps.push_back({at_, mark.step});
    }
    if (kind_ == flashlog::Kind::written_out && got_ == sizeof(flashlog::WrittenOutMark))
      std::memcpy(&written.emplace_back(), memory_, sizeof(flashlog::WrittenOutMark));
  }

  std::vector<Step> steps;
  std::vector<flashlog::WrittenOutMark> written;

 private:
  flashlog::Kind kind_{};
  Position at_;
  std::size_t got_ = 0;
  std::byte memory_[64];
};

HistoryMarks::HistoryMarks(FlashImage& image) {
  const flashlog::LogRuns& runs = image.reader().runs();
  flashlog::Walk walk;
  Finder finder;
  if (!runs.resynchronise(walk, 0, finder)) return;
  Position last;
  std::uint32_t unreadable = 0;
  while (runs.visit(walk, finder)) {
    const auto passed =
        image.reader().segments().subspan(last.segment, walk.run.at.segment - last.segment + 1);
    const bool hole = std::any_of(passed.begin() + 1, passed.end(),
                                  [](const flashlog::Segment& segment) { return segment.behind_hole; });
    if (hole || walk.unreadable_runs != unreadable) behind_damage_.push_back(walk.run.at);
    unreadable = walk.unreadable_runs;
    last = walk.run.at;
    for (const Finder::Step& step : finder.steps) {
      Boot& boot = boots_[image.reader().segments()[step.at.segment].boot];
      if (boot.steps.empty() || boot.steps.back().second != step.step)
        boot.steps.emplace_back(step.at, step.step);
    }
    for (const flashlog::WrittenOutMark& mark : finder.written)
      boots_[mark.boot].written.push_back({mark.first, mark.last, mark.objects, mark.lost, mark.cause});
    walk.at = walk.run_end;
  }
}

std::optional<std::uint64_t> HistoryMarks::step_of(const flashlog::LogReader::Object& object) const {
  const auto boot = boots_.find(object.boot);
  if (boot == boots_.end()) return std::nullopt;
  const auto& steps = boot->second.steps;
  const auto behind = std::upper_bound(steps.begin(), steps.end(), object.walk.at,
                                       [](const Position& at, const auto& step) { return at < step.first; });
  if (behind == steps.begin()) return std::nullopt;
  const auto& [begin, step] = *std::prev(behind);
  const auto damage = std::upper_bound(behind_damage_.begin(), behind_damage_.end(), begin);
  if (damage != behind_damage_.end() && *damage <= object.walk.at) return std::nullopt;
  return step;
}

bool HistoryMarks::was_written_out(const flashlog::LogReader::Object& object) const {
  const std::optional<std::uint64_t> step = step_of(object);
  return step && has(boots_.at(object.boot).written, *step);
}

std::vector<std::string> HistoryMarks::lines() const {
  std::vector<std::string> lines;
  for (const auto& [number, boot] : boots_) {
    std::string line = "boot " + std::to_string(number) + ": a history";
    if (boot.steps.empty()) {
      line += ", none of whose steps is left";
    } else {
      line += " of steps " + std::to_string(boot.steps.front().second) + " to " +
              std::to_string(boot.steps.back().second);
    }
    std::string written;
    for (const WrittenOut& one : boot.written) {
      written += (written.empty() ? "" : ", ") + std::to_string(one.first) + " to " +
                 std::to_string(one.last) + " (" + std::string(flashlog::FlashHistory::cause_word(one.cause));
      written += one.lost != 0 ? ", " + std::to_string(one.lost) + " lost)" : ")";
    }
    line += written.empty() ? "; never written out" : "; written out: " + written;
    lines.push_back(line);
  }
  return lines;
}

}  // namespace opdump::tool
