#pragma once
#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

#include "opdump/parts/sealed_sink.hpp"
#include "platform/sodium/sodium_sealer.hpp"
#include "src/tool/read/seal/sealed_reader.hpp"
#include "src/tool/read/seal/unsealer.hpp"

namespace opdump::tests {

inline const sodium::SodiumLibrary& sodium_library() {
  static sodium::SodiumLibrary library;
  static const Status status = library.load();
  REQUIRE(status == Status::ok);
  return library;
}

/// A recipient, who has the private key.
struct Recipient {
  explicit Recipient(unsigned seed = 1) {
    for (std::size_t i = 0; i < private_key.size(); ++i)
      private_key[i] = static_cast<std::byte>(37 * (i + 1) * seed);
    key = tool::make_unsealer(private_key);
  }

  std::string_view public_key() const { return as_text(key->recipient()); }

  tool::SealKeyBytes private_key;
  std::unique_ptr<tool::Unsealer> key;
};

/// What an opener makes of a file.
struct Opened {
  std::string directory;
  std::string file;
  std::string text;
  std::string faults;
  std::string notes;
  std::size_t streams = 0;
  bool lines = false;
  bool wrong_key = false;
  bool cut_short = false;
};

inline Opened open_file(tool::Unsealer& key, std::string_view bytes,
                        const tool::KnownHeads* known = nullptr) {
  Opened opened;
  const tool::SealedUse use = {.name =
                                   [&](const std::string& directory, const std::string& file, bool lines) {
                                     opened.directory = directory;
                                     opened.file = file;
                                     opened.lines = lines;
                                     ++opened.streams;
                                     return true;
                                   },
                               .text = [&](Bytes text) { opened.text += as_text(text); },
                               .fault = [&](const std::string& message) { opened.faults += message + "\n"; },
                               .note = [&](const std::string& message) { opened.notes += message + "\n"; }};
  tool::SealedReader reader(key, use, known);
  reader.read(as_bytes(bytes));
  opened.wrong_key = reader.wrong_key();
  opened.cut_short = reader.cut_short();
  return opened;
}

}  // namespace opdump::tests
