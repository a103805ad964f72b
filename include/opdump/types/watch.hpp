#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <span>
#include <string_view>

#include "opdump/base/build.hpp"
#include "opdump/base/bytes.hpp"
#include "opdump/types/config.hpp"
#include "opdump/types/counts.hpp"
#include "opdump/types/model.hpp"
#include "opdump/types/tensor.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// An operator's byte in a plan that watches: whether the operator is watched, and of which entries of the config's
/// list it is the watched operator or a suspect. The first three entries have a bit each, all others share one.
inline constexpr std::uint8_t kWatched = 8;
/// It has not run so far.
inline constexpr std::uint8_t kWatchNotRun = 1;
inline constexpr std::uint8_t kWatchEntries = 0xf0;

constexpr bool is_watched(std::uint8_t bits) {
  return (bits & kWatched) != 0;
}
constexpr bool is_suspect(std::uint8_t bits) {
  return !is_watched(bits) && (bits & kWatchEntries) != 0;
}

/// Collective operators cannot be suspects. Source: CANN.
constexpr bool is_collective(const OpDesc& op) {
  return op.type.starts_with("Hcom");
}

/// The bit that says which entry of the config's list rule number `rule` is.
constexpr std::uint8_t watch_entry(std::size_t rule) {
  return static_cast<std::uint8_t>(0x10u << (rule < 3 ? rule : 3));
}

/// The bits of `op` under `rules`, which watch. A watched operator is never a suspect. The names of watched
/// operators are those of operators as they run, not of operators that were fused into them. Source: CANN.
constexpr std::uint8_t watch_bits(std::span<const ModelRule> rules, const OpDesc& op) {
  std::uint8_t watched = 0;
  std::uint8_t suspected = 0;
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const ModelRule& rule = rules[i];
    if (rule.extras == nullptr || rule.extras->watched.empty()) continue;
    const std::uint8_t entry = watch_entry(i);
    for (const std::string_view name : rule.extras->watched) {
      if (name == op.name) watched = static_cast<std::uint8_t>(watched | entry | kWatched);
    }
    bool suspect = rule.all_layers || names_layer(rule, op.name);
    for (const std::string_view original : op.original_names)
      suspect = suspect || names_layer(rule, original);
    if (suspect && !is_collective(op)) suspected = static_cast<std::uint8_t>(suspected | entry);
  }
  return watched != 0 ? watched : suspected;
}

/// Watching finds out which operator overwrites the output of another: after each suspect (`layer`) the recorder
/// looks again at the outputs of the watched operators. An operator's byte in the plan says of which entries of the
/// config's list it is a suspect, so that each watched operator is looked at after its own suspects.

/// A watched operator's output that has changed since the last look, and the operator that ran in between.
struct Overwrite {
  std::uint64_t step = 0;
  std::string_view by{};  ///< the runtime's text, until the model is unloaded; the next one too
  std::string_view watched{};
  std::uint32_t output = 0;
  std::uint64_t first =
      0;  ///< bytes of the output, whole blocks of 16 or more (`WatchedOutput`); no change lies outside
  std::uint64_t last = 0;
};

/// The overwrites that one recorder has seen.
struct WatchTally {
  [[no_unique_address]] Maybe<build::kFaults, Count> overwrites{};
  [[no_unique_address]] Maybe<build::kFaults, Overwrite> first{};

  void add(const Overwrite& overwrite) {
    if (count() == 0) first = overwrite;
    if_here(overwrites, [](auto& all) { all.add_one(); });
  }
  std::uint32_t count() const {
    std::uint32_t value = 0;
    if_here(overwrites, [&value](const auto& all) { value = all.value(); });
    return value;
  }
};

/// Whether `plan`, a ModelPlan, watches.
template <class Plan>
bool watches(const Plan& plan) {
  if constexpr (build::kFaults) {
    return !plan.watch.ops.empty();
  } else {
    return false;
  }
}

inline constexpr std::size_t kMaxWatchedRank = 8;
inline constexpr std::size_t kMaxWatchedOutputs = 4;

/// One output of a watched operator, as it was when the operator last ran, with a checksum per block of its
/// bytes. A block is a `kBlocks`th of the output, 16 bytes at least.
struct WatchedOutput {
  static constexpr std::size_t kBlocks = 64;

  Address address = 0;
  std::uint64_t bytes = 0;
  std::uint64_t block_bytes = 0;
  Format format = Format::nd;
  Format original_format = Format::nd;
  AddressKind address_kind = AddressKind::traditional;
  DType dtype = DType::undefined;
  DType original_dtype = DType::undefined;
  std::uint8_t rank = 0;
  std::uint8_t original_rank = 0;
  Dim dims[2 * kMaxWatchedRank] = {};
  std::uint32_t checksums[kBlocks] = {};

