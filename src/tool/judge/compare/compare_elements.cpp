#include "src/tool/judge/compare/compare_elements.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>
#include <vector>

namespace opdump::tool {

/// A stretch of the restored tensor that one thread has made.
struct CompareElements::Window {
  static constexpr std::size_t kBytes = 256 * 1024;
  static constexpr std::size_t kBoxBytes = 2 * 1024 * 1024;

  std::uint64_t number = 0;
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  std::vector<std::byte> items;
  std::vector<std::byte> box;

  bool holds(std::uint64_t element) const { return element >= first && element - first < count; }
};

bool CompareElements::open(const DumpSide& side, const DumpTensor& tensor,
                           const std::optional<Relayout>& relayout) {
  static std::atomic<std::uint64_t> openings{0};
  const std::string path = side.files[tensor.file].path;
  if (!file_.open(path)) {
    error_ = file_.error();
    return false;
  }
  offset_ = tensor.data_offset;
  bytes_ = tensor.data_bytes;
  relayout_ = relayout;
  item_bytes_ = info(tensor.dtype).bits / 8;
  number_ = openings.fetch_add(1, std::memory_order_relaxed) + 1;
  if (tensor.pieces > 1) return gather(tensor);
  if (!tensor.form.is_plain()) {
    if (plain_elements(file_.bytes(), offset_, tensor.form, tensor.shape, gathered_, error_)) return true;
    error_ = path + ": " + error_;
    return false;
  }
  if (offset_ + bytes_ <= file_.bytes().size()) return true;
  error_ = path + ": it has become shorter";
  return false;
}

/// What is cut out of a tensor is small, and has no layout of its own.
bool CompareElements::gather(const DumpTensor& tensor) {
  const std::uint64_t piece = bytes_ / tensor.pieces;
  relayout_.reset();
  gathered_.resize(static_cast<std::size_t>(bytes_));
  for (std::uint64_t i = 0; i < tensor.pieces; ++i) {
    const MutableBytes to =
        MutableBytes(gathered_).subspan(static_cast<std::size_t>(i * piece), static_cast<std::size_t>(piece));
    if (!file_.read_at(offset_ + i * tensor.piece_step, to, error_)) return false;
  }
  return true;
}

const std::byte* CompareElements::read(std::uint64_t offset, std::size_t count, std::byte* buffer) const {
  if (!relayout_) {
    if (offset + count > bytes_) return nullptr;
    if (!gathered_.empty()) return gathered_.data() + offset;
    if (file_.bytes().size() <= MappedFile::kCopiedBytes) return file_.bytes().data() + offset_ + offset;
    // What is mapped counts as memory, and with large pages that would be several MiB for each thread.
    std::string reason;
    if (file_.read_at(offset_ + offset, {buffer, count}, reason)) return buffer;
    const std::lock_guard lock(failure_mutex_);
    if (failure_.empty()) failure_ = std::move(reason);
    return nullptr;
  }
  thread_local Window window;
  std::uint64_t element = offset / item_bytes_;
  std::uint64_t left = count / item_bytes_;
  for (std::byte* to = buffer; left != 0;) {
    if ((window.number != number_ || !window.holds(element)) && !restore(element, window)) return nullptr;
    const std::uint64_t skipped = element - window.first;
    const std::uint64_t now = std::min(left, window.count - skipped);
    std::memcpy(to, window.items.data() + skipped * item_bytes_, static_cast<std::size_t>(now * item_bytes_));
    to += now * item_bytes_;
    element += now;
    left -= now;
  }
  return buffer;
}

bool CompareElements::restore(std::uint64_t first, Window& window) const {
  if (first >= relayout_->elements()) return false;
  const Relayout::Piece piece =
      relayout_->piece(first, Window::kBytes / item_bytes_, Window::kBoxBytes / item_bytes_);
  window.box.resize(static_cast<std::size_t>(piece.box_elements * item_bytes_));
  window.items.resize(static_cast<std::size_t>(piece.elements * item_bytes_));
  std::byte* to = window.box.data();
  const std::byte* const data = gathered_.empty() ? file_.bytes().data() + offset_ : gathered_.data();
  std::uint64_t low = bytes_, high = 0;
  relayout_->for_each_run(piece, [&](std::uint64_t start, std::uint64_t count) {
    const std::uint64_t at = start * item_bytes_;
    const std::size_t bytes = static_cast<std::size_t>(count * item_bytes_);
    std::memcpy(to, data + at, bytes);
    to += bytes;
    low = std::min(low, at);
    high = std::max(high, at + bytes);
  });
  relayout_->convert(piece, window.box.data(), window.items.data());
  if (low < high && gathered_.empty()) file_.drop(offset_ + low, high - low);
  window.number = number_;
  window.first = piece.first;
  window.count = piece.elements;
  return true;
}

bool CompareElements::failed() {
  const bool cut_short = file_.cut_short();
  error_ = cut_short ? file_.error() : failure_;
  return !error_.empty();
}

}  // namespace opdump::tool
