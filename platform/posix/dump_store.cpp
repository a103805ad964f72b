#include "platform/posix/dump_store.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "platform/posix/impl/dump_path.hpp"
#include "platform/storage/log_claim.hpp"
#include "platform/storage/raw_log.hpp"
#include "platform/storage/raw_storage.hpp"

namespace opdump::posix {
inline namespace OPDUMP_NAMESPACE {
namespace {

/// The first of the options that raw storage cannot follow; null if there is none.
const char* refused_option(const DumpOptions& options) {
  if (options.max_bytes != 0) return "max_bytes";
  if (options.max_files != 0) return "max_files";
  return options.reserve_bytes != 0 ? "reserve_bytes" : nullptr;
}

flashlog::Policy policy_of(const DumpOptions& options) {
  return options.keep == Keep::newest ? flashlog::Policy::overwrite_oldest : flashlog::Policy::stop_when_full;
}

}  // namespace

bool is_raw_place(std::string_view dump_path) {
  struct ::stat status {};
  return ::stat(std::string(dump_path).c_str(), &status) == 0 && !S_ISDIR(status.st_mode);
}

bool check_dump_place(std::string_view dump_path, std::string& reason) {
  const std::string path(dump_path);
  if (path.find('\0') != path.npos || !is_raw_place(path)) return check_dump_path(dump_path, reason);
  storage::RawStorage storage;
  storage::LogClaim claim;
  if (storage.open(path, storage::Access::read) != Status::ok) {
    reason = storage.error();
  } else if (claim.inspect(storage.device()) != Status::ok) {
    reason = path + ": " + claim.reason();
  } else if (::access(path.c_str(), R_OK | W_OK) != 0) {
    reason = path + ": cannot be read and written by this user: " + std::strerror(errno);
  } else {
    return true;
  }
  reason += "; name a directory, or raw storage";
  return false;
}

std::string raw_refusal(const DumpConfig& config) {
  if (!is_raw_place(config.dump_path)) return {};
  const std::string path = std::string(config.dump_path) + ": ";
  if (const char* const option = refused_option(config.options))
    return path + "opdump." + option +
           " is for directories; of raw storage a dump has all there is: leave the key out";
  if (config.form.layout != Layout::cann)
    return path + "raw storage takes the layout \"cann\" alone: name a directory, or that layout";
  return {};
}

DumpStore::DumpStore() = default;
DumpStore::~DumpStore() = default;

Status DumpStore::open(const DumpConfig& config) {
  error_.clear();
  const std::string path(config.dump_path);
  if (raw_ != nullptr) {
    if (path == raw_path_) return Status::ok;
    error_ = path + ": a dump that goes to " + raw_path_ + " cannot move before it ends";
    return Status::not_supported;
  }
  if (!is_raw_place(path)) return Status::ok;
  error_ = raw_refusal(config);
  if (!error_.empty()) return Status::not_supported;
  std::unique_ptr<storage::RawLog> raw(new (std::nothrow) storage::RawLog);
  if (raw == nullptr) return Status::no_memory;
  const Status opened = raw->open(path, {.policy = policy_of(config.options), .prepared_blocks = 0});
  if (opened != Status::ok) {
    error_ = raw->error();
    return opened;
  }
  raw_ = std::move(raw);
  raw_path_ = path;
  owner_ = ::getpid();
  return Status::ok;
}

void DumpStore::close() {
  raw_.reset();
  raw_path_.clear();
}

Status DumpStore::follow(const DumpOptions& options, JournalDetail journal) {
  if (raw_ == nullptr) return tree_.follow(options, journal);
  if (refused_option(options) != nullptr || options.history_steps != 0) return Status::not_supported;
  DumpOptions of_log;
  of_log.keep = options.keep.value_or(Keep::oldest);
  sync_each_ = options.fsync == Fsync::record;
  return raw_->log().follow(of_log, journal);
}

std::uint64_t DumpStore::room() const {
  return raw_ == nullptr ? 0 : raw_->room();
}

std::string DumpStore::report() const {
  return raw_ == nullptr ? std::string() : raw_->report();
}

const std::string& DumpStore::error() const {
  return raw_ == nullptr || !error_.empty() ? error_ : raw_->error();
}

int DumpStore::last_errno() const {
  return raw_ == nullptr ? tree_.last_errno() : raw_->last_errno();
}

Result<ObjectId> DumpStore::begin(const ObjectName& name) {
  Sink* const sink = now();
  return sink == nullptr ? Result<ObjectId>(Status::not_supported) : sink->begin(name);
}

Status DumpStore::append(ObjectId object, std::span<const Bytes> parts) {
  Sink* const sink = now();
  return sink == nullptr ? Status::not_supported : sink->append(object, parts);
}

Status DumpStore::commit(ObjectId object, ObjectId with) {
  Sink* const sink = now();
  if (sink == nullptr) return Status::not_supported;
  const Status status = sink->commit(object, with);
  return status == Status::ok && raw_ != nullptr && sync_each_ ? sink->sync() : status;
}

Status DumpStore::put_object(const ObjectName& name, std::span<const Bytes> parts) {
  return raw_ == nullptr ? tree_.put_object(name, parts) : Sink::put_object(name, parts);
}

void DumpStore::abort(ObjectId object) {
  if (Sink* const sink = now()) sink->abort(object);
}

Status DumpStore::claim_journal(const ObjectName& name) {
  Sink* const sink = now();
  return sink == nullptr ? Status::not_supported : sink->claim_journal(name);
}

Status DumpStore::append_lines(const ObjectName& name, std::span<const Bytes> parts) {
  Sink* const sink = now();
  return sink == nullptr ? Status::not_supported : sink->append_lines(name, parts);
}

Status DumpStore::sync() {
  Sink* const sink = now();
  return sink == nullptr ? Status::not_supported : sink->sync();
}

Sink* DumpStore::now() {
  if (raw_ == nullptr) return &tree_;
  return ::getpid() == owner_ ? &raw_->log() : nullptr;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::posix
