#include <doctest/doctest.h>

#include <string>
#include <string_view>

#include "opdump/base/digest.hpp"
#include "tests/support/repeated_text.hpp"

using namespace opdump;
using opdump::tests::repeated;

namespace {

/// In hexadecimal; `text` is added in pieces of `piece` bytes.
template <class Algorithm>
std::string digest_of(std::string_view text, std::size_t piece) {
  Digest<Algorithm> digest;
  for (std::size_t at = 0; at < text.size(); at += piece) digest.add(as_bytes(text.substr(at, piece)));
  std::byte bytes[Digest<Algorithm>::kBytes];
  digest.finish(bytes);
  std::string hex;
  for (const std::byte byte : bytes) {
    hex += "0123456789abcdef"[std::to_integer<int>(byte) >> 4];
    hex += "0123456789abcdef"[std::to_integer<int>(byte) & 15];
  }
  return hex;
}

struct Vector {
  std::string text;
  std::string_view md5;
  std::string_view sha1;
};

}  // namespace

TEST_CASE("digests: the vectors of RFC 1321 and RFC 3174, whatever the pieces") {
  // Of those that one RFC has not, the digest is coreutils'.
  const Vector vectors[] = {
      {"", "d41d8cd98f00b204e9800998ecf8427e", "da39a3ee5e6b4b0d3255bfef95601890afd80709"},
      {"a", "0cc175b9c0f1b6a831c399e269772661", "86f7e437faa5a7fce15d1ddcb9eaeaea377667b8"},
      {"abc", "900150983cd24fb0d6963f7d28e17f72", "a9993e364706816aba3e25717850c26c9cd0d89d"},
      {"message digest", "f96b697d7cb7938d525a2f31aaf161d0", "c12252ceda8be8994d5fa0290a47231c1d16aae3"},
      {"abcdefghijklmnopqrstuvwxyz", "c3fcd3d76192e4007dfb496cca67e13b",
       "32d10c7b8cf96570ca04ce37f2a19d84240d3a89"},
      {"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789", "d174ab98d277d9f5a5611c2c9f419d9f",
       "761c457bf73b14d27e9e9265c46f4b4dda11f940"},
      {repeated("1234567890", 8), "57edf4a22be3c955ac49da2e2107b67a",
       "50abf5706a150990a08b2c5ea40fa0e585554732"},
      {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", "8215ef0796a20bcaaae116d3876c664a",
       "84983e441c3bd26ebaae4aa1f95129e5e54670f1"},
      {repeated("a", 1'000'000), "7707d6ae4e027c70eea2a935c2296f21",
       "34aa973cd4c4daa4f61eeb2bdbad27316534016f"},
      {repeated("0123456701234567012345670123456701234567012345670123456701234567", 10), "",
       "dea356a2cddd90c7a7ecedc5ebb563934f460452"},
  };
  for (const Vector& vector : vectors) {
    CAPTURE(vector.text.substr(0, 80));
    for (const std::size_t piece :
         {std::size_t{1}, std::size_t{63}, std::size_t{64}, std::size_t{65}, std::size_t{1} << 20}) {
      if (piece == 1 && vector.text.size() > 1000) continue;
      if (!vector.md5.empty()) CHECK(digest_of<Md5Algorithm>(vector.text, piece) == vector.md5);
      CHECK(digest_of<Sha1Algorithm>(vector.text, piece) == vector.sha1);
    }
  }
}

TEST_CASE("digests: every length around the block's end") {
  // The digests of the digests, in hexadecimal, of 0 to 200 times "x", from Python's hashlib.
  std::string md5s, sha1s;
  for (std::size_t length = 0; length <= 200; ++length) {
    md5s += digest_of<Md5Algorithm>(repeated("x", length), 17);
    sha1s += digest_of<Sha1Algorithm>(repeated("x", length), 17);
  }
  CHECK(digest_of<Md5Algorithm>(md5s, 1000) == "1f0d9d949b2c16e511c7083a082d1828");
  CHECK(digest_of<Sha1Algorithm>(sha1s, 1000) == "1f67da40a499e887e43c141418cc90ce5c8f9002");
}
