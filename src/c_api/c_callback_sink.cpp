#include "opdump/parts/callback_sink.hpp"

#include "opdump/port/sink.hpp"
#include "src/c_api/handles.hpp"

using namespace opdump;

namespace {

struct PortSink {
  opdump_take_piece take_piece;
  void* context;
  CallbackSink sink;
  opdump_sink handle;

  PortSink(opdump_take_piece take, void* to, MutableBytes paths)
      : take_piece(take), context(to), sink(&PortSink::take, this, paths), handle{sink} {}

  static Status take(void* self, const SinkPiece& piece) {
    const PortSink& port = *static_cast<const PortSink*>(self);
    const opdump_piece in_c = {.struct_bytes = sizeof in_c,
                               .kind = static_cast<std::int32_t>(piece.kind),
                               .path_bytes = static_cast<std::uint32_t>(piece.path.size()),
                               .path = piece.path.data(),
                               .data = piece.bytes.data(),
                               .data_bytes = piece.bytes.size()};
    return c_api::from_c(port.take_piece(port.context, &in_c), Status::io_error);
  }
};

constexpr std::size_t paths_bytes(std::size_t path_bytes) {
  return (CallbackSink::kMaxOpenObjects + 1) * path_bytes;
}

static_assert(OPDUMP_PIECE_DATA == static_cast<int>(SinkPiece::Kind::data));
static_assert(OPDUMP_PIECE_COMMITTED == static_cast<int>(SinkPiece::Kind::committed));
static_assert(OPDUMP_PIECE_ABORTED == static_cast<int>(SinkPiece::Kind::aborted));
static_assert(OPDUMP_PIECE_JOURNAL == static_cast<int>(SinkPiece::Kind::journal));

}  // namespace

extern "C" {

std::size_t opdump_callback_sink_size(std::size_t path_bytes) {
  static_assert(!c_api::kBounded ||
                c_api::room_for<PortSink>() + paths_bytes(99) <= OPDUMP_CALLBACK_SINK_BYTES(99));
  return c_api::room_for<PortSink>() + paths_bytes(path_bytes);
}

opdump_status opdump_callback_sink_create(void* memory, std::size_t bytes, std::size_t path_bytes,
                                          opdump_take_piece take, void* context, opdump_sink** sink) {
  if (sink == nullptr) return OPDUMP_ERR_INVALID_ARGUMENT;
  *sink = nullptr;
  if (take == nullptr || path_bytes == 0) return OPDUMP_ERR_INVALID_ARGUMENT;
  c_api::HandleMemory room(memory, bytes);
  PortSink* const place = room.take<PortSink>();
  std::byte* const paths = room.bytes(paths_bytes(path_bytes));
  if (room.full()) return OPDUMP_ERR_NO_MEMORY;
  PortSink* const made = ::new (place) PortSink(take, context, {paths, paths_bytes(path_bytes)});
  *sink = &made->handle;
  return OPDUMP_OK;
}

void opdump_sink_destroy(opdump_sink* sink) {
  if (sink != nullptr && sink->destroy != nullptr) sink->destroy(sink);
}

opdump_status opdump_sink_sync(opdump_sink* sink) {
  return sink == nullptr ? opdump::c_api::kInvalidArgument : opdump::c_api::to_c(sink->sink.sync());
}

}  // extern "C"
