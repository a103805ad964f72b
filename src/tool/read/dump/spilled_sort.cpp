#include "src/tool/read/dump/spilled_sort.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace opdump::tool {

bool SpilledSort::add(std::string_view text) {
  if (!error().empty()) return false;
  if (!places_.empty() && text_.size() + text.size() + (places_.size() + 1) * sizeof(Place) > memory_ &&
      !spill())
    return false;
  places_.push_back({static_cast<std::uint32_t>(text_.size()), static_cast<std::uint32_t>(text.size())});
  text_.append(text);
  ++size_;
  return true;
}

bool SpilledSort::finish() {
  if (!error().empty()) return false;
  if (!runs_.empty()) {
    if (!places_.empty() && !spill()) return false;
    text_ = {};
    places_ = {};
    return true;
  }
  sort_places();
  return true;
}

void SpilledSort::sort_places() {
  std::stable_sort(places_.begin(), places_.end(),
                   [this](const Place& a, const Place& b) { return less_(text_of(a), text_of(b)); });
}

/// Writes what is in memory as one run.
bool SpilledSort::spill() {
  if (runs_.size() == kMostRuns && !merge_runs()) return false;
  sort_places();
  const std::uint64_t first = file_.size();
  std::string block;
  for (const Place& place : places_) {
    put(block, text_of(place));
    if (block.size() >= kWriteBytes && !flush(block, file_)) return false;
  }
  if (!flush(block, file_)) return false;
  runs_.push_back({first, file_.size()});
  text_.clear();
  places_.clear();
  return true;
}

/// Makes one run of all.
bool SpilledSort::merge_runs() {
  TemporaryFile merged;
  {
    Reader reader(*this);
    std::string block;
    bool written = true;
    for (std::string_view text; written && reader.next(text);) {
      put(block, text);
      if (block.size() >= kWriteBytes) written = flush(block, merged);
    }
    written = written && flush(block, merged);
    if (written && !error().empty()) return false;
  }
  file_ = std::move(merged);
  runs_ = {{0, file_.size()}};
  return error().empty();
}

void SpilledSort::put(std::string& to, std::string_view text) {
  const std::uint32_t bytes = static_cast<std::uint32_t>(text.size());
  char head[sizeof bytes];
  std::memcpy(head, &bytes, sizeof bytes);
  to.append(head, sizeof head).append(text);
}

bool SpilledSort::flush(std::string& block, TemporaryFile& to) {
  const bool written = to.append(as_bytes(block));
  block.clear();
  return written;
}

SpilledSort::Reader::Reader(const SpilledSort& sort) : sort_(sort) {
  for (const Range& range : sort.runs_) runs_.push_back({.at = range.first, .end = range.end});
}

/// Makes the window hold as many bytes as `bytes` that are not used yet.
bool SpilledSort::Reader::fill(Run& run, std::size_t bytes) {
  const std::size_t left = run.window.size() - run.used;
  if (left >= bytes) return true;
  run.window.erase(0, run.used);
  run.used = 0;
  const std::size_t wanted = std::max(bytes, kWindowBytes) - left;
  const std::size_t more = static_cast<std::size_t>(std::min<std::uint64_t>(wanted, run.end - run.at));
  run.window.resize(left + more);
  failed_ = left + more < bytes ||
            !sort_.file_.read(run.at, {reinterpret_cast<std::byte*>(run.window.data()) + left, more});
  run.at += more;
  return !failed_;
}

/// Takes the next text of the run; false when there is none.
bool SpilledSort::Reader::advance(Run& run) {
  std::uint32_t bytes = 0;
  if (failed_ || (run.used == run.window.size() && run.at == run.end) || !fill(run, sizeof bytes))
    return false;
  std::memcpy(&bytes, run.window.data() + run.used, sizeof bytes);
  if (!fill(run, sizeof bytes + bytes)) return false;
  run.text = std::string_view(run.window).substr(run.used + sizeof bytes, bytes);
  run.used += sizeof bytes + bytes;
  return true;
}

bool SpilledSort::Reader::comes_later(std::size_t a, std::size_t b) const {
  if (sort_.less_(runs_[b].text, runs_[a].text)) return true;
  return b < a && !sort_.less_(runs_[a].text, runs_[b].text);
}

/// Puts the first of the heap where it belongs.
void SpilledSort::Reader::sink_first() {
  for (std::size_t at = 0, child = 1; child < heap_.size(); at = child, child = 2 * at + 1) {
    if (child + 1 < heap_.size() && comes_later(heap_[child], heap_[child + 1])) ++child;
    if (!comes_later(heap_[at], heap_[child])) return;
    std::swap(heap_[at], heap_[child]);
  }
}

bool SpilledSort::Reader::next(std::string_view& text) {
  if (runs_.empty()) {
    if (next_ == sort_.places_.size()) return false;
    text = sort_.text_of(sort_.places_[next_++]);
    return true;
  }
  if (!started_) {
    started_ = true;
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      if (advance(runs_[i])) heap_.push_back(i);
    }
    std::make_heap(heap_.begin(), heap_.end(),
                   [this](std::size_t a, std::size_t b) { return comes_later(a, b); });
  } else if (!heap_.empty()) {
    if (!advance(runs_[heap_.front()])) {
      heap_.front() = heap_.back();
      heap_.pop_back();
    }
    sink_first();
  }
  if (failed_ || heap_.empty()) return false;
  text = runs_[heap_.front()].text;
  return true;
}

}  // namespace opdump::tool
