#pragma once
#include <cstdint>
#include <cstring>
#include <functional>
#include <random>
#include <vector>

#include "opdump/base/bytes.hpp"
#include "platform/flashlog/device.hpp"

namespace opdump::tests {

/// Flash in memory that behaves as badly as flash may. Copies are independent parts in the same state.
///
/// *Rules.* Programs take bits away and must keep to granules; a granule is programmed once between erases,
/// unless `bits_only_clear`. What breaks a rule, or programs a block that is not wholly erased, is told in
/// `violation` and fails.
///
/// *Power.* `cut_program` and `cut_erase` end the power inside an operation: after that every call fails.
/// Half-programmed bytes hold some of the bits; half-erased blocks read differently each time. Programs since
/// the last sync may be lost one by one, if `volatile_programs`.
///
/// *Unsteady cells.* With `unsteady`, what a cut leaves half done reads differently each time until it is
/// erased or programmed again; or it reads as done, or as untouched, for a while first, so that a mount may
/// not see it. Every granule that a program reached counts as programmed, whatever it reads as.
///
/// *Faults.* See Fault. Reads beyond `read_disturb` of a block since its erase flip a bit in it for good. One
/// read in `read_errors` fails, and succeeds when it is done again; those of `fail_reads` go on failing. One program
/// in `program_errors` fails, in whichever block.
class FlashEmulator {
 public:
  enum class Fault : std::uint8_t {
    none,
    program_fails,  ///< the next program and all that follow leave some bits and report it
    program_lies,   ///< likewise, but they report success
    erase_fails,    ///< the block keeps its bytes
    dying,          ///< each program fails with a probability that grows with each erase
    bad,            ///< nothing can be done with it, not even a read
  };

  /// A program or an erase that is about to begin.
  struct Operation {
    bool is_erase = false;
    std::uint32_t block = 0;
    std::uint32_t offset = 0;
    Bytes bytes;
    std::uint32_t cuts = 0;  ///< places inside it where power may fail, its end excluded
  };

  explicit FlashEmulator(const flashlog::Geometry& part, std::uint32_t page_bytes, std::uint32_t seed = 1)
      : part_(part),
        page_bytes_(page_bytes),
        memory_(std::size_t{part.block_bytes} * part.block_count, part.erased),
        granules_(memory_.size() / part.program_bytes),
        blocks_(part.block_count),
        random_(seed) {}

  FlashEmulator(const FlashEmulator&) = default;
  FlashEmulator& operator=(const FlashEmulator&) = default;

  /// Refers to this emulator.
  flashlog::Device device() {
    return {
        .geometry = part_,
        .context = this,
        .read = [](void* self, std::uint32_t block, std::uint32_t offset,
                   MutableBytes to) { return of(self).read(block, offset, to); },
        .program = [](void* self, std::uint32_t block, std::uint32_t offset,
                      Bytes from) { return of(self).program(block, offset, from); },
        .erase = [](void* self, std::uint32_t block) { return of(self).erase(block); },
        .sync = [](void* self) { return of(self).sync(); },
        .protect = [](void* self, bool on) { of(self).is_protected = on; },
    };
  }

  Status read(std::uint32_t block, std::uint32_t offset, MutableBytes to) {
    if (off || block >= part_.block_count || offset > part_.block_bytes ||
        to.size() > part_.block_bytes - offset) {
      return off ? Status::io_error : violate("read beyond a block");
    }
    Block& state = blocks_[block];
    ++state.reads;
    ++reads;
    read_bytes += to.size();
    if (state.fault == Fault::bad) return Status::io_error;
    if (state.failing_reads != 0) {
      --state.failing_reads;
      return Status::io_error;
    }
    read_failed_ = read_errors != 0 && !read_failed_ && random_() % read_errors == 0;
    if (read_failed_) return Status::io_error;
    if (read_disturb != 0 && state.reads % read_disturb == 0) {
      ++disturbed;
      at(block, random() % part_.block_bytes) ^= static_cast<std::byte>(1u << random_() % 8);
    }
    copy_bytes(to.data(), {&at(block, offset), to.size()});
    if (state.half_erased && state.hidden_reads != 0) {
      --state.hidden_reads;
      if (state.seems_done) std::fill(to.begin(), to.end(), part_.erased);
    } else if (state.half_erased) {
      for (std::byte& byte : to) byte = tear(byte, part_.erased);
    }
    const std::size_t first = place(block, offset);
    for (Torn& torn : torn_) {
      if (torn.place >= first && torn.place - first < to.size()) to[torn.place - first] = read_torn(torn);
    }
    return Status::ok;
  }

