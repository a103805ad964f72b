#include <algorithm>
#include <cstdio>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "opdump/base/arena.hpp"
#include "src/config/cann/dump_step.hpp"
#include "src/tool/cli/commands.hpp"
#include "src/tool/cli/decimal.hpp"
#include "src/tool/cli/exit_code.hpp"
#include "src/tool/cli/messages.hpp"
#include "src/tool/cli/options.hpp"
#include "src/tool/cli/progress.hpp"
#include "src/tool/commands/show/show_listing.hpp"
#include "src/tool/judge/compare/compare_side.hpp"
#include "src/tool/read/dump/found_files.hpp"
#include "src/tool/read/dump/record_file.hpp"
#include "src/tool/read/dump/record_name.hpp"
#include "src/tool/read/flash/flash_image.hpp"
#include "src/tool/read/journal/dump_provenance.hpp"
#include "src/tool/read/run/beside_cards.hpp"
#include "src/tool/verify/trigger_accounts.hpp"

namespace opdump::tool {
namespace {

constexpr char kShowHelp[] =
    R"(opdump show - lists the records of a dump

usage: opdump show PATH... [--op GLOB] [--step STEPS] [--boot N] [--stats] [--head N] [--model CARD]
                    [--sort KEY] [--top N] [--json]

  --op GLOB     only operators whose name matches, such as 'conv*' or 'layer?_relu'
  --step STEPS  only these steps, such as 3, 3-5 or 0|3-5
  --boot N      only boot N, of a flash image or of what 'opdump extract' wrote; of several boots each is listed apart
  --stats       also the standard deviation, the number of zeros, and a histogram from the least to the greatest
  --head N      also the first N elements of each tensor, at most 1000
  --model CARD  also what quantised tensors stand for, by their model, or its card, as 'opdump describe' writes it:
                the least, greatest and mean real value, scale and zero point, and the share of elements that are
                the least or the greatest integer, at which a quantiser saturates. Without it, by the cards that
                lie beside the journal, 'opdump.*.model.json'
  --sort KEY    one line for each tensor, or its statistics, the greatest min, max, mean, l2, absmax, nan, inf or
                bytes first, or in the order of step, name or type
  --top N       only the first N of those
  --json        the same for programs

A PATH, also as '-d PATH', is a dump file, a flash image, or a directory, which is searched with all that is below
it. The last line says what they come
from, such as the build of the program, as far as journals and cards tell.
Records come in the order in which their operators ran. Each gets a line with its operator's type and name,
task, stream, local time, step and model, and below it a line per tensor: role and index, dtype, format, shape,
bytes, and the minimum, maximum and mean of its finite elements. Elements that are no finite number are counted;
complex numbers are shown by their magnitude. '-' stands for what is not known. Files of one tensor (.npy, also as
'opdump convert' and frameworks write them, and .bin of MindSpore Lite) and of statistics (.csv) are records too, in
CANN's layout and in MindSpore's; statistics are shown as they stand there, the least, greatest and mean number first.

Everything of a dump, the convolutions of some steps, and what one of them holds:

  opdump show dump
  opdump show dump --op 'conv*' --step 3-5
  opdump show dump/20260131130559/0/digits/1/9/Conv2D.conv1.* --stats --head 8

A tensor with NaN or Inf in it:

  opdump show dump | grep -E ' (nan|inf) '

The ten tensors with the greatest numbers:

  opdump show dump --sort absmax --top 10

exit status
  0  every record was shown
  1  a file could not be read, or nothing was found; stderr says which, and the rest is shown
  2  the command line is wrong
)";

struct ShowOptions {
  std::optional<std::string> op;
  std::optional<std::string> step;
  std::optional<std::string> boot;
  std::optional<std::string> head;
  std::optional<std::string> model;
  std::optional<std::string> sort;
  std::optional<std::string> top;
  bool stats = false;
  bool json = false;
};

struct Filter {
  std::optional<std::string> op;
  std::optional<StepSet> steps;

