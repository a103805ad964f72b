#pragma once
#include <sys/types.h>

#include <span>
#include <string_view>

#include "opdump/base/bytes.hpp"
#include "opdump/base/fnv.hpp"
#include "opdump/base/text.hpp"
#include "platform/posix/base/unique_fd.hpp"

/// The steps by which TreeSink makes files in a tree. No link is followed below the root. Each returns an
/// errno, 0 for success.
namespace opdump::posix {
inline namespace OPDUMP_NAMESPACE {

inline constexpr std::size_t kMaxFileNameBytes = 255;
/// In a directory, the real names of the files whose names the file system does not take.
inline constexpr std::string_view kMappingFile = "mapping.csv";

/// Most bytes of a name that stands for another one.
inline constexpr std::size_t kMaxShortNameBytes = kMaxDecimalBytes + 5;

/// Puts the name of the file whose real name, `name`, is in `kMappingFile`; returns its end.
inline char* put_short_name(char* to, std::string_view name) {
  to = put_decimal(to, fnv1a(name));
  for (const std::string_view suffix : {".npy", ".bin", ".json"})
    if (name.ends_with(suffix)) return put_text(to, suffix);
  return to;
}

/// What became of a call that syncs a directory or a file system, an errno or 0. A file system that cannot, such as
/// CIFS and some of FUSE, says so by EINVAL or ENOTSUP, and has done what it can.
[[nodiscard]] int synced(int result);

/// Waits until the names in a directory are on the disk.
[[nodiscard]] int sync_directory(int directory);

/// The suffix of a file that names two others; neither of them counts while that file exists.
inline constexpr std::string_view kPairSuffix = ".pair.part";

/// As openat, but closes on exec and retries after a signal. Returns the descriptor, or -1 with errno.
int open_at(int directory, const char* name, int flags, mode_t mode = 0);

/// Opens `directory` below `root`, which may be relative to `base`, and makes its missing parts. EPERM for a
/// part that belongs neither to this user, nor to root, nor to the owner of its parent; and for a part in which
/// all users may replace each other's files, unless they may do so in its parent too. `syncs_each`: the parts
/// made survive a loss of power.
int open_tree(int base, std::string_view root, std::string_view directory, bool syncs_each, UniqueFd& opened);

/// Gives the file `mode` if the umask has taken bits away; inherited bits such as set-group-id stay. `kept`
/// says whether the umask took none.
int force_mode(int fd, mode_t mode, bool& kept);
int force_mode(int fd, mode_t mode);

/// EEXIST when anything called `name` exists.
int check_absent(int directory, const char* name);

/// Renames within `directory`, never over another file that an opdump writer made.
int rename_exclusively(int directory, const char* from, const char* to);

/// Adds the row `short_name,name` to the directory's `kMappingFile`, whole or not at all. Waits about
/// `wait_ms` for other writers of rows, and then returns ETIMEDOUT.
int append_mapping(int directory, std::string_view short_name, std::string_view name, bool syncs_each,
                   unsigned wait_ms);

/// Makes a file that holds `parts`, unless one of that name exists. A failed call leaves no file of its own.
int make_file(int directory, const char* name, std::span<const Bytes> parts, bool syncs_each);

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::posix
