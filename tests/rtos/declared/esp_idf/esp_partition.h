#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// What the port for ESP-IDF calls of its partitions, in our own words. Checked against esp_partition.h and
// esp_err.h of espressif/esp-idf at 0bec197.
typedef int esp_err_t;
#define ESP_OK 0

typedef struct esp_flash_t esp_flash_t;
typedef enum { ESP_PARTITION_TYPE_APP = 0, ESP_PARTITION_TYPE_DATA = 1 } esp_partition_type_t;
typedef enum { ESP_PARTITION_SUBTYPE_ANY = 0xff } esp_partition_subtype_t;

typedef struct {
  esp_flash_t* flash_chip;
  esp_partition_type_t type;
  esp_partition_subtype_t subtype;
  uint32_t address;
  uint32_t size;
  uint32_t erase_size;
  char label[17];
  bool encrypted;
} esp_partition_t;

extern "C" {
const esp_partition_t* esp_partition_find_first(esp_partition_type_t type, esp_partition_subtype_t subtype,
                                                const char* label);
esp_err_t esp_partition_read(const esp_partition_t* partition, size_t offset, void* to, size_t bytes);
esp_err_t esp_partition_write(const esp_partition_t* partition, size_t offset, const void* from,
                              size_t bytes);
esp_err_t esp_partition_erase_range(const esp_partition_t* partition, size_t offset, size_t bytes);
}
