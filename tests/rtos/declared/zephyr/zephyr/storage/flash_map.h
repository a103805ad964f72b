#pragma once
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// What the port for Zephyr calls of the flash map, in our own words. Checked against
// zephyr/storage/flash_map.h of zephyrproject-rtos/zephyr at 00cafda.
struct device;

struct flash_area {
  uint8_t fa_id;
  uint8_t fa_device_id;
  uint16_t pad16;
  off_t fa_off;
  size_t fa_size;
  const struct device* fa_dev;
};

extern "C" {
int flash_area_open(uint8_t id, const struct flash_area** area);
void flash_area_close(const struct flash_area* area);
int flash_area_read(const struct flash_area* area, off_t offset, void* to, size_t bytes);
int flash_area_write(const struct flash_area* area, off_t offset, const void* from, size_t bytes);
int flash_area_erase(const struct flash_area* area, off_t offset, size_t bytes);
uint32_t flash_area_align(const struct flash_area* area);
uint8_t flash_area_erased_val(const struct flash_area* area);
}