  bool takes(const std::optional<RecordName>& name, const std::optional<RecordPlace>& place) const {
    if (op && (!name || !is_asked_for(*op, name->name))) return false;
    return !steps || (place && steps->contains(place->step));
  }
};

/// `files` by boot and time, whatever directory they lie in; those without a time behind, as they were found.
std::vector<FoundFile> sorted_by_time(const std::vector<FoundFile>& files, DumpClocks& clocks) {
  Progress progress(files.size(), "sorting files");
  using Key = std::tuple<std::uint64_t, std::uint64_t, std::size_t>;  // the last is the file's number
  std::vector<Key> keys;
  for (const FoundFile& file : files) {
    const std::optional<RecordName> name = find_record_name(file.real_name);
    const std::optional<std::uint32_t> boot = boot_of(file.path);
    const bool timed = name && !name->name_only;
    keys.emplace_back(boot ? std::uint64_t{*boot} + 1 : 0,
                      timed ? clocks.time_of(file, name->unix_us) : UINT64_MAX, keys.size());
    progress.add();
  }
  std::sort(keys.begin(), keys.end());
  std::vector<FoundFile> sorted;
  for (const Key& key : keys) sorted.push_back(files[std::get<2>(key)]);
  return sorted;
}

class Show {
 public:
  /// `card`: of all records; null: each record's is looked for in its dump.
  Show(const Filter& filter, const CardedOps* card, DumpClocks& clocks)
      : filter_(filter), card_(card), clocks_(clocks) {}

  /// False when something could not be shown. Shows progress where nothing else comes to a terminal.
  template <class Listing>
  bool run(const std::vector<FoundFile>& files, Listing& listing) {
    bool good = true;
    if (terminal_width() == 0 && Progress::is_seen()) progress_.emplace(total_bytes(files));
    for (const FoundFile& file : files) check_task(file);
    for (const FoundFile& file : files) good &= show(file, listing);
    progress_.reset();
    listing.finish(provenance_);
    any_shown_ = listing.sums().records != 0;
    return good;
  }

  /// Whether `run` came upon a record that is wanted.
  bool any_shown() const { return any_shown_; }

 private:
  const CardedOps* card_of(const FoundFile& found) {
    return card_ != nullptr ? card_ : beside_.of(directory_of(found));
  }

  void check_task(const FoundFile& found) {
    const std::optional<RecordName> name = find_record_name(found.real_name);
    const CardedOps* const card = name ? card_of(found) : nullptr;
    if (card != nullptr) card->check_task(identity_of(*name));
  }

  template <class Listing>
  bool show(const FoundFile& found, Listing& listing) {
    if (found.real_name.ends_with(".csv")) return show_statistics(found, listing);
    const std::optional<LiteName> lite = parse_lite_name(found.real_name);
    ShownRecord record = {found, find_record_name(found.real_name),
                          lite ? lite_place_of(found) : place_of(found)};
    if (lite) record.format = lite->format;
    RecordTensor array;
    const bool is_array = found.real_name.ends_with(".npy");
    if (is_array) array = named_array(found.real_name, record);
    if (!filter_.takes(record.name, record.place)) return true;
    if (record.name) record.unix_us = clocks_.time_of(found, record.name->unix_us);
    record.card = card_of(found);
    if (record.card != nullptr && record.name && record.name->type == kFailureType)
      record.failed = record.card->op(identity_of(*record.name));
    const RecordFile::Opened opened =
        lite       ? file_.open_bytes(found.path, tool::named_tensor(*lite), lite->padded())
        : is_array ? file_.open_array(found.path, array)
                   : file_.open(found.path);
    const Stray stray = judge_stray(found);
    if (opened == RecordFile::Opened::not_a_record && stray != Stray::error) {
      if (stray == Stray::worth_a_note) tell(stray_note(found));
      return true;
    }
    std::string error = file_.error();
    if (opened == RecordFile::Opened::ok) {
      if (progress_) progress_->add(file_.bytes());
      error.clear();
      if (listing.show(record, file_, error)) return true;
    }
    tell(error);
    // An array that no dump has the name of may be anything.
    return is_array && opened == RecordFile::Opened::failed && stray == Stray::expected &&
           record.name->name_only;
  }

