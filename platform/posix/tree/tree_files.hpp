#pragma once
#include <sys/types.h>

#include <span>
#include <string_view>

#include "opdump/base/bytes.hpp"
#include "platform/posix/impl/unique_fd.hpp"

/// The steps of which TreeSink makes files in a tree. No link is followed below the root. Each returns an
/// errno, 0 for success.
namespace opdump::posix {
inline namespace OPDUMP_NAMESPACE {

inline constexpr std::size_t kMaxFileNameBytes = 255;
/// In a directory, the real names of the files whose names the file system does not take.
inline constexpr std::string_view kMappingFile = "mapping.csv";

/// Of the file that names two others, neither of which counts while it is there.
inline constexpr std::string_view kPairSuffix = ".pair.part";

/// As openat, closed on exec, also when a signal comes; the descriptor, -1 with errno.
int open_at(int directory, const char* name, int flags, mode_t mode = 0);

/// Opens `directory` below `root`, parts of which are made where they are missing. EPERM for a part that
/// belongs neither to this user, nor to root, nor to the owner of what it lies in, and for one in which all
/// may replace each other's files, unless they may in the one above too. `syncs_each`: what is made survives a loss of power.
int open_tree(std::string_view root, std::string_view directory, bool syncs_each, UniqueFd& opened);

/// Gives the file `mode` where the umask has taken bits of it away; set-group-id and the like, which a
/// directory inherits, stay. `kept` tells whether it took none.
int force_mode(int fd, mode_t mode, bool& kept);
int force_mode(int fd, mode_t mode);

/// EEXIST when there is anything of that name.
int check_absent(int directory, const char* name);

/// Renames within `directory`, never over another file that an opdump writer made.
int rename_exclusively(int directory, const char* from, const char* to);

/// Adds the row `short_name,name` to the directory's `kMappingFile`, whole or not at all. Waits about
/// `wait_ms` for others who add theirs, and then gives ETIMEDOUT.
int append_mapping(int directory, std::string_view short_name, std::string_view name, bool syncs_each,
                   unsigned wait_ms);

/// Makes a file that holds `parts`, where there is none of that name. After an error there is none.
int make_file(int directory, const char* name, std::span<const Bytes> parts, bool syncs_each);

/// Adds `parts` to a file, all or nothing. `made` becomes true when there was no such file.
int append_file(int directory, const char* name, std::span<const Bytes> parts, bool syncs_each, bool& made);

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::posix
