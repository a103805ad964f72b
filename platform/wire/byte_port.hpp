#pragma once
#include <concepts>
#include <cstddef>

#include "opdump/base/bytes.hpp"

namespace opdump::wire {
inline namespace OPDUMP_NAMESPACE {

/// The two directions of a line. `write` takes all of its bytes: it waits for the line, or drops what nobody
/// takes, as USB does where no cable is; what is dropped can be asked for again. `read` gives what has come
/// in, 0 when that is nothing, and never waits; a port without a way back always gives 0.
template <class T>
concept BytePort = requires(T& port, Bytes from, MutableBytes to) {
  port.write(from);
  { port.read(to) } -> std::convertible_to<std::size_t>;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::wire
