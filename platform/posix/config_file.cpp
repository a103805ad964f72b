#include "platform/posix/config_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <utility>

#include "opdump/base/arena.hpp"
#include "opdump/config/seal_key.hpp"
#include "platform/posix/base/unique_fd.hpp"
#include "platform/posix/impl/dump_path.hpp"
#include "platform/posix/impl/trusted_variable.hpp"

namespace opdump::posix {
inline namespace OPDUMP_NAMESPACE {
namespace {

Status refuse(ConfigError& error, ConfigFault fault, const char* path, const std::string& reason) {
  error = {};
  error.fault = fault;
  error.reason = "the config file \"" + std::string(path) + "\" " + reason;
  return Status::config_refused;
}

Status refuse_unreadable(ConfigError& error, const char* path, int cause) {
  return refuse(error, ConfigFault::unreadable, path, std::string("cannot be read: ") + std::strerror(cause));
}

Status refuse_large(ConfigError& error, const char* path) {
  return refuse(error, ConfigFault::no_memory, path, "needs more heap than there is: shorten it");
}

/// Reads `size` bytes, or fewer if the file ends; negative with errno set on an error.
ssize_t read_all(int descriptor, char* to, std::size_t size) {
  std::size_t done = 0;
  while (done < size) {
    const ssize_t got = ::read(descriptor, to + done, size - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return got;
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return static_cast<ssize_t>(done);
}

std::string_view variable(const char* name) {
  const char* value = trusted_variable(name);
  return value == nullptr ? std::string_view{} : value;
}

}  // namespace

Status read_config_file(const char* path, ConfigText& text, ConfigError& error) {
  // Without O_NONBLOCK, opening a pipe by mistake would hang the boot.
  const UniqueFd file(::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status;
  if (!file || ::fstat(file.get(), &status) != 0) return refuse_unreadable(error, path, errno);
  if (!S_ISREG(status.st_mode))
    return refuse(error, ConfigFault::unreadable, path, "is not a regular file: name a JSON file");
  if (status.st_size > static_cast<off_t>(kMaxConfigBytes))
    return refuse(error, ConfigFault::unreadable, path,
                  "has " + std::to_string(status.st_size) + " bytes, and at most " +
                      std::to_string(kMaxConfigBytes) + " are allowed");
  const std::size_t size = static_cast<std::size_t>(status.st_size);
  text.bytes.reset(new (std::nothrow) char[size]);
  if (text.bytes == nullptr) return refuse_large(error, path);
  const ssize_t got = read_all(file.get(), text.bytes.get(), size);
  if (got < 0) return refuse_unreadable(error, path, errno);
  text.size = static_cast<std::size_t>(got);
  return Status::ok;
}

std::string_view ConfigMemory::keep(std::string_view text) {
  kept_.reset(new (std::nothrow) char[text.size()]);
  if (kept_ == nullptr) return {};
  return {kept_.get(), text.copy(kept_.get(), text.size())};
}

bool read_seal_key_file(std::string_view path, std::span<std::byte, kSealKeyBytes> key, std::string& reason) {
  const std::string name(path);
  ConfigText text;
  ConfigError error;
  if (read_config_file(name.c_str(), text, error) != Status::ok) {
    reason =
        "neither a public key nor a file with one: 64 hexadecimal digits, 44 letters of base64 or a "
        "path; " +
        error.reason;
    return false;
  }
  const SealKeyText read = read_seal_key(text.view());
  if (read.kind == SealKeyText::Kind::public_key) {
    std::copy(read.key.begin(), read.key.end(), key.begin());
    return true;
  }
  reason = "the file \"" + name + "\" ";
  reason += read.kind == SealKeyText::Kind::private_key
                ? "holds a private key, which only the recipient may have: name the public one"
                : "holds no public key of X25519: 'opdump key new' and openssl make one";
  return false;
}

/// Loads one config, and the file that it names.
class ConfigLoader {
 public:
  ConfigLoader(ConfigMemory& memory, ConfigOutcome& outcome, const ConfigContext& context,
               DumpPathCheck check_path = check_dump_path)
      : memory_(memory), outcome_(outcome), context_(context), check_path_(check_path) {
    if (context_.diagnostic_path.empty()) context_.diagnostic_path = variable("MS_DIAGNOSTIC_DATA_PATH");
    context_.ge_dump = context_.ge_dump || variable("ENABLE_MS_GE_DUMP") == "1";
    context_.acl_file = &acl_file_;
    if (context_.privacy == nullptr) context_.privacy = privacy_reader();
    if (context_.seal == nullptr) context_.seal = seal_reader();
    if (context_.triggers == nullptr) context_.triggers = trigger_reader();
    if (context_.read_seal_key == nullptr) context_.read_seal_key = read_seal_key_file;
    outcome_ = {};
  }

  Status load_file(const char* path) {
    ConfigText text;
    const Status status = read_config_file(path, text, outcome_.error);
    return status == Status::ok ? load_text(text.view(), path) : status;
  }

  Status load_text(std::string_view text, const char* name) {
    ConfigMemory loaded;
    loaded.size_ = config_memory_bytes(text.size());
    loaded.bytes_.reset(new (std::nothrow) std::byte[loaded.size_]);
    if (loaded.bytes_ == nullptr) return refuse_large(outcome_.error, name);
    Arena arena({loaded.bytes_.get(), loaded.size_});
    const ConfigInput input = {
        .text = text, .memory = arena, .check_path = check_path_, .context = context_, .wants_notes = true};
    const Status parsed = parse_config(input, outcome_);
    if (parsed != Status::ok) return parsed;
    if (!acl_file_.empty()) {
      const Status named = load_named(loaded);
      if (named != Status::ok) return named;
    }
    memory_ = std::move(loaded);
    return Status::ok;
  }

 private:
  /// The file that torchair's dump_config_path names must be right. It counts unless the options do.
  Status load_named(ConfigMemory& loaded) {
    ConfigContext context = context_;
    context.dialect = ConfigDialect::acl;
    ConfigMemory named_memory;
    ConfigOutcome named;
    ConfigLoader loader(named_memory, named, context, check_path_);
    if (const Status status = loader.load_file(acl_file_.c_str()); status != Status::ok) {
      named.error.file = acl_file_;
      outcome_ = std::move(named);
      return status;
    }
    if (outcome_.config.asked) return Status::ok;
    outcome_.config = named.config;
    loaded = std::move(named_memory);
    for (ConfigNote& note : named.notes) {
      note.file = acl_file_;
      outcome_.notes.push_back(std::move(note));
    }
    return Status::ok;
  }

  ConfigMemory& memory_;
  ConfigOutcome& outcome_;
  ConfigContext context_;
  DumpPathCheck check_path_;
  std::string acl_file_;
};

Status load_config_file(const char* path, ConfigMemory& memory, ConfigOutcome& outcome,
                        const ConfigContext& context) {
  return ConfigLoader(memory, outcome, context).load_file(path);
}

Status load_config_text(std::string_view text, const char* name, ConfigMemory& memory, ConfigOutcome& outcome,
                        const ConfigContext& context, DumpPathCheck check_path) {
  return ConfigLoader(memory, outcome, context, check_path).load_text(text, name);
}

FoundConfig find_config(const char* path) {
  if (path != nullptr) return {path};
  for (const char* const name : {"OPDUMP_CONFIG", "MINDSPORE_DUMP_CONFIG"}) {
    if (!variable(name).empty()) return {trusted_variable(name), name};
  }
  return {};
}

Status load_mindspore_config(ConfigMemory& memory, ConfigOutcome& outcome, const ConfigContext& context) {
  ConfigContext of_dialect = context;
  const bool is_lite = context.dialect == ConfigDialect::mindspore_lite;
  if (!is_lite) of_dialect.dialect = ConfigDialect::mindspore;
  ConfigLoader loader(memory, outcome, of_dialect);
  const std::string named(variable("MINDSPORE_DUMP_CONFIG"));
  if (named.empty()) return Status::ok;
  char path[PATH_MAX];
  if (::realpath(named.c_str(), path) == nullptr)
    return refuse_unreadable(outcome.error, named.c_str(), errno);
  if (!is_lite && !std::string_view(path).ends_with(".json"))
    return refuse(outcome.error, ConfigFault::unreadable, path, "must have a name that ends with .json");
  return loader.load_file(path);
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::posix
