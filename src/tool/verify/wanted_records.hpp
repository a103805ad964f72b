#pragma once
#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "opdump/types/config.hpp"
#include "src/tool/cli/options.hpp"
#include "src/tool/read/journal/journal_line.hpp"
#include "src/tool/read/run/beside_cards.hpp"
#include "src/tool/read/run/run_file.hpp"
#include "src/tool/verify/findings.hpp"

namespace opdump::tool {

std::uint64_t path_hash(std::string_view path);

/// What the files of a record hold, as far as they were opened.
struct RecordContent {
  bool tensors = false;
  bool statistics = false;
  bool digests = false;
  std::uint64_t roles[2] =
      {};  ///< bits of inputs and of outputs of which there are elements, from 0; the last one is that of all from 63 on

  void add(bool is_output, std::uint64_t index) {
    roles[is_output ? 1 : 0] |= std::uint64_t{1} << std::min<std::uint64_t>(index, 63);
  }

  /// How much of a tensor there is.
  struct Size {
    bool is_output = false;
    std::uint64_t index = 0;
    std::uint64_t elements = 0;
    std::uint64_t bytes = 0;
  };
  std::vector<Size> sizes{};

  /// Where the shape tells how many elements there are, and a format does not pad them.
  void add_size(bool is_output, std::uint64_t index, Shape shape, Shape original, std::uint64_t bytes);
};

/// What a dump tells of, in hashes, so that it stays small.
class KnownRecords {
 public:
  /// A record that was written, or lost with its operator known.
  void add(const JournalPath& path);

  /// Of all records of that `JournalPath::record`.
  RecordContent& content(std::string_view record) { return contents_[path_hash(record)]; }
  const RecordContent* find_content(std::string_view record) const {
    const auto found = contents_.find(path_hash(record));
    return found == contents_.end() ? nullptr : &found->second;
  }

  /// Records that were lost without their operator being known.
  void add_nameless(std::uint64_t count) { nameless_ += count; }

  /// A history of that device has let go what no trigger wanted.
  void add_history(std::uint64_t device) { with_history_.insert(device); }

  /// To be called once after all `add`.
  void sort();

  /// Whether there is any record of a model of that name, or of such an operator in it; with an empty model
  /// in any. False where both are empty.
  bool has(std::string_view model, std::string_view op) const;

  /// Records of that `JournalPath::record`.
  std::size_t count(std::string_view record) const;

  /// Steps of a model, ascending; empty when none of its records is known.
  std::vector<std::uint64_t> steps(std::string_view model, std::uint64_t model_id) const;

  std::uint64_t nameless() const { return nameless_; }

  bool has_history(std::uint64_t device) const { return with_history_.contains(device); }

 private:
  std::unordered_multiset<std::uint64_t> hashes_;
  std::unordered_map<std::uint64_t, RecordContent> contents_;
  std::set<std::uint64_t> names_;  ///< hashes of models, and of operators with their models and without
  std::map<std::pair<std::string, std::uint64_t>, std::vector<std::uint64_t>, std::less<>> steps_;
  std::uint64_t nameless_ = 0;
  std::set<std::uint64_t> with_history_;
};

/// What a config wants of the models and single operators of a RUN.json, or of the models of cards.
class WantedRecords {
 public:
  /// On false `error` says where and why. The config's directory need not be here.
  bool load(const std::string& config_path, const std::string& run_path, std::string& error);

  /// The same of the config alone; then `take` says which models there are.
  bool load(const std::string& config_path, std::string& error);

  /// The models of these cards, each on the device that its card's name tells, and no others. Refers to the cards.
  void take(const BesideCards::Cards& cards);

  /// Whether it wants anything of a device.
  bool is_of(const std::function<bool(std::uint64_t device)>& has) const;

  /// Adds what is wanted of the devices that `has` and not known of the dump in `directory`. Of a device with
  /// a history nothing is: which records it has kept is told by its journal alone.
  void find_absent(const KnownRecords& known, const std::string& directory,
                   const std::function<bool(std::uint64_t device)>& has, Findings& findings) const;

  /// Adds the names of the config that no operator or model has, if RUN.json or cards tell all of those. What
  /// the dump has all the same is only missing there.
  void find_misses(const KnownRecords& known, Findings& findings) const;

 private:
  struct Search;

  struct WantedModel {
    const RunModel& model;
    std::uint64_t device;
  };

  void find_absent_model(Search& search, const WantedModel& wanted_model) const;
  void find_absent_single(Search& search) const;

  std::unique_ptr<std::byte[]> memory_;
  DumpConfig config_;
  RunFile run_;
  bool has_run_ = false;
  std::vector<WantedModel> models_;
};

}  // namespace opdump::tool
