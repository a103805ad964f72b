#include "src/tool/read/dump/digest_file.hpp"

#include <algorithm>
#include <iterator>

#include "opdump/impl/format/digest_table.hpp"
#include "opdump/types/config.hpp"

namespace opdump::tool {
namespace {

constexpr std::size_t kDigestBytes[] = {0, 4, 8, 16};
constexpr std::uint64_t kMostOps = 0x10000;
constexpr std::uint64_t kMostTensors = 0xffff;

}  // namespace

bool is_digest_name(std::string_view name) {
  return name.starts_with("opdump.") && name.ends_with(kDigestSuffix);
}

std::string_view DigestReader::algorithm() const {
  return kind_ == 0 ? std::string_view() : kDigestWords[kind_ - 1];
}

bool DigestReader::fail(const std::string& reason) {
  error_ = "at byte " + std::to_string(at_) + ": " + reason;
  at_ = end_ = file_.size();
  return false;
}

bool DigestReader::number(std::uint64_t& value) {
  value = 0;
  for (unsigned shift = 0; at_ < end_ && shift < 64; shift += 7) {
    const std::uint64_t byte = std::to_integer<std::uint64_t>(file_[at_++]);
    value |= (byte & 0x7f) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

bool DigestReader::text(std::string_view& value) {
  std::uint64_t bytes = 0;
  if (!number(bytes) || bytes > end_ - at_) return false;
  value = as_text(file_.subspan(at_, static_cast<std::size_t>(bytes)));
  at_ += static_cast<std::size_t>(bytes);
  return true;
}

bool DigestReader::next_piece() {
  constexpr std::size_t kHead = 2;
  const std::size_t start = at_;
  end_ = file_.size();
  if (at_ == file_.size()) return false;
  if (file_[at_] != std::byte{kDigestMagic}) return fail("no piece of digests begins so");
  cut_bytes_ = file_.size() - start;
  if (cut_bytes_ < kHead) return false;
  kind_ = std::to_integer<std::uint8_t>(file_[at_ + 1]);
  if (kind_ == 0 || kind_ >= std::size(kDigestBytes)) return fail("the digest is of no known kind");
  digest_bytes_ = kDigestBytes[kind_];
  at_ += kHead;
  std::uint64_t bytes = 0;
  if (!number(bytes) || bytes > file_.size() - at_) {
    at_ = file_.size();
    return false;
  }
  cut_bytes_ = 0;
  end_ = at_ + static_cast<std::size_t>(bytes);
  has_step_ = false;
  return true;
}

/// Passes over what is told of an operator, and checks it.
bool DigestReader::pass_op() {
  std::uint64_t value = 0;
  std::string_view name;
  std::uint64_t inputs = 0;
  std::uint64_t outputs = 0;
  if (!small(1, value) || !small(UINT32_MAX, value) || !small(UINT32_MAX, value) ||
      !small(UINT32_MAX, value) || !text(name) || !text(name) || !text(name) ||
      !small(kMostTensors, inputs) || !small(kMostTensors, outputs))
    return fail("an operator is not told as it should be");
  return pass_tensors(inputs + outputs);
}

bool DigestReader::pass_tensors(std::uint64_t count) {
  std::uint64_t value = 0;
  for (; count != 0; --count) {
    std::uint64_t rank = 0;
    if (!small(kMostTensors, value) || !small(kKnownDTypes - 1, value) || !small(UINT32_MAX, value) ||
        !number(value) || !small(kMaxRank, rank))
      return fail("a tensor is not told as it should be");
    for (; rank != 0; --rank) {
      if (!number(value)) return fail("a shape is cut short");
    }
  }
  return true;
}

bool DigestReader::read_tensor(DigestedTensor& tensor) {
  std::uint64_t index = 0;
  std::uint64_t dtype = 0;
  std::uint64_t format = 0;
  std::uint64_t rank = 0;
  if (!number(index) || !number(dtype) || !number(format) || !number(tensor.bytes) || !number(rank))
    return false;
  for (; rank != 0; --rank) {
    std::uint64_t dim = 0;
    if (!number(dim)) return false;
    tensor.shape.push_back(static_cast<Dim>(dim));
  }
  tensor.index = static_cast<std::uint32_t>(index);
  tensor.dtype = static_cast<DType>(dtype);
  tensor.format = static_cast<std::uint32_t>(format);
  return true;
}

/// What `pass_op` has checked.
bool DigestReader::read_op(DigestedOp& op) {
  std::uint64_t in_model = 0;
  std::string_view texts[3];
  std::uint64_t inputs = 0;
  std::uint64_t outputs = 0;
  if (!number(in_model) || !number(op.model_id) || !number(op.task) || !number(op.stream) ||
      !text(texts[0]) || !text(texts[1]) || !text(texts[2]) || !number(inputs) || !number(outputs))
    return false;
  op.in_model = in_model != 0;
  op.model = texts[0];
  op.type = texts[1];
  op.name = texts[2];
  op.tensors.resize(static_cast<std::size_t>(inputs + outputs));
  for (std::size_t i = 0; i < op.tensors.size(); ++i) {
    op.tensors[i].is_output = i >= inputs;
    if (!read_tensor(op.tensors[i])) return false;
  }
  return true;
}

bool DigestReader::read_op() {
  std::uint64_t called = 0;
  if (!small(kFirstDigestOp + kMostOps, called) || called < kFirstDigestOp)
    return fail("an operator has no number");
  const std::size_t from = at_;
  if (!pass_op()) return false;
  const std::string_view bytes = as_text(file_.subspan(from, at_ - from));
  auto known = ops_.known_.find(bytes);
  if (known == ops_.known_.end()) {
    at_ = from;
    DigestedOp op;
    if (!read_op(op)) return fail("an operator is not told as it should be");
    known = ops_.known_.emplace(bytes, ops_.size()).first;
    ops_.ops_.push_back(std::move(op));
  }
  if (called_.size() <= called) called_.resize(static_cast<std::size_t>(called) + 1);
  called_[static_cast<std::size_t>(called)] = known->second + 1;
  return true;
}

bool DigestReader::next(DigestedRecord& record) {
  for (;;) {
    if (at_ == end_ && !next_piece()) return false;
    if (at_ == end_) continue;
    std::uint64_t what = 0;
    if (!number(what)) return fail("an entry is cut short");
    if (what == kDigestStep) {
      if (!number(now_.load) || !number(now_.step) || !number(now_.ms)) return fail("a step is cut short");
      has_step_ = true;
    } else if (what == kDigestOp) {
      if (!read_op()) return false;
    } else if (!has_step_) {
      return fail("a record has no step");
    } else if (what >= called_.size() || called_[static_cast<std::size_t>(what)] == 0) {
      // How long it is only its operator tells.
      nameless_bytes_ += end_ - at_;
      at_ = end_;
    } else {
      now_.op = called_[static_cast<std::size_t>(what)] - 1;
      const std::size_t bytes = ops_[now_.op].tensors.size() * digest_bytes_;
      if (bytes > end_ - at_) return fail("a record is cut short");
      now_.digests = file_.subspan(at_, bytes);
      at_ += bytes;
      record = now_;
      return true;
    }
  }
}

}  // namespace opdump::tool
