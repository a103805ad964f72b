#include "platform/flashlog/flash_log.hpp"

#include "src/c_api/handles.hpp"

using namespace opdump;
using flashlog::FlashLog;

namespace {

constexpr std::uint32_t kDefaultPageBytes = 256;

/// The port's functions, called as those of a `flashlog::Device`.
struct PortFlash {
  explicit PortFlash(const opdump_flash& from) { copy_object(port, from); }

  opdump_flash port;

  static const opdump_flash& of(void* self) { return static_cast<const PortFlash*>(self)->port; }

  static Status read(void* self, std::uint32_t block, std::uint32_t offset, MutableBytes to) {
    return c_api::from_c(of(self).read(of(self).context, block, offset, to.data(), to.size()),
                         Status::io_error);
  }
  static Status program(void* self, std::uint32_t block, std::uint32_t offset, Bytes from) {
    return c_api::from_c(of(self).program(of(self).context, block, offset, from.data(), from.size()),
                         Status::io_error);
  }
  static Status erase(void* self, std::uint32_t block) {
    return c_api::from_c(of(self).erase(of(self).context, block), Status::io_error);
  }
  static Status sync(void* self) { return c_api::from_c(of(self).sync(of(self).context), Status::io_error); }
  static void protect(void* self, bool on) { of(self).protect(of(self).context, on ? 1 : 0); }

  flashlog::Device device() {
    return {.geometry = {.block_bytes = port.block_bytes,
                         .block_count = port.block_count,
                         .program_bytes = port.program_bytes,
                         .erased = std::byte{port.erased},
                         .bits_only_clear = port.bits_only_clear != 0},
            .context = this,
            .read = read,
            .program = program,
            .erase = erase,
            .sync = sync,
            .protect = port.protect == nullptr ? nullptr : protect};
  }

  flashlog::Options options() const {
    // C has them the other way round.
    static_assert(OPDUMP_FLASH_STOP_WHEN_FULL == 1 - static_cast<int>(flashlog::Policy::stop_when_full) &&
                  OPDUMP_FLASH_OVERWRITE_OLDEST == 1 - static_cast<int>(flashlog::Policy::overwrite_oldest));
    return {.policy = static_cast<flashlog::Policy>(1 - port.policy),
            .verify = port.verify != 0,
            .prepared_blocks = port.prepared_blocks,
            .erase_budget = port.erase_ahead != 0    ? 0
                            : port.erase_budget == 0 ? UINT32_MAX
                                                     : port.erase_budget};
  }
};

struct PortFlashLog {
  PortFlash flash;
  flashlog::Device device;
  FlashLog log;
  opdump_sink handle;

  PortFlashLog(const opdump_flash& port, MutableBytes page)
      : flash(port),
        device(flash.device()),
        log(device, page, flash.options()),
        handle{.sink = log, .is_flash_log = true, .follow = &PortFlashLog::follow} {}

  static Status follow(opdump_sink* handle, const DumpOptions& options, JournalDetail journal) {
    return static_cast<FlashLog&>(handle->sink).follow(options, journal);
  }
};

/// Null for a sink of another kind.
FlashLog* log_of(opdump_sink* sink) {
  return sink != nullptr && sink->is_flash_log ? static_cast<FlashLog*>(&sink->sink) : nullptr;
}

opdump_status tell(const Result<bool>& again, int* more) {
  if (more != nullptr) *more = again.ok() && again.value() ? 1 : 0;
  return c_api::to_c(again.status());
}

Status take_flash(const opdump_flash* from, opdump_flash& flash) {
  const Status status = c_api::take_struct(from, flash);
  if (status != Status::ok) return status;
  if (flash.read == nullptr || flash.program == nullptr || flash.erase == nullptr || flash.sync == nullptr ||
      flash.policy > OPDUMP_FLASH_STOP_WHEN_FULL || flash.erase_ahead > 1)
    return Status::invalid_argument;
  if (flash.page_bytes == 0) flash.page_bytes = kDefaultPageBytes;
  return Status::ok;
}

}  // namespace

extern "C" {

std::size_t opdump_flash_log_size(const opdump_flash* from) {
  static_assert(!c_api::kBounded ||
                c_api::room_for<PortFlashLog>() + FlashLog::kPrefixBytes <= OPDUMP_FLASH_LOG_BYTES(0));
  opdump_flash flash;
  if (take_flash(from, flash) != Status::ok) return 0;
  return c_api::room_for<PortFlashLog>() + FlashLog::kPrefixBytes + flash.page_bytes;
}

opdump_status opdump_flash_log_create(void* memory, std::size_t bytes, const opdump_flash* from,
                                      opdump_sink** sink) {
  if (sink == nullptr) return OPDUMP_ERR_INVALID_ARGUMENT;
  *sink = nullptr;
  opdump_flash flash;
  if (const Status status = take_flash(from, flash); status != Status::ok) return c_api::to_c(status);
  const std::size_t page_bytes = FlashLog::kPrefixBytes + std::size_t{flash.page_bytes};
  c_api::HandleMemory room(memory, bytes);
  PortFlashLog* const place = room.take<PortFlashLog>();
  std::byte* const page = room.bytes(page_bytes);
  if (room.full()) return OPDUMP_ERR_NO_MEMORY;
  PortFlashLog* const made = ::new (place) PortFlashLog(flash, {page, page_bytes});
  const Status status = made->log.mount();
  if (status == Status::ok) *sink = &made->handle;
  return c_api::to_c(status);
}

opdump_status opdump_flash_log_prepare(opdump_sink* sink, int* more) {
  FlashLog* const log = log_of(sink);
  return log == nullptr ? c_api::kInvalidArgument : tell(log->prepare(), more);
}

opdump_status opdump_flash_log_erase_ahead(opdump_sink* sink, int* more) {
  FlashLog* const log = log_of(sink);
  return log == nullptr ? c_api::kInvalidArgument : tell(log->erase_ahead(), more);
}

std::uint32_t opdump_flash_log_ready_bytes(opdump_sink* sink) {
  const FlashLog* const log = log_of(sink);
  return log == nullptr ? 0 : log->ready_bytes();
}

opdump_status opdump_flash_log_boot(opdump_sink* sink, std::uint32_t* boot) {
  FlashLog* const log = log_of(sink);
  if (log == nullptr || boot == nullptr) return OPDUMP_ERR_INVALID_ARGUMENT;
  *boot = log->boot();
  return OPDUMP_OK;
}

opdump_status opdump_flash_log_emergency(opdump_sink* sink) {
  FlashLog* const log = log_of(sink);
  return log == nullptr ? c_api::kInvalidArgument : c_api::to_c(log->emergency());
}

}  // extern "C"