  /// What a tensor's file tells by its name, of which `record` gets the operator's where it is none of a dump.
  static RecordTensor named_array(const std::string& file_name, ShownRecord& record) {
    const std::optional<TensorName> found = parse_tensor_name(file_name);
    RecordTensor tensor;
    if (!found || found->format.empty()) record.format = "";
    if (!found) {
      const NpyName other = parse_array_name(file_name);
      record.name = RecordName{.type = other.type, .name = other.op, .name_only = true};
      tensor.is_output = other.is_output;
      tensor.index = other.index;
      return tensor;
    }
    const TensorName& name = *found;
    tensor.is_output = name.is_output;
    tensor.index = static_cast<std::uint32_t>(name.index);
    if (const Result<Format> format = format_from_name(name.format); format.ok())
      tensor.format = format.value();
    if (const DType dtype = dtype_in_name(name.dtype); dtype != DType::undefined)
      tensor.original_dtype = dtype;
    return tensor;
  }

  template <class Listing>
  bool show_statistics(const FoundFile& found, Listing& listing) {
    const StatisticsFile::Opened opened = statistics_.open(found);
    const bool is_record = found.named || find_record_name(found.real_name);
    if (opened == StatisticsFile::Opened::no_statistics && !is_record) {
      tell(stray_note(found));
      return true;
    }
    if (opened != StatisticsFile::Opened::ok) {
      tell(statistics_.error());
      return false;
    }
    for (StatisticsRecord statistics; statistics_.next(statistics);) {
      ShownRecord record = {found, statistics.record, place_of(found)};
      if (record.name) record.unix_us = clocks_.time_of(found, record.name->unix_us);
      if (filter_.takes(record.name, record.place)) listing.show(record, statistics);
    }
    if (!statistics_.error().empty()) tell(statistics_.error());
    return statistics_.error().empty();
  }

  std::optional<RecordPlace> place_of(const FoundFile& found) {
    return parse_record_place(directory_of(found));
  }

  std::optional<RecordPlace> lite_place_of(const FoundFile& found) {
    return parse_lite_place(directory_of(found));
  }

  /// Its real path.
  const std::string& directory_of(const FoundFile& found) {
    const std::string directory = found.path.substr(0, found.path.rfind('/') + 1);
    if (!directory_ || directory != *directory_) {
      directory_ = directory;
      real_directory_ = real_path(directory);
      origin_.add(real_directory_, provenance_);
    }
    return real_directory_;
  }

  void tell(const std::string& message) {
    if (progress_) progress_->wipe();
    say("opdump show: " + message);
  }

  const Filter& filter_;
  const CardedOps* const card_;
  DumpClocks& clocks_;
  bool any_shown_ = false;
  std::optional<Progress> progress_;
  BesideCards beside_{[this](const std::string& message) { tell(message); }};
  ProvenanceReader origin_{beside_};
  DumpProvenance provenance_;
  std::optional<std::string> directory_;  ///< of the record looked at last
  std::string real_directory_;
  RecordFile file_;
  StatisticsFile statistics_;
};

/// "d: there is no record of boot 2 that '--op nosuch' takes".
std::string nothing_text(const std::vector<std::string>& paths, const ShowOptions& options) {
  std::string text;
  for (const std::string& path : paths) text += (text.empty() ? "" : ", ") + path;
  text += ": there is no record";
  if (options.boot) text += " of boot " + *options.boot;
  if (!options.op && !options.step) return text;
  text += " that ";
  if (options.op) text += "'--op " + *options.op + "'";
  if (options.op && options.step) text += " and ";
  if (options.step) text += "'--step " + *options.step + "'";
  return text + (options.op && options.step ? " take" : " takes");
}

}  // namespace

