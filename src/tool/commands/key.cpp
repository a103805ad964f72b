#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "platform/posix/base/unique_fd.hpp"
#include "platform/posix/base/write_all.hpp"
#include "src/config/text/display_text.hpp"
#include "src/tool/cli/commands.hpp"
#include "src/tool/cli/exit_code.hpp"
#include "src/tool/cli/messages.hpp"
#include "src/tool/cli/options.hpp"
#include "src/tool/read/dump/sealed_head.hpp"
#include "src/tool/read/seal/opened_tree.hpp"

namespace opdump::tool {
namespace {

constexpr char kKeyHelp[] =
    R"(opdump key - makes the pair of keys that dumps are sealed and opened with

usage: opdump key new FILE
       opdump key show FILE

  new   writes a new private key to FILE, which only its owner may read, and the public key to FILE.pub; replaces
        no file
  show  prints the public key of the private key in FILE

The public key goes into a config, as the path of FILE.pub or as the digits that this prints; the private key stays
where 'opdump open' reads dumps. Both are PEM files as openssl makes them:

  openssl genpkey -algorithm X25519 -out key && openssl pkey -in key -pubout -out key.pub

  $ opdump key new key
  key: private; key.pub: public
  public key  9fbe...  (64 digits)
  key id      9fbe0c5d21b9ef42

exit status
  0  done
  1  a file is there already, or cannot be read or written; stderr says why
  2  the command line is wrong
)";

bool make_file(const std::string& path, const std::string& text, mode_t mode) {
  posix::UniqueFd file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode));
  const Bytes bytes = as_bytes(text);
  int error = file ? posix::write_all(file.get(), {&bytes, 1}) : errno;
  if (file && error == 0 && fsync(file.get()) != 0) error = errno;
  if (error == 0) return true;
  say("opdump key: " + path + ": " + strerror(error));
  if (file) unlink(path.c_str());
  return false;
}

void print_public(const SealKeyBytes& key) {
  std::printf("public key  %s\nkey id      %s\n", cards::hexadecimal(key).c_str(), key_id_text(key).c_str());
}

int make_pair(const std::string& path) {
  SealKeyBytes key;
  const std::unique_ptr<Unsealer> pair = make_private_key(key) ? make_unsealer(key) : nullptr;
  if (pair == nullptr) {
    say(std::string("opdump key: ") + kWithoutSodium);
    return kExitFailed;
  }
  const std::string public_path = path + ".pub";
  if (access(public_path.c_str(), F_OK) == 0) {
    say("opdump key: " + public_path + ": " + strerror(EEXIST));
    return kExitFailed;
  }
  constexpr mode_t kPrivate = 0600;
  constexpr mode_t kPublic = 0644;
  if (!make_file(path, key_pem(SealKeyText::Kind::private_key, key), kPrivate)) return kExitFailed;
  if (!make_file(public_path, key_pem(SealKeyText::Kind::public_key, pair->recipient()), kPublic))
    return kExitFailed;
  print_line(path + ": private; " + public_path + ": public");
  print_public(pair->recipient());
  return kExitOk;
}

int show_public(const std::string& path) {
  SealKeyBytes key;
  std::string reason;
  if (!read_private_key(path, key, reason)) {
    say("opdump key: " + reason);
    return kExitFailed;
  }
  const std::unique_ptr<Unsealer> pair = make_unsealer(key);
  if (pair == nullptr) {
    say(std::string("opdump key: ") + kWithoutSodium);
    return kExitFailed;
  }
  print_public(pair->recipient());
  return kExitOk;
}

}  // namespace

int run_key(Words words) {
  std::vector<std::string> rest;
  if (const std::optional<int> end = read_options({"key", kKeyHelp, {}}, words, rest)) return *end;
  if (rest.empty() || (rest[0] != "new" && rest[0] != "show"))
    return usage_error("key", "say 'new FILE' or 'show FILE'");
  if (rest.size() != 2 || rest[1].empty()) return usage_error("key", "one FILE is needed");
  return rest[0] == "new" ? make_pair(rest[1]) : show_public(rest[1]);
}

}  // namespace opdump::tool
