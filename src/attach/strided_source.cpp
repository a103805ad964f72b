#include "src/attach/strided_source.hpp"

#include <algorithm>
#include <limits>

#include "opdump/impl/c_api/port_memory.hpp"

namespace opdump::attaching {
inline namespace OPDUMP_NAMESPACE {

Status StridedSource::copy(std::byte* to, std::uint64_t offset, std::size_t count) const {
  while (count != 0) {
    std::uint64_t run = offset / run_bytes;
    const std::uint64_t within = offset % run_bytes;
    std::int64_t at = static_cast<std::int64_t>(within);
    for (std::size_t i = dims.size(); i-- != 0; run /= dims[i])
      at += strides[i] * static_cast<std::int64_t>(run % dims[i]);
    const std::size_t part = static_cast<std::size_t>(std::min<std::uint64_t>(run_bytes - within, count));
    Status status = Status::ok;
    if (read != nullptr) {
      status =
          c_api::from_c(read(context, to, static_cast<std::uint64_t>(at), part), Status::device_copy_failed);
    } else {
      status = data == nullptr ? Status::device_copy_failed : copy_plain(to, address_of(data + at), part);
    }
    if (status != Status::ok) return status;
    to += part;
    offset += part;
    count -= part;
  }
  return Status::ok;
}

Status set_runs(StridedSource& source, std::uint64_t element_bytes, std::span<const Dim> dims,
                std::span<const std::int64_t> strides, std::uint64_t readable) {
  std::size_t outer = dims.size();
  source.run_bytes = element_bytes;
  const auto is_dense = [&](std::size_t i) {
    return dims[i] == 1 || strides[i] == static_cast<std::int64_t>(source.run_bytes);
  };
  for (; outer != 0 && is_dense(outer - 1); --outer) source.run_bytes *= dims[outer - 1];
  source.dims = dims.first(outer);
  source.strides = strides.first(outer);
  std::int64_t last = 0;
  for (std::size_t i = 0; i < outer; ++i) {
    std::int64_t reach = 0;
    if (dims[i] > static_cast<Dim>(std::numeric_limits<std::int64_t>::max()) ||
        __builtin_mul_overflow(static_cast<std::int64_t>(dims[i] - 1), strides[i], &reach) ||
        __builtin_add_overflow(last, std::max<std::int64_t>(reach, 0), &last) ||
        (reach < 0 && source.read != nullptr) || (reach < 0 && readable != 0))
      return Status::invalid_tensor;
  }
  const std::uint64_t room = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max() - last);
  if (source.run_bytes > room) return Status::invalid_tensor;
  const std::uint64_t end = static_cast<std::uint64_t>(last) + source.run_bytes;
  return readable != 0 && end > readable ? Status::invalid_tensor : Status::ok;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::attaching
