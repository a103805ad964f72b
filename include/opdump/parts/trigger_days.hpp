#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "opdump/base/bytes.hpp"
#include "opdump/base/crc32c.hpp"
#include "opdump/parts/trigger_sink.hpp"
#include "opdump/parts/triggered_history.hpp"
#include "opdump/port/clock.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// Where a few bytes survive a boot: a file (platform/posix/day_file.hpp), two blocks of flash
/// (platform/flashlog/day_blocks.hpp), or what else a port has. Both calls on the drain context.
class DayStore {
 public:
  /// The bytes of the latest `save` that was `ok`, or of one that failed later; returns how many. 0: there
  /// are none. Bytes that are damaged may come too, as TriggerDays checks them.
  virtual std::size_t load(MutableBytes to) = 0;

  /// Returns when the bytes survive a loss of power. If the power fails meanwhile, `load` gives them or those
  /// before.
  [[nodiscard]] virtual Status save(Bytes bytes) = 0;

 protected:
  ~DayStore() = default;
};

/// The record that a DayStore keeps, little-endian:
///
///      0  u32  kMagic
///      4  u32  number of the save; the highest one is the latest
///      8  u64  day since 1970; of a clock that does not know the calendar 0
///     16  u64  bytes of the day that firings have had, or may have had
///     24  u32  firings
///     28  u32  seconds since the day began, of such a clock
///     32  u8   1: the clock knows the calendar
///     33  u8   triggers; u16 0
///     36  u32  for each: the second since 2020 in which its cooldown ends, kNotDated for one of a clock that
///              does not know the calendar, 0: it may fire
///         u32  CRC-32C of all that
struct DayRecord {
  static constexpr std::uint32_t kMagic = 0x31544f44;
  static constexpr std::uint32_t kNotDated = 0xffffffff;
  static constexpr std::uint32_t kHeadBytes = 36;
  static constexpr std::size_t kMostBytes = kHeadBytes + 4 * kMostTriggers + Crc32c::kBytes;

  /// How long the record is that begins so; 0: none does. `head` has kHeadBytes.
  static std::size_t bytes_of(Bytes head) {
    const std::size_t triggers = std::to_integer<std::size_t>(head[33]);
    const bool is_one = load_little_endian<std::uint32_t>(head.data()) == kMagic && triggers <= kMostTriggers;
    return is_one ? kHeadBytes + 4 * triggers + Crc32c::kBytes : 0;
  }

  /// Whether `record` is whole.
  static bool is_sound(Bytes record) {
    if (record.size() < kHeadBytes || record.size() != bytes_of(record)) return false;
    const std::size_t bytes = record.size() - Crc32c::kBytes;
    return crc32c(0, record.data(), bytes) == load_little_endian<std::uint32_t>(record.data() + bytes);
  }

  static std::uint32_t number(Bytes record) { return load_little_endian<std::uint32_t>(record.data() + 4); }
};

/// Keeps what firings have had of a day, and the cooldowns, across boots: between a TriggerSink and its
/// history. Without it each boot begins a day, so that a device that boots again and again has no limit.
///
/// A firing is saved before anything of it is written. Of the day's bytes it takes a share of `kShares`
/// beforehand, and more as the write-out goes on; what is left of a share when the power fails counts as
/// used. A firing that cannot be saved is held back.
///
/// While the clock does not know the calendar, a day is 24 hours of running: of all boots since it began, as
/// far as firings have told the time. The day of an earlier boot, whichever it was, goes on, and a cooldown
/// that may not have passed begins anew. Once the clock knows that the day of an earlier boot is over, that
/// counts no longer.
///
/// Up to `resume`, and without it, all calls go to the history as they are.
class TriggerDays final : public TriggeredHistory {
 public:
  static constexpr std::uint32_t kShares = 16;

  /// All must outlive this object.
  TriggerDays(TriggeredHistory& history, DayStore& store, Clock& clock)
      : history_(history), store_(store), clock_(clock) {}
  TriggerDays(const TriggerDays&) = delete;
  TriggerDays& operator=(const TriggerDays&) = delete;

  /// Goes on with the day of the boots before. `sink`, which is before this object, has begun its triggers,
  /// and no object is open. Without a record that is whole the day is new.
  void resume(TriggerSink& sink) {
    sink_ = &sink;
    number_ = 0;
    pending_ = false;
    std::byte record[DayRecord::kMostBytes];
    sink.look_at_time();
    const std::size_t bytes = store_.load(record);
    if (bytes <= sizeof record && DayRecord::is_sound(Bytes(record).first(bytes))) take(record);
    reserved_ = sink.use().bytes;
  }

  /// From now on nothing is saved.
  void rest() { sink_ = nullptr; }

