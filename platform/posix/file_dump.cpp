// The calls of FileDump, compiled once for the programs that link libopdump.
#define OPDUMP_FILE_DUMP_IS_COMPILED
#define OPDUMP_FILE_DUMP_INLINE
#include "platform/posix/file_dump.inl"