int run_show(Words words) {
  ShowOptions options;
  std::vector<std::string> paths;
  const Option table[] = {
      {"--op", {}, nullptr, &options.op},       {"--step", {}, nullptr, &options.step},
      {"--boot", {}, nullptr, &options.boot},   {"--head", {}, nullptr, &options.head},
      {"--sort", {}, nullptr, &options.sort},   {"--top", {}, nullptr, &options.top},
      {"--model", {}, nullptr, &options.model}, {"--stats", {}, &options.stats, nullptr},
      {"--json", {}, &options.json, nullptr},   {"-d", "--dump_file", nullptr, nullptr, &paths},
  };
  if (const std::optional<int> exit_code = read_options({"show", kShowHelp, table}, words, paths))
    return *exit_code;
  if (paths.empty()) return usage_error("show", "a PATH is missing");
  Filter filter = {options.op, std::nullopt};
  const std::size_t step_bytes = (options.step.value_or("").size() + 1) * sizeof(StepRange);
  const std::unique_ptr<std::byte[]> step_memory(new std::byte[step_bytes]);
  Arena arena({step_memory.get(), step_bytes});
  if (options.step) {
    std::string reason;
    const Result<StepSet> steps = config::parse_steps(*options.step, arena, reason);
    if (!steps.ok()) return usage_error("show", "'--step " + *options.step + "': " + reason);
    filter.steps = steps.value();
  }
  const std::optional<std::uint32_t> boot = parse_boot(options.boot.value_or(""));
  if (options.boot && !boot) return usage_error("show", "'" + *options.boot + "' is no number of a boot");
  ShowDetail detail = {.spread = options.stats};
  if (options.head) {
    constexpr std::uint64_t kMost = 1000;
    const std::optional<std::uint64_t> head = parse_decimal(*options.head);
    if (!head || *head == 0 || *head > kMost)
      return usage_error("show",
                         "'--head " + *options.head + "' is no number from 1 to " + std::to_string(kMost));
    detail.head = static_cast<std::size_t>(*head);
  }
  constexpr auto& keys = SortedListing::kKeys;
  if (options.sort && std::find(std::begin(keys), std::end(keys), *options.sort) == std::end(keys))
    return usage_error("show", "there is no '--sort " + *options.sort + "'; the help lists the keys");
  const std::optional<std::uint64_t> top = parse_decimal(options.top.value_or("1000000000"));
  if (!top || *top == 0 || (options.top && !options.sort))
    return usage_error("show", "'--top' takes a number from 1 on, and goes with '--sort'");
  if (options.sort && (options.stats || options.head || options.json))
    return usage_error("show", "'--sort' is for one line a tensor, without '--stats', '--head' and '--json'");

  RunFile card;
  if (options.model && !load_or_say(*options.model, card)) return kExitFailed;
  const CardedOps carded(card);

  std::uint64_t faults = 0;
  const SearchReport report = said_by("show", faults);
  FoundDump dump;
  std::sort(paths.begin(), paths.end(), natural_less);
  for (const std::string& path : paths) dump.add(path, true, report, boot);
  const std::vector<FoundFile>& found = dump.files();
  DumpClocks clocks(found);
  const std::vector<FoundFile> files = sorted_by_time(found, clocks);
  Show show(filter, options.model ? &carded : nullptr, clocks);
  bool failed = false;
  if (options.sort) {
    SortedListing listing(*options.sort, static_cast<std::size_t>(*top));
    failed = !show.run(files, listing);
  } else if (options.json) {
    JsonListing listing(detail);
    failed = !show.run(files, listing);
  } else {
    TextListing listing(files, detail);
    failed = !show.run(files, listing);
  }
  failed |= faults != 0;
  if (!failed && !show.any_shown()) report.error(nothing_text(paths, options));
  if (!options.json) tell_firings(found, [](const std::string& line) { std::puts(line.c_str()); });
  return failed || faults != 0 ? kExitFailed : kExitOk;
}

}  // namespace opdump::tool