  /// `too_many_dims` for more than there is room for.
  Status keep(const TensorView& tensor) {
    if (tensor.shape.size() > kMaxWatchedRank || tensor.original_shape.size() > kMaxWatchedRank)
      return Status::too_many_dims;
    address = tensor.address;
    bytes = tensor.bytes;
    block_bytes = (bytes / kBlocks / 16 + 1) * 16;
    format = tensor.format;
    original_format = tensor.original_format;
    address_kind = tensor.address_kind;
    dtype = tensor.dtype;
    original_dtype = tensor.original_dtype;
    rank = static_cast<std::uint8_t>(tensor.shape.size());
    original_rank = static_cast<std::uint8_t>(tensor.original_shape.size());
    for (std::size_t i = 0; i < rank; ++i) dims[i] = tensor.shape[i];
    for (std::size_t i = 0; i < original_rank; ++i) dims[kMaxWatchedRank + i] = tensor.original_shape[i];
    return Status::ok;
  }

  TensorView view() const {
    return {.address = address,
            .bytes = bytes,
            .dtype = dtype,
            .format = format,
            .shape = {dims, rank},
            .original_shape = {dims + kMaxWatchedRank, original_rank},
            .original_dtype = original_dtype,
            .original_format = original_format,
            .address_kind = address_kind};
  }

  /// Takes the checksums anew. `changed` becomes whether one differs, and `overwrite` gets the bytes that
  /// did; without `overwrite` nothing is compared. Errors are those of `memory`.
  template <class Memory>
  Status look(Memory& memory, Overwrite* overwrite, bool& changed);

 private:
  template <class Memory>
  Status sum(Memory& memory, std::uint64_t from, std::uint64_t end, std::uint32_t& checksum) const;
};

/// The suspects that ran before a watched operator ever did, so that there was no output to look at.
struct EarlySuspects {
  static constexpr std::size_t kMost = 6;

  std::uint32_t count = 0;  ///< of which the first kMost are told, by their positions in the model
  std::uint32_t ops[kMost] = {};
  std::uint64_t first_step = 0;
  std::uint64_t last_step = 0;

  void add(std::size_t op, std::uint64_t step) {
    if (count == 0) first_step = step;
    last_step = step;
    for (std::uint32_t i = 0; i < count && i < kMost; ++i) {
      if (ops[i] == op) return;
    }
    if (count < kMost) ops[count] = static_cast<std::uint32_t>(op);
    ++count;
  }
};

/// A watched operator of one loaded plan.
struct WatchedOp {
  std::uint32_t op = 0;
  std::uint32_t output_count = 0;  ///< 0: there is nothing to look at yet
  [[no_unique_address]] Maybe<!build::kLean, EarlySuspects> early{};
  WatchedOutput outputs[kMaxWatchedOutputs] = {};
};

/// Bytes of memory, 8-byte aligned, for watching `ops` operators. `name_bytes`: the length of their names
/// together with the name of the longest suspect.
constexpr std::size_t watch_bytes(std::size_t ops, std::size_t name_bytes) {
  return ops * sizeof(WatchedOp) + (name_bytes + 4 + 7) / 8 * 8;
}

/// What a plan watches: its operators, and room for the name of one record.
struct WatchState {
  static constexpr std::string_view kBetween = "_To_";

  std::span<WatchedOp> ops{};
  std::span<char> name{};

  /// Null: `op` is not among them.
  WatchedOp* find(std::size_t op) const {
    for (WatchedOp& watched : ops) {
      if (watched.op == op) return &watched;
    }
    return nullptr;
  }

  /// Takes its place at the front of `memory`, which becomes the rest; `no_memory` when it does not fit.
  Status place(std::span<const std::uint8_t> bits, std::span<const OpDesc> descs, MutableBytes& memory) {
    std::size_t count = 0;
    std::size_t longest_watched = 0;
    std::size_t longest_suspect = 0;
    for (std::size_t i = 0; i < bits.size(); ++i) {
      const std::size_t name_bytes = descs[i].name.size();
      if (is_watched(bits[i])) {
        ++count;
        longest_watched = name_bytes > longest_watched ? name_bytes : longest_watched;
      } else if (is_suspect(bits[i])) {
        longest_suspect = name_bytes > longest_suspect ? name_bytes : longest_suspect;
      }
    }
    const std::size_t bytes = watch_bytes(count, longest_watched + longest_suspect);
    if (memory.size() < bytes || reinterpret_cast<std::uintptr_t>(memory.data()) % 8 != 0)
      return Status::no_memory;
    std::byte* at = memory.data();
    WatchedOp* const first = std::launder(reinterpret_cast<WatchedOp*>(at));
    for (std::size_t i = 0; i < bits.size(); ++i) {
      if (!is_watched(bits[i])) continue;
      ::new (at) WatchedOp{.op = static_cast<std::uint32_t>(i)};
      at += sizeof(WatchedOp);
    }
    ops = {first, count};
    name = {reinterpret_cast<char*>(at), longest_watched + longest_suspect + 4};
    memory = memory.subspan(bytes);
    return Status::ok;
  }

  /// `{by}_To_{watched}`; in the room for one name.
  std::string_view name_of(std::string_view by, std::string_view watched) const {
    char* at = name.data();
    for (const std::string_view part : {by, kBetween, watched}) {
      std::memcpy(at, part.data(), part.size());
      at += part.size();
    }
    return {name.data(), static_cast<std::size_t>(at - name.data())};
  }
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
