#include <new>

#include "platform/flashlog/fed_device.hpp"
#include "src/c_api/handles.hpp"

using namespace opdump;

namespace {

/// A port's flash and watchdog.
struct FedFlash {
  FedFlash(const opdump_flash& from, const opdump_watchdog& watchdog)
      : port(from),
        fed_by(watchdog),
        feeding({.programs = watchdog.every_programs, .reads = watchdog.every_reads}) {}

  const opdump_flash port;
  const opdump_watchdog fed_by;
  flashlog::Feeding feeding;

  static FedFlash& of(void* self) { return *static_cast<FedFlash*>(self); }
  void feed() const { fed_by.feed(fed_by.context); }

  static opdump_status read(void* self, std::uint32_t block, std::uint32_t offset, void* to,
                            std::size_t bytes) {
    if (of(self).feeding.before_read()) of(self).feed();
    return of(self).port.read(of(self).port.context, block, offset, to, bytes);
  }
  static opdump_status program(void* self, std::uint32_t block, std::uint32_t offset, const void* from,
                               std::size_t bytes) {
    if (of(self).feeding.before_program()) of(self).feed();
    return of(self).port.program(of(self).port.context, block, offset, from, bytes);
  }
  static opdump_status erase(void* self, std::uint32_t block) {
    of(self).feed();
    const opdump_status status = of(self).port.erase(of(self).port.context, block);
    of(self).feed();
    return status;
  }
  static opdump_status sync(void* self) {
    of(self).feed();
    const opdump_status status = of(self).port.sync(of(self).port.context);
    of(self).feed();
    return status;
  }
  static void protect(void* self, int on) { of(self).port.protect(of(self).port.context, on); }
};

}  // namespace

extern "C" {

std::size_t opdump_fed_flash_size(void) {
  return c_api::room_for<FedFlash>();
}

opdump_status opdump_fed_flash_create(void* memory, std::size_t bytes, const opdump_flash* from,
                                      const opdump_watchdog* watchdog, opdump_flash* fed,
                                      std::size_t fed_bytes) {
  opdump_flash flash;
  opdump_watchdog dog;
  constexpr std::size_t kLeastBytes = offsetof(opdump_flash, erase_ahead);
  if (fed == nullptr || fed_bytes < kLeastBytes) return OPDUMP_ERR_INVALID_ARGUMENT;
  if (const Status status = c_api::take_struct(from, flash); status != Status::ok) return c_api::to_c(status);
  if (const Status status = c_api::take_struct(watchdog, dog); status != Status::ok)
    return c_api::to_c(status);
  if (dog.feed == nullptr || flash.read == nullptr || flash.program == nullptr || flash.erase == nullptr ||
      flash.sync == nullptr)
    return OPDUMP_ERR_INVALID_ARGUMENT;
  const flashlog::FeedEvery every;
  if (dog.every_programs == 0) dog.every_programs = every.programs;
  if (dog.every_reads == 0) dog.every_reads = every.reads;
  c_api::HandleMemory room(memory, bytes);
  FedFlash* const place = room.take<FedFlash>();
  if (room.full()) return OPDUMP_ERR_NO_MEMORY;
  flash.context = ::new (place) FedFlash(flash, dog);
  flash.read = FedFlash::read;
  flash.program = FedFlash::program;
  flash.erase = FedFlash::erase;
  flash.sync = FedFlash::sync;
  if (flash.protect != nullptr) flash.protect = FedFlash::protect;
  if (fed_bytes < sizeof flash) flash.struct_bytes = fed_bytes;
  return c_api::to_c(c_api::give_struct(flash, fed, fed_bytes));
}

}  // extern "C"
