#include "platform/flashlog/log_reader.hpp"

#include <algorithm>
#include <cstring>

namespace opdump::flashlog {
inline namespace OPDUMP_NAMESPACE {
namespace {

/// For what goes through a log without a look at its entries.
struct Ignore final : RunVisitor {};

void take_piece(MutableBytes& to, Bytes bytes) {
  bytes = bytes.first(std::min(bytes.size(), to.size()));
  copy_bytes(to.data(), bytes);
  to = to.subspan(bytes.size());
}

/// The body of one entry.
struct Capture final : RunVisitor {
  Capture(Position entry, MutableBytes to_fill) : at(entry), memory(to_fill) {}

  Position at;
  MutableBytes memory;
  MutableBytes to{};

  void entry(const Entry& entry) override { to = entry.begin == at ? memory : MutableBytes(); }
  void body(Bytes bytes) override { take_piece(to, bytes); }
};

/// What becomes of an object: its entries so far, and with those of this run.
struct Account final : RunVisitor {
  struct Sum {
    bool begun = false;
    std::uint64_t bytes = 0;
    ObjectState state = ObjectState::torn;
    bool ended = false;
    bool paired = false;  // with `partner`, under the CRC of its commit
    std::uint32_t partner = kObjectNumbers;
  };
  explicit Account(std::uint32_t object) : number(object) {}

  std::uint32_t number;
  bool again = false;  // the last object of that number, not the first
  Sum before{};
  Sum now{};
  EntryHead head{};  // the entry under way
  Little<std::uint32_t> size{};
  MutableBytes to{};

  void restart(Walk::RunBegin) override {
    now = before;
    head = EntryHead(0, 0);
  }

  void entry(const Entry& entry) override {
    const EntryHead last = head;
    head = entry.head;
    to = {};
    const Kind kind = head.kind();
    const bool commits = kind == Kind::commit || kind == Kind::commit_with_next;
    if (now.ended && now.paired && last.kind() == Kind::commit_with_next && last.number() == number &&
        kind == Kind::commit) {
      now.partner = head.number();
    }
    if (entry.begin < from || head.number() != number) return;
    if (kind == Kind::begin && again) now = {.begun = true};
    if (!now.begun || now.ended) return;
    if (kind == Kind::begin && !again) now.ended = true;
    if (kind == Kind::data) now.bytes += head.body_bytes();
    if (kind == Kind::abort) now.state = ObjectState::aborted;
    if (kind == Kind::abort || commits) now.ended = true;
    if (!commits) return;
    now.state = ObjectState::damaged;
    now.paired = kind == Kind::commit_with_next || last.kind() == Kind::commit_with_next;
    if (kind == Kind::commit && now.paired) now.partner = last.number();
    if (head.body_bytes() == sizeof size) to = {reinterpret_cast<std::byte*>(&size), sizeof size};
  }

  void body(Bytes bytes) override {
    if (to.empty()) return;
    take_piece(to, bytes);
    if (to.empty() && size == static_cast<std::uint32_t>(now.bytes)) now.state = ObjectState::committed;
  }
};

struct Delivery final : RunVisitor {
  Delivery(const LogReader::Object& object, bool (*use_piece)(void*, Bytes), void* use_to)
      : number(object.number),
        lines(object.state == ObjectState::lines),
        at(object.walk.at),
        left(object.bytes),
        use(use_piece),
        to(use_to) {}

  std::uint32_t number;
  bool lines;
  Position at;  // of the lines
  std::uint64_t left;
  bool (*use)(void*, Bytes);
  void* to;
  bool wanted = false;
  bool ended = false;
  bool stopped = false;

  void restart(Walk::RunBegin) override { wanted = false; }
  void entry(const Entry& entry) override {
    const Kind kind = entry.head.kind();
    const bool ours = entry.head.number() == number && !(entry.begin < from);
    ended = ended || (ours && (kind == Kind::begin || kind == Kind::commit || kind == Kind::abort ||
                               kind == Kind::commit_with_next));
    wanted = lines ? entry.body == at : ours && kind == Kind::data && !ended;
  }
  void body(Bytes bytes) override {
    if (!wanted || stopped) return;
    if (bytes.size() > left) bytes = bytes.first(static_cast<std::size_t>(left));
    left -= bytes.size();
    if (!bytes.empty()) stopped = !use(to, bytes);
  }
};

}  // namespace

/// The first entry that tells of an object or journal.
class LogReader::Finder final : public RunVisitor {
 public:
  explicit Finder(LogReader& log) : reader(log) {}

  LogReader& reader;
  Walk::RunBegin run;
  Walk::Reference directory, journal;
  std::bitset<kObjectNumbers> begun;
  bool found = false;
  Entry entry_found;
  Position behind;
  MutableBytes name;

  void restart(Walk::RunBegin begin) override {
    const Walk& walk = reader.walk_;
    run = begin;
    directory = walk.directory;
    journal = walk.journal;
    begun = reader.begun_;
    if (walk.first_segment != reader.begun_in_) begun.reset();
    found = false;
    name = {};
  }

  void entry(const Entry& entry) override {
    name = {};
    if (found || entry.begin < from) return;
    const Kind kind = entry.head.kind();
    const std::uint32_t number = entry.head.number();
    const Walk::Reference reference = {run, entry.begin, entry.head.body_bytes(), true};
    if (kind == Kind::directory) directory = reference;
    if (kind == Kind::journal) journal = reference;
    if (kind == Kind::begin) {
      begun.set(number);
      name = reader.place_for_file(entry.head.body_bytes());
    }
    const bool ends = kind == Kind::commit || kind == Kind::commit_with_next || kind == Kind::abort;
    found = kind == Kind::begin || kind == Kind::lines || (ends && !begun.test(number));
    if (ends) begun.reset(number);
    if (!found) return;
    entry_found = entry;
    behind = reader.runs_.behind(entry);
  }

  void body(Bytes bytes) override { take_piece(name, bytes); }
};

Status LogReader::open(std::span<Segment> segments, std::uint64_t search_bytes) {
  if (const Status status = runs_.open(segments, search_bytes); status != Status::ok) return status;
  walk_ = {};
  Ignore ignore;
  ended_ = !runs_.resynchronise(walk_, 0, ignore);
  begun_.reset();
  begun_in_ = 0;
  cached_ = {};
  return Status::ok;
}

bool LogReader::next(Object& object) {
  Finder finder(*this);
  while (!ended_ && runs_.visit(walk_, finder)) {
    walk_.directory = finder.directory;
    walk_.journal = finder.journal;
    walk_.at = finder.found ? finder.behind : walk_.run_end;
    begun_ = finder.begun;
    begun_in_ = walk_.first_segment;
    if (!finder.found) continue;
    const Entry& entry = finder.entry_found;
    object = {};
    object.number = entry.head.number();
    object.boot = runs_.segments()[entry.begin.segment].boot;
    object.walk = walk_;
    switch (entry.head.kind()) {
      case Kind::begin:
        name_object(entry, object);
        follow(object);
        if (object.state == ObjectState::committed && !object.directory_known) {
          object.state = ObjectState::damaged;
        }
        return true;
      case Kind::lines:
        object.state = ObjectState::lines;
        object.bytes = entry.head.body_bytes();
        object.walk.at = entry.body;
        name_journal(object);
        return true;
      default:
        object.state = ObjectState::overwritten;
        return true;
    }
  }
  ended_ = true;
  return false;
}

Status LogReader::read_pieces(const Object& object, MutableBytes memory, PieceUse use) const {
  if (object.state == ObjectState::overwritten) return Status::ok;
  Delivery delivery(object, use.use, use.to);
  Walk walk = object.walk;
  while (delivery.left != 0) {
    Ignore ignore;
    if (walk.at == walk.run_end && !runs_.find(walk, ignore)) return Status::io_error;
    if (delivery.ended || walk.first_segment != object.walk.first_segment) return Status::io_error;
    Position at = walk.run.at;
    delivery.from = walk.at;
    const LogRuns::Run run = runs_.check(at, walk.run.crc, delivery, memory);
    if (delivery.stopped) return Status::ok;
    if (run != LogRuns::Run::good) return Status::io_error;
    walk.at = walk.run_end;
  }
  return Status::ok;
}

/// Finds out what became of an object that has just begun.
void LogReader::follow(Object& object) const {
  Account account(object.number);
  account.before.begun = true;
  Walk walk = object.walk;
  while (!account.before.ended && runs_.visit(walk, account) &&
         walk.first_segment == object.walk.first_segment) {
    account.before = account.now;
    walk.at = walk.run_end;
  }
  object.bytes = account.before.bytes;
  object.state = account.before.state;
  if (object.state == ObjectState::committed && account.before.paired)
    object.state = state_with(account.before.partner, walk);
}

/// What an object is that was committed in the run before `pair` with another one: as that.
ObjectState LogReader::state_with(std::uint32_t partner, const Walk& pair) const {
  if (partner == kObjectNumbers) return ObjectState::damaged;
  Account account(partner);
  account.again = true;
  Walk walk;
  Ignore ignore;
  if (!runs_.resynchronise(walk, pair.first_segment, ignore)) return ObjectState::damaged;
  do {
    if (account.before.ended) account.before = {};  // an older object had that number
    if (!runs_.visit(walk, account)) return ObjectState::damaged;
    account.before = account.now;
    walk.at = walk.run_end;
  } while (walk.run.at < pair.run.at);
  if (account.before.begun) return account.before.state;
  const bool cut_off = pair.first_segment == 0 && !segments()[0].starts && walk.unreadable_runs == 0;
  return cut_off ? ObjectState::overwritten : ObjectState::damaged;
}

void LogReader::name_object(const Entry& entry, Object& object) {
  const std::size_t file_bytes = entry.head.body_bytes();
  const MutableBytes file = place_for_file(file_bytes);
  object.directory_known = load(object.walk.directory, file.size(), object.directory);
  object.file = as_text(file);
}

void LogReader::name_journal(Object& object) {
  std::string_view path;
  object.directory_known = load(object.walk.journal, 0, path);
  const std::size_t slash = path.rfind('/');
  if (slash != path.npos) object.directory = path.substr(0, slash);
  object.file = path.substr(slash + 1);
}

/// At the end of the reader's memory; empty when it does not fit.
MutableBytes LogReader::place_for_file(std::size_t bytes) {
  if (bytes > names_.size()) return {};
  if (bytes > names_.size() - cached_.bytes) cached_.known = false;
  return std::as_writable_bytes(names_.last(bytes));
}

/// Copies the name that `reference` refers to to the reader's memory, of which `taken` bytes are. Empty when
/// it does not fit; false when it is not known.
bool LogReader::load(const Walk::Reference& reference, std::size_t taken, std::string_view& name) {
  if (!reference.known) return false;
  if (reference.bytes > names_.size() - taken) {
    cached_.known = false;
    return true;
  }
  const std::span<char> to = names_.first(reference.bytes);
  name = {to.data(), to.size()};
  if (cached_.known && cached_.at == reference.at) return true;
  cached_ = reference;
  Capture capture{reference.at, std::as_writable_bytes(to)};
  for (std::uint32_t tries = kReadTries; tries != 0; --tries) {
    Position at = reference.run.at;
    if (runs_.check(at, reference.run.crc, capture) == LogRuns::Run::good) return true;
  }
  cached_.known = false;
  name = {};
  return false;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::flashlog
