#pragma once
#include <zephyr/device.h>
#include <zephyr/drivers/uart.h>

#include <cstddef>

#include "opdump/base/bytes.hpp"

namespace opdump::zephyr {
inline namespace OPDUMP_NAMESPACE {

/// The port of a wire (platform/wire) over a UART of Zephyr or its USB-CDC, polled. Nothing else may read
/// from the device. What comes in faster than the sink is served is lost where the driver keeps no more than
/// a byte; it is sent again.
class UartPort {
 public:
  /// `device` is ready, such as `DEVICE_DT_GET(DT_NODELABEL(cdc_acm_uart0))`.
  explicit UartPort(const struct device* device) : device_(device) {}

  void write(Bytes from) {
    for (const std::byte byte : from) uart_poll_out(device_, std::to_integer<unsigned char>(byte));
  }

  std::size_t read(MutableBytes to) {
    std::size_t count = 0;
    for (unsigned char byte = 0; count < to.size() && uart_poll_in(device_, &byte) == 0; ++count)
      to[count] = std::byte{byte};
    return count;
  }

 private:
  const struct device* device_;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::zephyr
