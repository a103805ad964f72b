#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "opdump/config/seal_key.hpp"
#include "platform/posix/tree_sink.hpp"
#include "src/tool/read/dump/found_files.hpp"
#include "src/tool/read/dump/mapped_file.hpp"
#include "src/tool/read/seal/sealed_reader.hpp"
#include "src/tool/read/seal/unsealer.hpp"

namespace opdump::tool {

/// A key as the PEM text of openssl. Source: RFC 8410.
std::string key_pem(SealKeyText::Kind kind, const SealKeyBytes& key);

/// Reads the private key in the file `path`. False: `reason` says why not, "FILE: reason".
bool read_private_key(const std::string& path, SealKeyBytes& key, std::string& reason);

/// Opens sealed files one after another into a tree that has no file of them yet.
class OpenedTree {
 public:
  /// `partial`: of an object whose end is missing what is whole becomes a file too.
  OpenedTree(Unsealer& key, const std::string& directory, bool partial, const SearchReport& report)
      : key_(key), directory_(directory), partial_(partial), report_(report), sink_(new posix::TreeSink) {}

  /// Reads the head of `file`, of a journal all heads, before any is added.
  void learn(const FoundFile& file);

  /// An object that has a fault gives no file, lines all that can be opened.
  void add(const FoundFile& file);

  /// To be called once, behind all files.
  void finish();

  std::uint64_t files() const { return files_; }
  std::uint64_t bytes() const { return bytes_; }
  bool wrong_key() const { return wrong_key_; }

 private:
  void take_account(const FoundFile& file);
  bool is_of_other_session(const FoundFile& file) const;

  Unsealer& key_;
  const std::string& directory_;
  const bool partial_;
  const SearchReport& report_;
  std::unique_ptr<posix::TreeSink> sink_;
  MappedFile mapped_;
  KnownHeads known_;
  /// Ephemeral keys in the journals, by the directories of these; an empty one where a history adds objects of
  /// earlier sessions.
  std::map<std::string, std::set<std::string>, std::less<>> sessions_;
  std::uint64_t files_ = 0;
  std::uint64_t bytes_ = 0;
  bool wrong_key_ = false;
};

}  // namespace opdump::tool
