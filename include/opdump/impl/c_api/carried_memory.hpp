#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "opdump/impl/c_api/port_memory.hpp"
#include "opdump/knobs.hpp"
#include "opdump/port/device_memory.hpp"

namespace opdump::c_api {
inline namespace OPDUMP_NAMESPACE {

/// A memory of any type as the functions of an `opdump_memory`, with all that it can do but for maps and the
/// device's own statistics.
class CarriedMemory {
 public:
  CarriedMemory() = default;

  /// Refers to `memory`.
  template <class Memory>
  static CarriedMemory carry(Memory& memory) {
    return carry(std::shared_ptr<Memory>(std::shared_ptr<void>(), &memory));
  }

  template <class Memory>
  static CarriedMemory carry(std::shared_ptr<Memory> memory) {
    CarriedMemory carried;
    carried.carrier_ = std::make_shared<Carrier<Memory>>(std::move(memory));
    carried.port_ = [](void* carrier) { return static_cast<Carrier<Memory>*>(carrier)->port(); };
    carried.abilities_ = abilities_of<Memory>();
    return carried;
  }

  /// With the rules that the memory has now.
  opdump_memory port() const { return port_ == nullptr ? opdump_memory{} : port_(carrier_.get()); }
  const MemoryAbilities& abilities() const { return abilities_; }
  void* context() const { return carrier_.get(); }
  bool is_any() const { return carrier_ != nullptr; }

 private:
  template <class Memory>
  class Carrier {
   public:
    explicit Carrier(std::shared_ptr<Memory> memory) : memory_(std::move(memory)) {}

    opdump_memory port() {
      opdump_memory port = {};
      port.struct_bytes = sizeof port;
      port.context = this;
      port.copy = [](void* self, void* to, std::uint64_t from, std::size_t bytes) {
        return number(of(self).copy(static_cast<std::byte*>(to), from, bytes));
      };
      if constexpr (AsyncMemory<Memory>) {
        port.start = start;
        port.complete = complete;
      }
      if constexpr (FencedMemory<Memory>) {
        port.fence = [](void* self, std::uint32_t stream_id) { return number(of(self).fence(stream_id)); };
      }
      if constexpr (CachedMemory<Memory>) {
        port.will_read = [](void* self, std::uint64_t from, std::uint64_t bytes) {
          of(self).will_read(from, bytes);
        };
      }
      const CopyRules rules = rules_of(*memory_);
      port.alignment = rules.alignment;
      port.whole_units = rules.whole_units ? 1 : 0;
      port.max_bytes = rules.max_bytes;
      return port;
    }

    static Memory& of(void* self) { return *static_cast<Carrier*>(self)->memory_; }

   private:
    /// What may be under way at once, of all recorders.
    static constexpr std::size_t kSlots = OPDUMP_MAX_RECORDERS * PortMemory::kMaxCopies;

    static opdump_status number(Status status) { return static_cast<opdump_status>(status); }

    static opdump_status start(void* self, opdump_copy* copy, void* to, std::uint64_t from,
                               std::size_t bytes) {
      if constexpr (AsyncMemory<Memory>) {
        Carrier& carrier = *static_cast<Carrier*>(self);
        for (std::size_t i = 0; i < kSlots; ++i) {
          // acquire: its last user is done with it; partner: the releases below.
          if (carrier.slots_[i].taken.exchange(true, std::memory_order_acquire)) continue;
          copy->words[0] = i;
          const Status status =
              carrier.memory_->start(carrier.slots_[i].copy, static_cast<std::byte*>(to), from, bytes);
          if (status != Status::ok) carrier.slots_[i].taken.store(false, std::memory_order_release);
          return number(status);
        }
      }
      return number(Status::not_supported);
    }

    static opdump_status complete(void* self, opdump_copy* copy, std::uint32_t limit_ms, int* over) {
      if constexpr (AsyncMemory<Memory>) {
        Carrier& carrier = *static_cast<Carrier*>(self);
        auto& slot = carrier.slots_[copy->words[0]];
        const Result<bool> ended =
            limit_ms == 0 ? carrier.memory_->poll(slot.copy) : carrier.memory_->complete(slot.copy, limit_ms);
        *over = ended.ok() && ended.value() ? 1 : 0;
        if (!ended.ok() || ended.value()) slot.taken.store(false, std::memory_order_release);
        return number(ended.status());
      }
      *over = 1;
      return number(Status::ok);
    }

    struct NoCopy {};
    template <class Of, bool kAsync>
    struct CopyOf {
      using Type = NoCopy;
    };
    template <class Of>
    struct CopyOf<Of, true> {
      using Type = typename Of::Copy;
    };
    struct Slot {
      std::atomic<bool> taken{false};
      typename CopyOf<Memory, AsyncMemory<Memory>>::Type copy{};
    };

    std::shared_ptr<Memory> memory_;
    Slot slots_[AsyncMemory<Memory> ? kSlots : 1];
  };

  template <class Memory>
  static MemoryAbilities abilities_of() {
    MemoryAbilities abilities;
    if constexpr (ViewableMemory<Memory>) {
      abilities.view = [](void* self, Address from, std::uint64_t bytes) {
        return Carrier<Memory>::of(self).view(from, bytes);
      };
    }
    if constexpr (OverflowMemory<Memory>) {
      abilities.overflowed = [](void* self, std::uint32_t stream_id) {
        return Carrier<Memory>::of(self).overflowed(stream_id);
      };
    }
    if constexpr (IdentifiedMemory<Memory>) {
      abilities.device_id = [](void* self) { return Carrier<Memory>::of(self).device_id(); };
    }
    if constexpr (ExplainingMemory<Memory>) {
      abilities.driver_error = [](void* self) { return Carrier<Memory>::of(self).driver_error(); };
    }
    return abilities;
  }

  std::shared_ptr<void> carrier_;  ///< null: plain memory
  opdump_memory (*port_)(void* carrier) = nullptr;
  MemoryAbilities abilities_{};
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::c_api
