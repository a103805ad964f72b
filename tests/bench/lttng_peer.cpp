#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "lttng_provider.h"

#include <cstddef>

namespace opdump::bench {

void lttng_record(const std::byte* data, std::size_t bytes) {
  lttng_ust_tracepoint(opdump_bench, tensor, reinterpret_cast<const unsigned char*>(data),
                       static_cast<unsigned int>(bytes));
}

}  // namespace opdump::bench
