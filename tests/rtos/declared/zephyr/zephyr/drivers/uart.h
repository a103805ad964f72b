#pragma once

// What the port for Zephyr calls of its drivers of UARTs, in our own words. Checked against
// zephyr/drivers/uart.h of zephyrproject-rtos/zephyr.
struct device;

extern "C" {
/// Waits for room.
void uart_poll_out(const struct device* device, unsigned char byte);
/// 0 with a byte, -1 when nothing has come, else another error.
int uart_poll_in(const struct device* device, unsigned char* byte);
}