  Status program(std::uint32_t block, std::uint32_t offset, Bytes from) {
    if (off) return Status::io_error;
    if (block >= part_.block_count || offset > part_.block_bytes ||
        from.size() > part_.block_bytes - offset) {
      return violate("program beyond a block");
    }
    if (from.empty() || offset % part_.program_bytes != 0 || from.size() % part_.program_bytes != 0) {
      return violate("program of a part of a granule");
    }
    if (offset / page_bytes_ != (offset + from.size() - 1) / page_bytes_)
      return violate("program across pages");
    if (is_protected) return violate("program under write protection");
    if (blocks_[block].half_erased) return violate("program in a half-erased block");
    const std::size_t first = granule(block, offset);
    const std::size_t count = from.size() / part_.program_bytes;
    for (std::size_t i = first; i < first + count; ++i) {
      if (!granules_[i] || part_.bits_only_clear) continue;
      ++repeated_programs;
      return violate("program of a granule again");
    }
    for (std::size_t i = 0; i < from.size(); ++i) {
      // Bits that are gone cannot come back; what is left as erased does not ask for any.
      const std::byte there = at(block, offset + static_cast<std::uint32_t>(i));
      if (from[i] != part_.erased && programmed(there, from[i]) != from[i]) {
        return violate("program of a byte again");
      }
    }
    ++operations;
    ++programs;
    programmed_bytes += from.size();
    const Operation operation = {false, block, offset, from, static_cast<std::uint32_t>(from.size())};
    if (before) before(*this, operation);
    if (operations == cut_at) return cut_program(operation, cut_byte);
    Block& state = blocks_[block];
    if (state.fault == Fault::bad) return Status::io_error;
    bool fails = state.fault == Fault::program_fails || state.fault == Fault::program_lies;
    if (state.fault == Fault::dying) fails = random_() % 64 < state.erases;
    if (program_errors != 0 && random_() % program_errors == 0) fails = true;
    if (fails) {
      tear_program(operation, static_cast<std::uint32_t>(random_() % from.size()));
      return state.fault == Fault::program_lies ? Status::ok : Status::io_error;
    }
    if (volatile_programs)
      pending_.push_back({block, offset, {&at(block, offset), &at(block, offset) + from.size()}});
    settle(place(block, offset), from.size());
    for (std::size_t i = 0; i < from.size(); ++i) {
      std::byte& byte = at(block, offset + static_cast<std::uint32_t>(i));
      byte = programmed(byte, from[i]);
    }
    mark(operation);
    return Status::ok;
  }

  Status erase(std::uint32_t block) {
    if (off) return Status::io_error;
    if (block >= part_.block_count) return violate("erase beyond the part");
    if (is_protected) return violate("erase under write protection");
    ++operations;
    const Operation operation = {true, block, 0, {}, part_.block_bytes};
    if (before) before(*this, operation);
    if (operations == cut_at) return cut_erase(operation, cut_byte);
    Block& state = blocks_[block];
    count_erase(block);
    std::erase_if(pending_, [&](const Program& program) { return program.block == block; });
    if (state.fault == Fault::erase_fails || state.fault == Fault::bad) return Status::io_error;
    settle(place(block, 0), part_.block_bytes);
    wipe(block, part_.block_bytes);
    state.half_erased = false;
    state.reads = 0;
    return Status::ok;
  }

  Status sync() {
    if (off) return Status::io_error;
    ++syncs;
    pending_.clear();
    return Status::ok;
  }

  /// Power fails when `operation` has done `byte` bytes of its work.
  Status cut(const Operation& operation, std::uint32_t byte) {
    return operation.is_erase ? cut_erase(operation, byte) : cut_program(operation, byte);
  }

  /// Power fails between two operations.
  void cut() {
    lose_pending();
    off = true;
  }

  /// Likewise, and of the programs since the last sync just this one never happened; `which` counts them from 0.
  void cut_losing(std::size_t which) {
    lose(pending_[which]);
    pending_.clear();
    off = true;
  }

  /// Programs since the last sync, if `volatile_programs`.
  std::size_t unsynced() const { return pending_.size(); }

  /// A part that holds for good what this one reads as now, each block in one read; `filler` where it is bad.
  FlashEmulator image(std::byte filler) {
    FlashEmulator image(part_, page_bytes_);
    for (std::uint32_t block = 0; block < part_.block_count; ++block) {
      if (blocks_[block].fault == Fault::bad) {
        std::fill_n(&image.at(block, 0), part_.block_bytes, filler);
        continue;
      }
      while (read(block, 0, {&image.at(block, 0), part_.block_bytes}) != Status::ok && !off) continue;
    }
    return image;
  }