  Status keep_steps(std::uint32_t history_steps, std::uint32_t after_steps) override {
    sink_ = nullptr;
    return history_.keep_steps(history_steps, after_steps);
  }
  bool has_reached(std::uint32_t load, std::uint64_t step) const override {
    return history_.has_reached(load, step);
  }

  bool start(std::uint32_t load, std::size_t trigger) override {
    if (sink_ == nullptr) return history_.start(load, trigger);
    const TriggerUse now = sink_->use();
    for (std::uint64_t share = this->share();; share *= 2) {
      const bool all = share >= allowed_ || share > UINT64_MAX / 2;
      const std::uint64_t room = all ? allowed_ : share;
      reserved_ = is_limited() ? now.bytes + TriggerSink::kLineBytes + room : UINT64_MAX;
      if (!save(now, now.firings + 1, trigger)) break;
      history_.allow(room);
      const std::uint32_t refused = history_.refused();
      if (history_.start(load, trigger)) return true;
      if (all) break;
      hidden_ += history_.refused() - refused;
    }
    reserved_ = now.bytes;
    static_cast<void>(save(now, now.firings, kNoTrigger));
    return false;
  }

  bool is_writing() const override { return history_.is_writing(); }
  std::uint64_t steps_left() const override { return history_.steps_left(); }
  std::uint64_t written_bytes() const override { return history_.written_bytes(); }
  std::uint32_t written_records() const override { return history_.written_records(); }
  std::uint32_t refused() const override { return history_.refused() - hidden_; }
  std::uint32_t lost() const override { return history_.lost(); }

  void allow(std::uint64_t bytes) override {
    allowed_ = bytes;
    history_.allow(sink_ == nullptr ? bytes : least(bytes, reserve_left()));
  }

  Result<ObjectId> begin(const ObjectName& name) override {
    follow_clock();
    const Result<ObjectId> object = history_.begin(name);
    if (object.ok()) ++open_;
    return object;
  }
  Status append(ObjectId object, std::span<const Bytes> parts) override {
    for (const Bytes part : parts) appended_ += part.size();
    return history_.append(object, parts);
  }
  Status commit(ObjectId object, ObjectId with = kNoObject) override {
    reserve(appended_);
    close(with == kNoObject ? 1 : 2);
    return history_.commit(object, with);
  }
  void abort(ObjectId object) override {
    close(1);
    history_.abort(object);
  }
  Status claim_journal(const ObjectName& name) override { return history_.claim_journal(name); }
  Status append_lines(const ObjectName& name, std::span<const Bytes> parts) override {
    std::uint64_t bytes = 0;
    for (const Bytes part : parts) bytes += part.size();
    reserve(bytes);
    return history_.append_lines(name, parts);
  }

  /// Gives back what the write-outs so far have not used, too.
  Status sync() override {
    if (sink_ != nullptr && is_limited() && reserve_left() != 0) {
      const TriggerUse now = sink_->use();
      reserved_ = now.bytes;
      static_cast<void>(save(now, now.firings, kNoTrigger));
    }
    return history_.sync();
  }

 private:
  static constexpr std::size_t kNoTrigger = SIZE_MAX;
  static constexpr std::uint64_t kLeastShare = 256;

  static std::uint64_t least(std::uint64_t one, std::uint64_t other) { return one < other ? one : other; }

  bool is_limited() const { return sink_->limits().bytes_per_day != 0; }

  std::uint64_t share() const {
    if (!is_limited()) return UINT64_MAX;
    const std::uint64_t share = sink_->limits().bytes_per_day / kShares;
    return share < kLeastShare ? kLeastShare : share;
  }

  std::uint64_t reserve_left() const {
    if (!is_limited()) return UINT64_MAX;
    const std::uint64_t used = sink_->use().bytes;
    return reserved_ > used ? reserved_ - used : 0;
  }

  /// A write-out that is under way is to have `bytes` more.
  void reserve(std::uint64_t bytes) {
    if (sink_ == nullptr || !is_limited() || !history_.is_writing()) return;
    const TriggerUse now = sink_->use();
    const bool is_new_day = now.known && now.day != told_.day;
    if (reserve_left() < bytes || is_new_day) {
      const std::uint64_t most = sink_->limits().bytes_per_day;
      const std::uint64_t before = reserved_;
      reserved_ = least(now.bytes + bytes + share(), most > now.bytes ? most : now.bytes);
      if (!save(now, now.firings, kNoTrigger)) reserved_ = before;
    }
    const std::uint64_t most = sink_->limits().bytes_per_day;
    const std::uint64_t used = sink_->use().bytes;
    history_.allow(least(reserve_left(), most > used ? most - used : 0));
  }

  void close(std::uint32_t objects) {
    open_ -= objects < open_ ? objects : open_;
    if (open_ == 0) appended_ = 0;
  }

