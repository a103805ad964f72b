#include "nor.h"

#include <stdio.h>
#include <string.h>

static uint8_t cells[NOR_BLOCKS][NOR_BLOCK_BYTES];
static int used[NOR_BLOCKS];

/* An array begins with zeros, and flash with ones. */
static uint8_t* cells_of(uint32_t block) {
  if (!used[block]) {
    used[block] = 1;
    memset(cells[block], 0xff, NOR_BLOCK_BYTES);
  }
  return cells[block];
}

static int is_inside(uint32_t block, uint32_t offset, size_t bytes) {
  return block < NOR_BLOCKS && offset <= NOR_BLOCK_BYTES && bytes <= NOR_BLOCK_BYTES - offset;
}

int nor_read(uint32_t block, uint32_t offset, void* to, size_t bytes) {
  if (!is_inside(block, offset, bytes)) return -1;
  memcpy(to, cells_of(block) + offset, bytes);
  return 0;
}

int nor_program(uint32_t block, uint32_t offset, const void* from, size_t bytes) {
  if (!is_inside(block, offset, bytes)) return -1;
  for (size_t i = 0; i < bytes; ++i) cells_of(block)[offset + i] &= ((const uint8_t*)from)[i];
  return 0;
}

int nor_erase(uint32_t block) {
  if (block >= NOR_BLOCKS) return -1;
  memset(cells_of(block), 0xff, NOR_BLOCK_BYTES);
  return 0;
}

int nor_save(const char* path) {
  FILE* file = fopen(path, "wb");
  int good = file != NULL;
  for (uint32_t block = 0; good && block < NOR_BLOCKS; ++block)
    good = fwrite(cells_of(block), 1, NOR_BLOCK_BYTES, file) == NOR_BLOCK_BYTES;
  return file != NULL && fclose(file) == 0 && good ? 0 : -1;
}