  FlashEmulator image() { return image(part_.erased); }

  /// Power is back. Faults of blocks stay.
  void power_on() {
    off = false;
    is_protected = true;
    cut_at = 0;
    before = nullptr;
  }

  void set_fault(std::uint32_t block, Fault fault) { blocks_[block].fault = fault; }

  /// The next `count` reads of the block fail.
  void fail_reads(std::uint32_t block, std::uint32_t count) { blocks_[block].failing_reads = count; }
  std::uint32_t erases_of(std::uint32_t block) const { return blocks_[block].erases; }

  /// Erases of the block that took the rotation of blocks further.
  std::uint32_t turns_of(std::uint32_t block) const { return blocks_[block].turns; }
  const flashlog::Geometry& geometry() const { return part_; }
  std::vector<std::byte>& memory() { return memory_; }
  std::uint32_t random() { return static_cast<std::uint32_t>(random_()); }

  bool off = false;
  bool is_protected = true;
  bool volatile_programs = false;
  bool unsteady = false;
  std::uint64_t cut_at = 0;    ///< operation, counted from 1, in which power fails; 0: none
  std::uint32_t cut_byte = 0;  ///< and where in it
  std::uint32_t read_disturb = 0;
  std::uint32_t read_errors = 0;
  std::uint32_t program_errors = 0;                              ///< one program in so many fails; 0: none
  std::function<void(FlashEmulator&, const Operation&)> before;  ///< each operation

  std::uint64_t operations = 0;
  std::uint64_t programs = 0;
  std::uint64_t programmed_bytes = 0;
  std::uint64_t erases = 0;
  std::uint64_t repeats = 0;  ///< erases that did not take the rotation further, as they were done before
  std::uint64_t repeated_programs = 0;  ///< of a granule that may be programmed once
  std::uint64_t reads = 0;
  std::uint64_t read_bytes = 0;
  std::uint64_t syncs = 0;
  std::uint32_t disturbed = 0;
  const char* violation = nullptr;  ///< the latest

 private:
  struct Block {
    std::uint32_t erases = 0;
    std::uint32_t turns = 0;
    std::uint32_t reads = 0;
    std::uint32_t failing_reads = 0;
    std::uint32_t hidden_reads = 0;  // that do not show yet that the block is half erased
    bool seems_done = false;         // meanwhile
    bool half_erased = false;
    Fault fault = Fault::none;
  };

  /// A byte whose program was cut short.
  struct Torn {
    std::size_t place = 0;
    std::byte was{};
    std::byte done{};
    std::uint32_t hidden_reads = 0;
    bool seems_done = false;
  };

  struct Program {
    std::uint32_t block = 0;
    std::uint32_t offset = 0;
    std::vector<std::byte> before;
  };

  static FlashEmulator& of(void* self) { return *static_cast<FlashEmulator*>(self); }

  std::size_t place(std::uint32_t block, std::uint32_t offset) const {
    return std::size_t{block} * part_.block_bytes + offset;
  }

  std::byte& at(std::uint32_t block, std::uint32_t offset) { return memory_[place(block, offset)]; }

  std::byte read_torn(Torn& torn) {
    if (torn.hidden_reads == 0) return tear(torn.was, torn.done);
    --torn.hidden_reads;
    return torn.seems_done ? torn.done : torn.was;
  }

  /// What is torn there is erased or programmed now.
  void settle(std::size_t first, std::size_t bytes) {
    std::erase_if(torn_, [&](const Torn& torn) { return torn.place >= first && torn.place - first < bytes; });
  }

  /// For how many reads a tear is not seen: none in half of the cases.
  std::uint32_t hidden_reads() { return random() % 2 == 0 ? 0 : random() % 64; }

  Status violate(const char* rule) {
    violation = rule;
    return Status::io_error;
  }

  /// What becomes of a byte that holds `there` when `wanted` is programmed.
  std::byte programmed(std::byte there, std::byte wanted) const {
    return part_.erased == std::byte{0xff} ? there & wanted : there | wanted;
  }

  /// Each bit from one of the two.
  std::byte tear(std::byte a, std::byte b) {
    const std::byte mask = static_cast<std::byte>(random_());
    return (a & mask) | (b & ~mask);
  }

  std::size_t granule(std::uint32_t block, std::uint32_t offset) const {
    return (std::size_t{block} * part_.block_bytes + offset) / part_.program_bytes;
  }

