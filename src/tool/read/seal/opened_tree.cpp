#include "src/tool/read/seal/opened_tree.hpp"

#include <algorithm>
#include <optional>
#include <string_view>

#include "src/tool/cli/base64.hpp"
#include "src/tool/read/dump/found_files.hpp"
#include "src/tool/read/dump/mapped_file.hpp"

namespace opdump::tool {

std::string key_pem(SealKeyText::Kind kind, const SealKeyBytes& key) {
  const bool is_private = kind == SealKeyText::Kind::private_key;
  std::string der(is_private ? kPrivateKeyDer : kPublicKeyDer);
  der += as_text(key);
  const std::string what = is_private ? "PRIVATE KEY-----\n" : "PUBLIC KEY-----\n";
  return "-----BEGIN " + what + base64(as_bytes(der)) + "\n-----END " + what;
}

bool read_private_key(const std::string& path, SealKeyBytes& key, std::string& reason) {
  constexpr std::size_t kMostBytes = 65536;
  MappedFile file;
  if (!file.open(path)) {
    reason = file.error();
    return false;
  }
  const SealKeyText read =
      file.bytes().size() > kMostBytes ? SealKeyText{} : read_seal_key(as_text(file.bytes()));
  if (read.kind == SealKeyText::Kind::private_key) {
    key = read.key;
    return true;
  }
  reason = path + (read.kind == SealKeyText::Kind::public_key
                       ? ": holds a public key, and opening takes the private one"
                       : ": holds no private key of X25519, as 'opdump key new' and openssl write one");
  return false;
}

namespace {

constexpr char kHistoryAccount[] = "opdump.history";

/// Whether the directory at `path` may be the `directory` that a session wrote to, somewhere.
bool lies_in(const std::string& path, std::string_view directory) {
  if (directory.empty()) return true;
  return path.ends_with(directory) &&
         (path.size() == directory.size() || path[path.size() - directory.size() - 1] == '/');
}

std::string parent_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash + 1);
}

/// The name without what a file has that was cut off.
std::string_view finished_name(std::string_view name) {
  return name.ends_with(kUnfinishedSuffix) ? name.substr(0, name.size() - kUnfinishedSuffix.size()) : name;
}

}  // namespace

void OpenedTree::learn(const FoundFile& file) {
  if (file.real_name == kHistoryAccount) sessions_[file.below].emplace();
  const std::vector<std::byte> head = sealed_head_of(file.path);
  if (head.empty() || SealedHead(head).version() != sealed::kVersion) return;
  const auto is_same_session = [&](const std::vector<std::byte>& known) {
    return std::equal(known.begin() + sealed::kKeyIdOffset, known.end(), head.begin() + sealed::kKeyIdOffset);
  };
  constexpr std::size_t kMostSessions = 1000;
  if (known_.size() < kMostSessions && std::none_of(known_.rbegin(), known_.rend(), is_same_session))
    known_.push_back(head);
  const std::string_view name = finished_name(file.real_name);
  if (!name.ends_with(".journal") || !mapped_.open(file.path)) return;
  const std::string_view text = as_text(mapped_.bytes());
  for (std::size_t at = 0; (at = text.find(sealed::kMagic, at)) != text.npos; ++at) {
    if (text.size() - at >= sealed::kHeadBytes)
      sessions_[file.below].emplace(as_text(SealedHead(mapped_.bytes().subspan(at)).ephemeral()));
  }
}

/// Whether the object that is mapped, which opens, is of no session that a journal of its dump is of.
bool OpenedTree::is_of_other_session(const FoundFile& file) const {
  std::string_view below = file.below;
  while (true) {
    if (const auto found = sessions_.find(below); found != sessions_.end())
      return !found->second.contains("") &&
             !found->second.contains(std::string(as_text(SealedHead(mapped_.bytes()).ephemeral())));
    if (below.empty()) return false;
    const std::size_t slash = below.rfind('/');
    below = below.substr(0, slash == below.npos ? 0 : slash);
  }
}

/// The account of a history in flash, which no step's content is in: its lines are in clear also where the
/// history is sealed.
void OpenedTree::take_account(const FoundFile& file) {
  const ObjectName target = {.root = directory_, .directory = file.below, .file = kHistoryAccount};
  const Bytes lines = mapped_.bytes();
  const Status status = sink_->append_lines(target, {&lines, 1});
  if (status != Status::ok)
    return report_.error(directory_ + '/' + file.below + '/' + file.real_name + ": " +
                         std::string(to_string(status)));
  report_.note(file.path + ": is not sealed, as a history in flash writes it: nothing proves who wrote it");
}

void OpenedTree::add(const FoundFile& file) {
  if (!mapped_.open(file.path)) return report_.error(mapped_.error());
  const std::string real_name(finished_name(file.real_name));
  if (real_name == kHistoryAccount && as_text(mapped_.bytes()).starts_with("opdump-history,"))
    return take_account(file);
  const std::string place = real_path(parent_of(file.path));
  ObjectName target = {.root = directory_, .directory = file.below, .file = real_name};
  std::optional<ObjectId> object;
  bool is_lines = false;
  Status status = Status::ok;
  const SealedUse use = {
      .name =
          [&](const std::string& directory, const std::string& name, bool lines) {
            if (!(name.empty() && lines) && (name != real_name || !lies_in(place, directory))) {
              report_.error(file.path + ": moved or renamed, or swapped for another file: sealed as " +
                            (directory.empty() ? name : directory + '/' + name));
              status = Status::invalid_argument;
              return false;
            }
            if (lines) {
              if (!is_lines) status = sink_->claim_journal(target);
              is_lines = true;
              return status == Status::ok;
            }
            const Result<ObjectId> begun = sink_->begin(target);
            status = begun.status();
            if (begun.ok()) object = begun.value();
            return begun.ok();
          },
      .text =
          [&](Bytes text) {
            if (status != Status::ok) return;
            status = is_lines ? sink_->append_lines(target, {&text, 1}) : sink_->append(*object, {&text, 1});
            bytes_ += text.size();
          },
      .fault = [&](const std::string& message) { report_.error(file.path + ": " + message); },
      .note = [&](const std::string& message) { report_.note(file.path + ": " + message); }};
  SealedReader reader(key_, use, &known_);
  reader.read(mapped_.bytes());
  wrong_key_ = wrong_key_ || reader.wrong_key();
  if (mapped_.cut_short()) report_.error(mapped_.error());
  if (status != Status::ok && status != Status::invalid_argument)
    report_.error(directory_ + '/' + (file.below.empty() ? "" : file.below + '/') + real_name + ": " +
                  std::string(to_string(status)));
  if (object && reader.faults() == 0 && is_of_other_session(file)) {
    report_.error(file.path +
                  ": sealed in a session that no journal of its dump is of: copied from another dump or "
                  "boot, made by somebody else, or its session's journal is gone");
    status = Status::invalid_argument;
  }
  if (object) {
    const bool good = status == Status::ok && (reader.faults() == 0 || (partial_ && reader.cut_short()));
    if (good) {
      status = sink_->commit(*object);
      if (status != Status::ok) report_.error(file.path + ": " + std::string(to_string(status)));
    } else {
      sink_->abort(*object);
    }
    files_ += good && status == Status::ok ? 1 : 0;
  } else if (is_lines && status == Status::ok) {
    ++files_;
  }
}

void OpenedTree::finish() {
  if (const Status status = sink_->sync(); status != Status::ok)
    report_.error(directory_ + ": " + std::string(to_string(status)));
}

}  // namespace opdump::tool
