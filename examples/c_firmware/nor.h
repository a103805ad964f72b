#ifndef NOR_H
#define NOR_H
/* The part of the board's NOR flash that the dump may use. Here it is an array, which a file keeps. */
#include <stddef.h>
#include <stdint.h>

enum { NOR_BLOCK_BYTES = 4096, NOR_BLOCKS = 16, NOR_PROGRAM_BYTES = 4 };

/* Each returns 0, or -1. */
int nor_read(uint32_t block, uint32_t offset, void* to, size_t bytes);
int nor_program(uint32_t block, uint32_t offset, const void* from, size_t bytes);
int nor_erase(uint32_t block);
int nor_save(const char* path);
#endif
