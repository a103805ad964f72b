#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER opdump_bench

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "./lttng_provider.h"

#if !defined(OPDUMP_BENCH_LTTNG_PROVIDER_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define OPDUMP_BENCH_LTTNG_PROVIDER_H

#include <lttng/tracepoint.h>

LTTNG_UST_TRACEPOINT_EVENT(opdump_bench, tensor,
                           LTTNG_UST_TP_ARGS(const unsigned char*, data, unsigned int, bytes),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_sequence(unsigned char, data, data,
                                                                        unsigned int, bytes)))

#endif

#include <lttng/tracepoint-event.h>