  std::uint32_t now_s() const {
    const std::uint64_t seconds = clock_.unix_us() / 1'000'000;
    return seconds < TriggerSink::kKnownFrom ? 0
                                             : static_cast<std::uint32_t>(seconds - TriggerSink::kKnownFrom);
  }

  bool save(const TriggerUse& use, std::uint32_t firings, std::size_t fired) {
    std::byte record[DayRecord::kMostBytes];
    const std::span<const TriggerRule> rules = sink_->rules();
    store_little_endian(record, DayRecord::kMagic);
    store_little_endian(record + 4, ++number_);
    store_little_endian(record + 8, use.known ? use.day : std::uint64_t{0});
    store_little_endian(record + 16, is_limited() ? reserved_ : std::uint64_t{0});
    store_little_endian(record + 24, firings);
    store_little_endian(record + 28, static_cast<std::uint32_t>(use.elapsed_ms / 1000));
    store_little_endian(record + 32, static_cast<std::uint32_t>(use.known ? 1 : 0));
    record[33] = static_cast<std::byte>(rules.size());
    std::byte* at = record + DayRecord::kHeadBytes;
    for (std::size_t i = 0; i < rules.size(); ++i, at += 4) {
      const std::uint64_t cools_ms =
          i == fired ? std::uint64_t{rules[i].cooldown_s} * 1000 : sink_->cools_ms(i);
      const std::uint32_t until = now_s() + static_cast<std::uint32_t>((cools_ms + 999) / 1000);
      store_little_endian(at, cools_ms == 0 ? 0 : use.known ? until : DayRecord::kNotDated);
    }
    store_little_endian(at, crc32c(0, record, static_cast<std::size_t>(at - record)));
    told_ = use;
    return store_.save({record, at + Crc32c::kBytes}) == Status::ok;
  }

  /// A record that is sound.
  void take(const std::byte* record) {
    number_ = load_little_endian<std::uint32_t>(record + 4);
    TriggerUse saved = {.known = record[32] != std::byte{0},
                        .day = load_little_endian<std::uint64_t>(record + 8),
                        .elapsed_ms = std::uint64_t{load_little_endian<std::uint32_t>(record + 28)} * 1000,
                        .firings = load_little_endian<std::uint32_t>(record + 24),
                        .bytes = load_little_endian<std::uint64_t>(record + 16)};
    const TriggerUse now = sink_->use();
    pending_ = saved.known && !now.known;
    if (saved.known || now.known) saved.elapsed_ms = 0;
    const bool is_over = saved.known && now.known && saved.day < now.day;
    if (!is_over) sink_->add_use(saved);
    saved_ = saved;
    count_ = std::to_integer<std::uint32_t>(record[33]);
    if (count_ != sink_->rules().size()) count_ = 0;
    for (std::uint32_t i = 0; i < count_; ++i)
      until_[i] = load_little_endian<std::uint32_t>(record + DayRecord::kHeadBytes + 4 * i);
    cool(now.known);
  }

  /// The triggers that have not fired in this boot.
  void cool(bool known) {
    for (std::uint32_t i = 0; i < count_; ++i) {
      if (until_[i] == 0 || sink_->counts(i).fired != 0) continue;
      std::uint32_t rest_s = sink_->rules()[i].cooldown_s;
      if (known && until_[i] != DayRecord::kNotDated) {
        const std::uint32_t left = until_[i] > now_s() ? until_[i] - now_s() : 0;
        rest_s = left < rest_s ? left : rest_s;
      }
      sink_->cool(i, std::uint64_t{rest_s} * 1000);
    }
  }

  /// The clock may have come to know the calendar.
  void follow_clock() {
    if (!pending_ || sink_ == nullptr) return;
    const TriggerUse now = sink_->use();
    if (!now.known && now.day == 0) return;
    pending_ = false;
    // Else the day of all boots so far has ended by itself.
    if (!now.known) return;
    if (saved_.day < now.day) {
      sink_->drop_use(saved_);
      reserved_ -= least(reserved_, saved_.bytes);
    }
    cool(true);
  }

  TriggeredHistory& history_;
  DayStore& store_;
  Clock& clock_;
  TriggerSink* sink_ = nullptr;  ///< null: nothing is saved
  std::uint64_t allowed_ = UINT64_MAX;
  std::uint64_t reserved_ = 0;  ///< of the day's bytes, as saved
  std::uint64_t appended_ = 0;  ///< to the objects that are open
  std::uint32_t open_ = 0;
  std::uint32_t hidden_ = 0;  ///< of `refused`, where `start` has tried again
  std::uint32_t number_ = 0;  ///< of the latest save
  bool pending_ = false;      ///< the clock does not know whether the day of `saved_` is over
  TriggerUse saved_{};        ///< by the boots before
  TriggerUse told_{};         ///< by the latest save
  std::uint32_t count_ = 0;
  std::uint32_t until_[kMostTriggers] = {};
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
