#include "opdump/port/sink.hpp"

#include "src/c_api/handles.hpp"

extern "C" {

void opdump_sink_destroy(opdump_sink* sink) {
  if (sink != nullptr && sink->destroy != nullptr) sink->destroy(sink);
}

opdump_status opdump_sink_sync(opdump_sink* sink) {
  return sink == nullptr ? opdump::c_api::kInvalidArgument : opdump::c_api::to_c(sink->sink.sync());
}

}  // extern "C"
