#include "opdump/opdump.h"
#include "src/c_api/handles.hpp"

#if OPDUMP_FAULTS == 2
#include "opdump/impl/stats/non_finite.hpp"

using namespace opdump;
using c_api::to_c;

namespace {

std::size_t watch_room(const opdump_faults_options& options) {
  if (options.watched_ops == 0) return 0;
  return watch_bytes(options.watched_ops, 2 * c_api::name_room(options.name_bytes));
}

opdump_faults_options without_memory(opdump_faults_options options) {
  options.memory = nullptr;
  return options;
}

}  // namespace

opdump_faults::opdump_faults(const opdump_memory& port, const opdump_faults_options& from, MutableBytes watch)
    : options(without_memory(from)),
      memory(port, options),
      overflow(memory, non_finite_kernel()),
      watch_memory(watch) {}

void c_api::add_faults(opdump_faults& faults, SessionParts<PortMemory>& parts) {
  parts.overflow = &faults.overflow;
  parts.watch_memory = faults.watch_memory;
  parts.watch_listener = &faults;
}

void opdump_faults::overwritten(const Overwrite& overwrite) {
  if (options.overwritten == nullptr) return;
  const opdump_overwrite told = {.struct_bytes = sizeof told,
                                 .step = overwrite.step,
                                 .first_byte = overwrite.first,
                                 .last_byte = overwrite.last,
                                 .by = overwrite.by.data(),
                                 .watched = overwrite.watched.data(),
                                 .by_bytes = static_cast<std::uint32_t>(overwrite.by.size()),
                                 .watched_bytes = static_cast<std::uint32_t>(overwrite.watched.size()),
                                 .output = overwrite.output};
  options.overwritten(options.context, &told);
}

extern "C" {

std::size_t opdump_faults_size(const opdump_faults_options* from) {
  opdump_faults_options options;
  if (c_api::take_struct(from, options) != Status::ok) return 0;
  const std::size_t watch = watch_room(options);
  return c_api::room_for<opdump_faults>() + (watch == 0 ? 0 : c_api::room_for<std::uint64_t>() + watch);
}

opdump_status opdump_faults_create(void* at, std::size_t bytes, const opdump_faults_options* from,
                                   opdump_faults** faults) {
  if (faults == nullptr) return OPDUMP_ERR_INVALID_ARGUMENT;
  *faults = nullptr;
  opdump_faults_options options;
  opdump_memory port;
  Status status = c_api::take_struct(from, options);
  if (status == Status::ok) status = c_api::take_memory(options.memory, port);
  if (status != Status::ok) return to_c(status);
  c_api::HandleMemory room(at, bytes);
  opdump_faults* const place = room.take<opdump_faults>();
  const std::size_t watch = watch_room(options);
  std::byte* const watched = watch == 0 ? nullptr : room.bytes(watch, alignof(std::uint64_t));
  if (room.full()) return OPDUMP_ERR_NO_MEMORY;
  *faults = ::new (place) opdump_faults(port, options, {watched, watch});
  return OPDUMP_OK;
}

}  // extern "C"
#else
extern "C" {

std::size_t opdump_faults_size(const opdump_faults_options*) {
  return 1;
}

opdump_status opdump_faults_create(void*, std::size_t, const opdump_faults_options*, opdump_faults** faults) {
  if (faults == nullptr) return OPDUMP_ERR_INVALID_ARGUMENT;
  *faults = nullptr;
  return OPDUMP_ERR_NOT_SUPPORTED;
}

}  // extern "C"
#endif
