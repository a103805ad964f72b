#!/usr/bin/env python3
"""Compiles opdump's headers that have names in common with CANN's together with those, in every order: with declarations of
our own that have CANN's names, and with CANN's headers where OPDUMP_CANN_INCLUDE names the folder that holds acl/acl_rt.h.
The types and values that opdump declares anew are CANN's.

usage: cann_headers_test.py COMPILER SOURCE_ROOT
"""
import itertools
import os
import pathlib
import subprocess
import sys

CXX_FLAGS = '-std=c++20 -Wall -Wextra -Wconversion -Wshadow -Werror -fsyntax-only -xc++ -'.split()
C_FLAGS = '-std=c99 -Wall -Wextra -Wno-unused-variable -Werror -fsyntax-only -xc -'.split()

CXX_HEADERS = ('acl/acl_rt.h', 'acl/acl_dump.h', 'opdump/acl.h', 'platform/ascend/acl_linked.hpp')
C_HEADERS = ('acl/acl_rt.h', 'acl/acl_dump.h', 'opdump/acl.h')
# For programs that run beside CANN.
CXX_BESIDE = ('acl/acl_dump.h', 'opdump/acl_chunks.h', 'platform/ascend/chunk_consumer.hpp')
C_BESIDE = ('acl/acl_dump.h', 'opdump/acl_chunks.h', 'opdump/acl.h')

BESIDE_PROGRAM = """
int main(void) { return acldumpRegCallback(opdump_take_chunk, 0) == ACL_SUCCESS ? 0 : 1; }
"""

C_PROGRAM = """
static int32_t take(const acldumpChunk* chunk, int32_t bytes) { return chunk->bufLen == 0 ? bytes : OPDUMP_ACL_ABORTED; }
int main(void) {
  if (aclInit("acl.json") != ACL_SUCCESS || acldumpRegCallback(take, 0) != ACL_SUCCESS) return 1;
  return acldumpGetPath(DATA_DUMP) == 0 ? ACL_ERROR_FAILURE : aclFinalize();
}
"""

# Parameters agree if a caller that has opdump's declaration passes what CANN's function takes.
CXX_PROGRAM = C_PROGRAM + """
#include <type_traits>
namespace ascend = opdump::ascend;
template <class Ours, class Theirs>
constexpr bool agree() {
  if constexpr (std::is_pointer_v<Ours> && std::is_pointer_v<Theirs>) {
    return agree<std::remove_pointer_t<Ours>, std::remove_pointer_t<Theirs>>();
  } else if constexpr (std::is_enum_v<Theirs>) {
    return std::is_integral_v<Ours> && sizeof(Ours) == sizeof(Theirs);
  } else {
    return std::is_same_v<Ours, Theirs>;
  }
}
template <class Result, class... Ours, class OtherResult, class... Theirs>
constexpr bool agree(Result (*)(Ours...), OtherResult (*)(Theirs...)) {
  return std::is_same_v<Result, OtherResult> && (agree<Ours, Theirs>() && ...);
}
constexpr ascend::AclApi kApi = ascend::linked_api();
static_assert(agree(kApi.memcpy_sync, aclrtMemcpy) && agree(kApi.memcpy_async, aclrtMemcpyAsync));
static_assert(agree(kApi.get_device, aclrtGetDevice) && agree(kApi.get_run_mode, aclrtGetRunMode));
static_assert(agree(kApi.malloc_host, aclrtMallocHost) && agree(kApi.free_host, aclrtFreeHost));
static_assert(agree(kApi.create_stream, aclrtCreateStream) && agree(kApi.destroy_stream, aclrtDestroyStream));
static_assert(agree(kApi.synchronize_stream, aclrtSynchronizeStream));
static_assert(agree(kApi.synchronize_stream_with_timeout, aclrtSynchronizeStreamWithTimeout));
static_assert(agree(kApi.stream_query, aclrtStreamQuery));
static_assert(agree(kApi.malloc, aclrtMalloc) && agree(kApi.free, aclrtFree));
static_assert(agree(kApi.get_overflow_status, aclrtGetOverflowStatus));
static_assert(agree(kApi.reset_overflow_status, aclrtResetOverflowStatus));
static_assert(ascend::kDeviceToHost == ACL_MEMCPY_DEVICE_TO_HOST && ascend::kRunModeDevice == ACL_DEVICE);
static_assert(ascend::kMallocNormalOnly == ACL_MEM_MALLOC_NORMAL_ONLY);
static_assert(ascend::kStreamComplete == ACL_STREAM_STATUS_COMPLETE && ascend::kAclSuccess == ACL_SUCCESS);
static_assert(ascend::says_unsupported(ACL_ERROR_API_NOT_SUPPORT));
static_assert(ascend::says_unsupported(ACL_ERROR_RT_FEATURE_NOT_SUPPORT));
static_assert(ascend::says_overflow(ACL_ERROR_RT_AICORE_OVER_FLOW));
static_assert(ascend::says_overflow(ACL_ERROR_RT_AIVEC_OVER_FLOW) && ascend::says_overflow(ACL_ERROR_RT_OVER_FLOW));
static_assert(ascend::says_timeout(ACL_ERROR_RT_WAIT_TIMEOUT));
static_assert(ascend::says_timeout(ACL_ERROR_RT_STREAM_SYNC_TIMEOUT));
static_assert(sizeof(acldumpChunk) == 4096 + 24 && offsetof(acldumpChunk, dataBuf) == 4096 + 20);
"""


def compile_together(compiler, root, include, headers, flags, program):
    """Why the headers do not compile together; None if they do."""
    source = ''.join(f'#include "{header}"\n' for header in headers) + program
    command = [compiler, f'-I{root}/include', f'-I{root}', f'-isystem{include}', *flags]
    done = subprocess.run(command, input=source, text=True, capture_output=True, check=False)
    return None if done.returncode == 0 else f'with {include}: {", ".join(headers)}:\n{done.stderr}'


def main():
    compiler, root = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
    includes = [root / 'tests/support/ascend/cann']
    if named := os.environ.get('OPDUMP_CANN_INCLUDE'):
        if not (pathlib.Path(named) / 'acl/acl_rt.h').is_file():
            sys.exit(f'OPDUMP_CANN_INCLUDE={named}: there is no acl/acl_rt.h in it')
        includes.append(pathlib.Path(named))
    else:
        print("left out: CANN's own headers, as OPDUMP_CANN_INCLUDE names none")
    faults, count = [], 0
    for include in includes:
        for headers, flags, program in ((CXX_HEADERS, CXX_FLAGS, CXX_PROGRAM), (C_HEADERS, C_FLAGS, C_PROGRAM),
                                        (CXX_BESIDE, CXX_FLAGS, BESIDE_PROGRAM), (C_BESIDE, C_FLAGS, BESIDE_PROGRAM)):
            for order in itertools.permutations(headers):
                count += 1
                faults.append(compile_together(compiler, root, include, order, flags, program))
    faults = [fault for fault in faults if fault]
    print('\n'.join([*faults, f'{count} compilations, {len(faults)} failed']))
    sys.exit(1 if faults else 0)


if __name__ == '__main__':
    main()
