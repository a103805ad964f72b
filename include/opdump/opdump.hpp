#pragma once
/// The table of contents: what a program or a port may include, in the order in which one reads it. Each header may
/// be included alone. Not in this table are opdump/boot.hpp for firmware, opdump/config/ with the readers of configs,
/// opdump/opdump.h for C and opdump/acl.hpp for CANN. Every switch of a build is in opdump/knobs.hpp. Of base/,
/// status, bytes and arena are for users. Nothing of impl/ is: its rooms follow a tensor's way, plan, capture,
/// record, drain; lean has the code that a small build takes in the place of other code. What the files of a dump hold,
/// byte by byte, is in format/.

// What one calls.
#include "opdump/recorder.hpp"  // captures operators as they run
#include "opdump/ring.hpp"      // takes records from a recorder to the drainer
#include "opdump/session.hpp"   // a dump: its parts, configs, models, recorders, draining, memory

// The words.
#include "opdump/types/account.hpp"  // what a journal tells: what was never captured, what a dump comes from
#include "opdump/types/clock_step.hpp"    // a clock that came to know the calendar
#include "opdump/types/config.hpp"        // what a config asks for
#include "opdump/types/counts.hpp"        // what was captured, and what was lost to which cause
#include "opdump/types/dtype.hpp"         // of elements
#include "opdump/types/format.hpp"        // how a tensor lies in memory
#include "opdump/types/model.hpp"         // operators and models, as the runtime describes them
#include "opdump/types/name_pattern.hpp"  // which names a config means
#include "opdump/types/overflow.hpp"      // reports of operators that overflowed
#include "opdump/types/plan.hpp"          // a config resolved against one model
#include "opdump/types/privacy.hpp"       // what of tensors may be in a dump
#include "opdump/types/tensor.hpp"        // a tensor where it lies
#include "opdump/types/trigger.hpp"       // when a history is written
#include "opdump/types/watch.hpp"         // who overwrites whose output

// What a platform supplies.
#include "opdump/port/buffer_table.hpp"   // host memory of buffers that a driver has handed out
#include "opdump/port/clock.hpp"          // the time
#include "opdump/port/device_copy.hpp"    // elements out of the device, and out of its formats
#include "opdump/port/device_memory.hpp"  // copies from the device
#include "opdump/port/listeners.hpp"      // is told of configs, models and overwrites
#include "opdump/port/sealer.hpp"         // encrypts chunks of a dump
#include "opdump/port/sink.hpp"           // where a dump goes
#include "opdump/port/waker.hpp"          // sleeps until a ring fills
#include "opdump/port/watchdog.hpp"       // is fed while a long operation goes on

// Parts that a session may be given.
#include "opdump/parts/all.hpp"              // every part that a config may ask for
#include "opdump/parts/build_id.hpp"         // of the program, for a dump's provenance
#include "opdump/parts/callback_sink.hpp"    // a sink that calls a function
#include "opdump/parts/config_digest.hpp"    // the same of the config
#include "opdump/parts/digests.hpp"          // digests in the place of tensors
#include "opdump/parts/forecast.hpp"         // how large a dump will be
#include "opdump/parts/format_restorer.hpp"  // tensors as the framework has them
#include "opdump/parts/history_sink.hpp"     // the last steps, kept until something happens
#include "opdump/parts/npy.hpp"              // files of NumPy
#include "opdump/parts/overflow_scan.hpp"    // finds the operators that overflow
#include "opdump/parts/privacy.hpp"          // what is kept of tensors that must not be in a dump
#include "opdump/parts/protobuf.hpp"         // files of CANN's servers
#include "opdump/parts/sealed_sink.hpp"      // seals a dump before it reaches its sink
#include "opdump/parts/settable_clock.hpp"   // a clock that learns the calendar's time late
#include "opdump/parts/statistics.hpp"       // statistics in the place of tensors
#include "opdump/parts/survivors.hpp"        // records that have survived a reset
#include "opdump/parts/text_log.hpp"         // a session's log as lines of text
#include "opdump/parts/trigger_sink.hpp"     // when a history is written: limits, and what the journal tells
#include "opdump/parts/triggers.hpp"         // looks at tensors and steps, for triggers

// From a dump to tensors.
#include "opdump/read/nano_reader.hpp"
#include "opdump/read/proto_reader.hpp"
#include "opdump/read/record_tensor.hpp"
