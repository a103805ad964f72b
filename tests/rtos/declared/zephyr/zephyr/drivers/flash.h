#pragma once
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// What the port for Zephyr calls of its flash drivers, in our own words. Checked against
// zephyr/drivers/flash.h of zephyrproject-rtos/zephyr.
struct device;

struct flash_pages_info {
  off_t start_offset;
  size_t size;
  uint32_t index;
};

extern "C" {
int flash_get_page_info_by_offs(const struct device* device, off_t offset, struct flash_pages_info* info);
}