  /// The rotation has come to the latest block that is less than half a turn ahead.
  void count_erase(std::uint32_t block) {
    Block& state = blocks_[block];
    ++state.erases;
    const std::uint32_t ahead = (block + part_.block_count - front_) % part_.block_count;
    if (erases++ != 0 && (ahead == 0 || ahead > part_.block_count / 2)) {
      ++repeats;
    } else {
      front_ = block;
      ++state.turns;
    }
  }

  void mark(const Operation& operation) {
    const std::size_t first = granule(operation.block, operation.offset);
    for (std::uint32_t i = 0; i < operation.bytes.size() / part_.program_bytes; ++i)
      granules_[first + i] = true;
  }

  void wipe(std::uint32_t block, std::uint32_t bytes) {
    std::fill_n(&at(block, 0), bytes, part_.erased);
    const std::ptrdiff_t first = static_cast<std::ptrdiff_t>(granule(block, 0));
    std::fill_n(granules_.begin() + first, bytes / part_.program_bytes, false);
  }

  /// The bytes before `byte` are programmed, that one in part. In one case of four the chip does not work from front to
  /// back, and each byte is done, begun or untouched. A granule that shows nothing of it is as it was.
  void tear_program(const Operation& operation, std::uint32_t byte) {
    if (unsteady) return tear_unsteadily(operation, byte);
    const bool scattered = random_() % 4 == 0;
    for (std::uint32_t i = 0; i < operation.bytes.size(); ++i) {
      std::byte& there = at(operation.block, operation.offset + i);
      const std::byte done = programmed(there, operation.bytes[i]);
      const std::uint32_t state = scattered ? random() % 3 : (i < byte ? 0 : i == byte ? 1 : 2);
      const std::byte was = there;
      if (state == 0) there = done;
      if (state == 1) there = tear(there, done);
      if (there != was) granules_[granule(operation.block, operation.offset + i)] = true;
    }
  }

  /// Likewise; all bytes are begun in a case of four, and what is begun stays undecided.
  void tear_unsteadily(const Operation& operation, std::uint32_t byte) {
    const std::uint32_t how = random() % 4;
    const std::uint32_t hidden = hidden_reads();
    const bool seems_done = random() % 2 == 0;
    for (std::uint32_t i = 0; i < operation.bytes.size(); ++i) {
      std::byte& there = at(operation.block, operation.offset + i);
      const std::byte done = programmed(there, operation.bytes[i]);
      const std::uint32_t in_order = i < byte ? 0 : i == byte ? 1 : 2;
      const std::uint32_t state = how == 0 ? random() % 3 : how == 1 ? 1 : in_order;
      if (state == 1 && done != there)
        torn_.push_back({place(operation.block, operation.offset + i), there, done, hidden, seems_done});
      if (state == 0) there = done;
    }
    mark(operation);
  }

  Status cut_program(const Operation& operation, std::uint32_t byte) {
    tear_program(operation, byte);
    lose_pending();
    off = true;
    return Status::io_error;
  }

  Status cut_erase(const Operation& operation, std::uint32_t byte) {
    Block& state = blocks_[operation.block];
    count_erase(operation.block);
    std::erase_if(pending_, [&](const Program& program) { return program.block == operation.block; });
    state.half_erased = true;
    if (unsteady) {
      state.hidden_reads = hidden_reads();
      state.seems_done = random() % 2 == 0;
    } else {
      wipe(operation.block, byte);
    }
    lose_pending();
    off = true;
    return Status::io_error;
  }

  /// Some of the programs that were not synced never happened.
  void lose_pending() {
    for (const Program& program : pending_) {
      if (random_() % 2 != 0) lose(program);
    }
    pending_.clear();
  }

  void lose(const Program& program) {
    for (std::size_t i = 0; i < program.before.size(); ++i) {
      const std::uint32_t offset = program.offset + static_cast<std::uint32_t>(i);
      at(program.block, offset) = program.before[i];
      granules_[granule(program.block, offset)] = false;
    }
  }

  flashlog::Geometry part_;
  std::uint32_t page_bytes_;
  std::vector<std::byte> memory_;
  std::vector<bool> granules_;  // whether they were programmed since the erase
  std::vector<Block> blocks_;
  std::vector<Program> pending_;
  std::vector<Torn> torn_;
  bool read_failed_ = false;
  std::uint32_t front_ = 0;  // of the rotation: the block that it has come to
  std::minstd_rand random_;
};

}  // namespace opdump::tests
