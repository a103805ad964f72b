#include "src/tool/write/wire/received_tree.hpp"

#include <algorithm>
#include <string_view>

#include "opdump/format/journal_lines.hpp"
#include "src/config/text/human_text.hpp"

namespace opdump::tool {
namespace {

/// Whether a piece of a journal is sealed: the head of a chunk has a zero, and no line has one. Between two
/// such pieces nothing may stand.
bool is_sealed(Bytes piece) {
  return std::find(piece.begin(), piece.end(), std::byte{0}) != piece.end();
}

}  // namespace

ReceivedTree::ReceivedTree(std::string root, posix::TreeSink& sink, WireTally& tally, Report error)
    : root_(std::move(root)), tally_(tally), error_(std::move(error)), sink_(&sink) {}

void ReceivedTree::take(const WireFrame& frame, std::uint64_t number) {
  if (!frame.continued) {
    drop_entry();
    entry_.clear();
    entry_number_ = static_cast<std::uint32_t>(number);
    in_entry_ = true;
  }
  if (!in_entry_) {
    if (!lacks_frames_) strange(number);
    return;
  }
  entry_.insert(entry_.end(), frame.body.begin(), frame.body.end());
  if (frame.kind == wire::Kind::part) return;
  in_entry_ = false;
  end_entry(frame.kind);
}

void ReceivedTree::lose(std::uint64_t first, std::uint64_t last) {
  ++tally_.gaps;
  tally_.lost_frames += last - first + 1;
  std::string text = range_text("frame", first, last) + " never arrived";
  for (const auto& [number, object] : objects_) {
    if (!object.failed) {
      sink_->abort(object.id);
      ++tally_.incomplete;
      text += "; " + object.path + " is incomplete and not written";
    }
  }
  if (in_entry_) ++tally_.incomplete;
  error_(text);
  objects_.clear();
  in_entry_ = false;
  lacks_frames_ = true;
  untold_gaps_.push_back({first, last});
}

/// One that the device has begun and not ended.
void ReceivedTree::drop_entry() {
  if (!in_entry_) return;
  in_entry_ = false;
  ++tally_.incomplete;
  error_("what began with frame " + std::to_string(entry_number_) + " did not end, so it is not written");
}

void ReceivedTree::strange(std::uint64_t number) {
  ++tally_.incomplete;
  error_("frame " + std::to_string(number) + " belongs to nothing that has begun, and is passed over");
}

void ReceivedTree::finish() {
  drop_entry();
  for (auto& [number, object] : objects_) {
    if (object.failed) continue;
    sink_->abort(object.id);
    ++tally_.incomplete;
    error_(object.path + ": the device did not end it, so it is not written");
  }
  objects_.clear();
  if (!journal_.file.empty()) tell_gaps(journal_);
}

void ReceivedTree::end_entry(wire::Kind kind) {
  switch (kind) {
    case wire::Kind::begin:
      return begin();
    case wire::Kind::data:
      return data();
    case wire::Kind::commit:
      return commit();
    case wire::Kind::abort:
      return abort();
    case wire::Kind::lines:
      return lines();
    case wire::Kind::part:
    case wire::Kind::state:
    case wire::Kind::ended:
    case wire::Kind::ask:
      break;
  }
  error_("an entry of the unknown kind " + std::to_string(static_cast<unsigned>(kind)) + " is passed over");
}

void ReceivedTree::begin() {
  const Path path = split(as_text(entry_));
  Object& object = objects_[entry_number_];
  object.path = path.directory + (path.directory.empty() ? "" : "/") + path.file;
  const Result<ObjectId> id = sink_->begin(name_of(path));
  if (id.ok()) {
    object.id = id.value();
  } else {
    fail(object, id.status());
  }
}

void ReceivedTree::data() {
  Object* const object = object_at(0);
  if (object == nullptr || object->failed) return;
  const Bytes part = Bytes(entry_).subspan(wire::kObjectBytes);
  if (const Status status = sink_->append(object->id, {&part, 1}); status != Status::ok) {
    sink_->abort(object->id);
    fail(*object, status);
    return;
  }
  object->bytes += part.size();
}

void ReceivedTree::commit() {
  Object* const first = object_at(0);
  Object* const second = object_at(wire::kObjectBytes);
  const bool is_pair = entry_.size() >= 2 * wire::kObjectBytes;
  std::uint64_t files = 0;
  const auto is_whole = [](const Object* object) { return object != nullptr && !object->failed; };
  if (is_whole(first) && (!is_pair || is_whole(second))) {
    const Status status = sink_->commit(first->id, is_pair ? second->id : kNoObject);
    if (status == Status::ok) {
      files = is_pair ? 2 : 1;
      tally_.bytes += first->bytes + (is_pair ? second->bytes : 0);
    } else {
      fail(*first, status);
      if (is_pair) fail(*second, status);
    }
  } else {
    // Of a pair whose other half is lost, neither counts.
    for (Object* const object : {first, second}) {
      if (!is_whole(object)) continue;
      sink_->abort(object->id);
      ++tally_.incomplete;
      error_(object->path + ": the file that belongs to it is lost, so it is not written");
    }
  }
  tally_.files += files;
  for (std::size_t at = 0; at < 2 * wire::kObjectBytes && at + wire::kObjectBytes <= entry_.size();
       at += wire::kObjectBytes)
    objects_.erase(load_little_endian<std::uint32_t>(entry_.data() + at));
}

void ReceivedTree::abort() {
  Object* const object = object_at(0);
  if (object == nullptr) return;
  if (!object->failed) sink_->abort(object->id);
  ++tally_.aborted;
  objects_.erase(load_little_endian<std::uint32_t>(entry_.data()));
}

void ReceivedTree::lines() {
  const auto end = std::find(entry_.begin(), entry_.end(), std::byte{0});
  if (end == entry_.end()) return error_("lines without a name are passed over");
  const std::size_t name_bytes = static_cast<std::size_t>(end - entry_.begin());
  const Path path = split(as_text(Bytes(entry_).first(name_bytes)));
  const Bytes text = Bytes(entry_).subspan(name_bytes + 1);
  if (!add_lines(path, text)) return;
  ++tally_.lines;
  if (!path.file.ends_with(".journal")) return;
  journal_ = path;
  if (!is_sealed(text)) tell_gaps(path);
}

/// The object whose number stands in the entry; null when there is none of that number, which only what is
/// lost explains.
ReceivedTree::Object* ReceivedTree::object_at(std::size_t at) {
  if (entry_.size() < at + wire::kObjectBytes) return nullptr;
  const auto found = objects_.find(load_little_endian<std::uint32_t>(entry_.data() + at));
  if (found != objects_.end()) return &found->second;
  if (!lacks_frames_) strange(entry_number_);
  return nullptr;
}

void ReceivedTree::fail(Object& object, Status status) {
  object.failed = true;
  ++tally_.incomplete;
  error_(object.path + ": " + std::string(to_string(status)) + ", so it is not written");
}

ReceivedTree::Path ReceivedTree::split(std::string_view path) const {
  const std::size_t slash = path.rfind('/');
  if (slash == path.npos) return {{}, std::string(path)};
  return {std::string(path.substr(0, slash)), std::string(path.substr(slash + 1))};
}

ObjectName ReceivedTree::name_of(const Path& path) const {
  return {.root = root_, .directory = path.directory, .file = path.file};
}

bool ReceivedTree::add_lines(const Path& path, Bytes part) {
  const Status status = sink_->append_lines(name_of(path), {&part, 1});
  if (status == Status::ok) return true;
  ++tally_.incomplete;
  error_(path.directory + '/' + path.file + ": " + std::string(to_string(status)) +
         ", so a piece of it is not written");
  return false;
}

void ReceivedTree::tell_gaps(const Path& journal) {
  for (const auto& [first, last] : untold_gaps_) {
    const std::string line = std::string(kJournalStart<JournalLineKind::unreceived>) + std::to_string(first) +
                             ',' + std::to_string(last) + '\n';
    add_lines(journal, as_bytes(line));
  }
  untold_gaps_.clear();
}

}  // namespace opdump::tool
