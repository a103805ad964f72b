#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace opdump::tests {

/// What a file of digests tells, read as digest_table.hpp has it, by other code than the tool's.
struct DigestEntries {
  struct Record {
    std::uint64_t load = 0;
    std::uint64_t step = 0;
    std::string op;  ///< "model:id type.name.task.stream"; empty: not told
    std::vector<std::string> tensors;
    std::vector<std::string> digests;  ///< their bytes
  };

  std::vector<Record> records;
  std::size_t pieces = 0;
  std::size_t ops_told = 0;
  std::string wrong;
};

class DigestText {
 public:
  explicit DigestText(std::string_view text) : text_(text) {}

  bool done() const { return at_ == text_.size() || bad_; }
  bool bad() const { return bad_; }
  std::uint64_t number() {
    std::uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
      const std::string_view byte = bytes(1);
      if (byte.empty() || shift > 63) return bad_ = true, 0;
      value |= static_cast<std::uint64_t>(byte[0] & 0x7f) << shift;
      if ((byte[0] & 0x80) == 0) return value;
    }
  }
  std::string_view bytes(std::uint64_t count) {
    if (count > text_.size() - at_) return bad_ = true, std::string_view();
    at_ += count;
    return text_.substr(at_ - count, count);
  }
  std::string text() { return std::string(bytes(number())); }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
  bool bad_ = false;
};

inline DigestEntries digest_entries(std::string_view file) {
  DigestEntries entries;
  struct Op {
    std::string name;
    std::vector<std::string> tensors;
  };
  std::map<std::uint64_t, Op> ops;
  DigestText pieces(file);
  while (!pieces.done()) {
    const std::string_view head = pieces.bytes(2);
    constexpr std::uint64_t kBytes[] = {0, 4, 8, 16};
    if (head.size() < 2 || head[0] != '\xd1' || head[1] < 1 || head[1] > 3)
      return entries.wrong = "head", entries;
    DigestText piece(pieces.bytes(pieces.number()));
    ++entries.pieces;
    std::uint64_t load = 0;
    std::uint64_t step = 0;
    bool has_step = false;
    while (!piece.done()) {
      const std::uint64_t what = piece.number();
      if (what == 0) {
        load = piece.number();
        step = piece.number();
        piece.number();
        has_step = true;
      } else if (what == 1) {
        ++entries.ops_told;
        Op& op = ops[piece.number()];
        const std::uint64_t in_model = piece.number();
        const std::uint64_t id = piece.number();
        const std::uint64_t task = piece.number();
        const std::uint64_t stream = piece.number();
        op.name = in_model != 0 ? piece.text() + ":" + std::to_string(id) + " " : piece.text();
        op.name += piece.text() + ".";
        op.name += piece.text() + "." + std::to_string(task) + "." + std::to_string(stream);
        const std::uint64_t inputs = piece.number();
        const std::uint64_t outputs = piece.number();
        op.tensors.clear();
        for (std::uint64_t i = 0; i < inputs + outputs; ++i) {
          std::string tensor = (i < inputs ? "in" : "out") + std::to_string(piece.number());
          tensor += " dtype " + std::to_string(piece.number());
          tensor += " format " + std::to_string(piece.number());
          tensor += " bytes " + std::to_string(piece.number()) + " [";
          for (std::uint64_t rank = piece.number(); rank != 0; --rank)
            tensor += std::to_string(piece.number()) + (rank == 1 ? "" : ",");
          op.tensors.push_back(tensor + "]");
        }
      } else {
        if (!has_step || !ops.contains(what)) return entries.wrong = "a record of nothing", entries;
        DigestEntries::Record record{load, step, ops[what].name, ops[what].tensors, {}};
        for (std::size_t i = 0; i < record.tensors.size(); ++i)
          record.digests.emplace_back(piece.bytes(kBytes[static_cast<std::size_t>(head[1])]));
        entries.records.push_back(record);
      }
    }
    if (piece.bad()) entries.wrong = "an entry is cut";
  }
  if (pieces.bad()) entries.wrong = "a piece is cut";
  return entries;
}

}  // namespace opdump::tests
