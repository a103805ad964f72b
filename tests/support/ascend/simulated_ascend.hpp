#pragma once
#include <cstddef>
#include <cstdint>

// What a test may ask of the simulated driver besides the functions of AscendCL that it exports: two devices
// whose memory the CPU cannot touch, with return codes and rules as CANN documents them. All calls are for
// tests; none is counted as a call of the driver.

// Set to 1 for a driver that lacks what it lacks on nano products, or on those with only the runtime.
#ifndef SIMULATED_NANO
#define SIMULATED_NANO 0
#endif
#ifndef SIMULATED_RT
#define SIMULATED_RT 0
#endif

/// How the devices work.
struct SimulatedAscend {
  std::uint64_t ns_per_mib = 0;    ///< time that a copy in the background takes
  std::uint64_t shuffle_seed = 0;  ///< not 0: copies of several streams end in random order
  bool unsupported = false;        ///< the functions that nano products lack say that they are not supported

  /// A board whose CPU is the devices' own: the CPU reads and writes device memory, memory of aclrtMallocHost
  /// begins anywhere, and copies are those between two places of a device, which refuse addresses that are
  /// not multiples of 64.
  bool rc = false;
  bool hides_run_mode = false;  ///< aclrtGetRunMode says that it is not supported

  bool wrong = false;     ///< copies to the host bring other bytes than the device holds
  char hangs[48] = {};    ///< name of a function that never returns; empty: all do
  char crashes[48] = {};  ///< name of one that ends the process
};

/// What happened since `simulated_ascend_reset`, and what nobody has given back.
struct SimulatedAscendCounts {
  std::uint64_t calls = 0;            ///< of AscendCL, those told to fail too
  std::uint64_t background = 0;       ///< copies started in the background
  std::uint64_t background_idle = 0;  ///< of them, started while no other was under way on the device
  std::uint64_t waited_for = 0;       ///< asynchronous calls made synchronous for want of pinned memory
  std::uint64_t most_under_way = 0;   ///< copies at a time
  std::uint64_t busy_ns = 0;          ///< time that the copies took on the link, end to end
  std::uint64_t limits_ms = 0;        ///< of the synchronisations that timed out, in sum
  std::uint64_t streams = 0, pinned = 0, allocations = 0;
};

extern "C" {
/// Forgets all counts and injections. Streams and memory stay.
void simulated_ascend_reset(const SimulatedAscend* how);
void simulated_ascend_count(SimulatedAscendCounts* counts);

/// The call with that number from now on, counted from 0, returns `code` and does nothing else; the largest
/// number: none.
void simulated_ascend_fail_call(std::uint64_t number, int code);

/// Each call of the function with that name returns `code` and does nothing else; null: no function does.
void simulated_ascend_fail_function(const char* name, int code);

/// The copy in the background with that number from now on leaves rubbish and makes the next synchronisation
/// of its stream return `code`.
void simulated_ascend_fail_copy(std::uint64_t number, int code);

/// Holds `count` copies in the background, the first by its number from now on: they stay under way until
/// `simulated_ascend_let_go`.
void simulated_ascend_hold_copies(std::uint64_t number, std::uint64_t count);
void simulated_ascend_let_go();

/// What the next synchronisation of `stream` returns once, as operators that overflow make it.
void simulated_ascend_operator_says(void* stream, int code);

/// Sets the overflow status of a device, as an operator that overflows does.
void simulated_ascend_set_overflow(std::int32_t device);

/// As aclrtSetDevice, aclrtMalloc, aclrtMemcpy to the device and aclrtFree, also on products without them.
int simulated_ascend_use_device(std::int32_t id);
void* simulated_ascend_allocate(std::size_t bytes);
int simulated_ascend_upload(void* to, const void* from, std::size_t bytes);
int simulated_ascend_free(void* memory);

/// Gives back all streams and all memory.
void simulated_ascend_drop_left_over();

/// Makes `run(context)` the next work of a stream, as an operator is. 0, or the driver's code.
int simulated_ascend_launch(void* stream, void (*run)(void* context), void* context);

/// Where what an operator runs reads and writes device memory; null where the device has none.
void* simulated_ascend_own_address(const void* memory, std::size_t bytes);

/// For functions of the driver in other files, which begin with it: counts a call of `name`; not 0: what it
/// has to return. `on_nano`: nano products have it too.
int simulated_ascend_begin_call(const char* name, bool on_nano);
}
