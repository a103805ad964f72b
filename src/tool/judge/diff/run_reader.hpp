#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "src/tool/cli/exit_code.hpp"
#include "src/tool/judge/compare/compare_side.hpp"
#include "src/tool/judge/diff/run_table.hpp"
#include "src/tool/read/dump/digest_file.hpp"
#include "src/tool/read/dump/found_files.hpp"
#include "src/tool/read/journal/dump_provenance.hpp"
#include "src/tool/read/run/beside_cards.hpp"

namespace opdump::tool {

/// Reads runs: dumps with digests, dumps with tensors, of which the digests are computed, and signatures.
class RunReader {
 public:
  explicit RunReader(const SearchReport& report)
      : report_{.error =
                    [this, error = report.error](const std::string& message) {
                      complete_ = false;
                      error(message);
                    },
                .note = report.note},
        cards_(report_.note) {}
  RunReader(const RunReader&) = delete;
  RunReader& operator=(const RunReader&) = delete;

  /// Looks what is at `path`, a directory or a file. `name`: what it is called. Each dump with digests is a
  /// run of its own; tensors are one. All of `path` are of side `side`. False when nothing is there that can
  /// be compared, which was reported.
  bool look(const std::string& path, const std::string& name, std::size_t side);

  /// Reads what was looked at into `table`. False when a run could not be read, which was reported; without
  /// single records of it there is a table, and this is not `complete`.
  bool read(RunTable& table);

  /// To the report that this was given. An error means that a run lacks something.
  const SearchReport& report() const { return report_; }
  /// Nothing was reported as an error.
  bool complete() const { return complete_; }

  /// Tensors of which a run does not have the digest of all elements, but statistics, the digest of some, or
  /// nothing that can be compared.
  std::uint64_t without_elements() const { return without_elements_; }

  /// The exit status where runs could not be read: 2 where nothing of them can be compared.
  int failed() const { return incomparable_ || without_elements_ != 0 ? kExitUsage : kExitFailed; }

  /// That of the digests, and where there are none "xxh3".
  std::string_view algorithm() const { return algorithm_.empty() ? std::string_view("xxh3") : algorithm_; }

 private:
  struct Source {
    enum class Kind { digests, signature, tensors };
    Kind kind = Kind::tensors;
    std::string name;
    std::size_t side = 0;
    std::vector<std::string> files;  ///< of tensors, the path that was named
    ModelSums models{};
    DumpProvenance provenance{};
  };

  /// Of `directory`, to the source that was looked at last.
  void add_origin(const std::string& directory);
  bool take_algorithm(std::string_view algorithm, const std::string& path);
  bool look_at_digests(const std::vector<FoundFile>& files, const std::string& name, std::size_t side);
  bool read_digests(const std::string& path, RunTable& table);
  bool read_tensors(const std::string& path, RunTable& table);
  /// Of what stands instead of the elements.
  RunDigest told_of(const DumpTensor& tensor, RunTable& table) const;
  /// Reports what of `path` cannot be compared.
  void report_lacking(const std::string& path, std::uint64_t count, const std::string& why);

  bool complete_ = true;
  bool incomparable_ = false;
  std::uint64_t without_elements_ = 0;
  const SearchReport report_;
  std::string algorithm_;
  std::string algorithm_of_;  ///< whose it is
  std::vector<Source> sources_;
  BesideCards cards_;
  ProvenanceReader provenance_{cards_};
  std::optional<UnscopedOps> first_ops_;  ///< of the first run that has tensors
  ToldApart first_apart_;                 ///< of the same
  std::string first_path_;                ///< the same
  DigestedOps ops_;
  std::vector<std::vector<FormedTensor>> tensors_;  ///< of each of `ops_`
};

/// Says whether run `with`, with a dump, computed what run `without` did, which had a smaller one: all
/// tensors that both have are equal bit by bit. Returns the exit status.
int run_observer(const std::string& without, const std::string& with, bool as_json);

}  // namespace opdump::tool
