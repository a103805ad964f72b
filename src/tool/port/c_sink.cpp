#include "src/tool/port/skeleton.hpp"

namespace opdump::tool {

const SkeletonFile c_sink = {"sink.c", R"(/* Where the dump goes: the part of the flash that it may use. */
#include <stdio.h>

#include "port.h"

/* FILL IN 2: the geometry of the flash, and how it is read, programmed, erased and synced. Any status but
 * OPDUMP_OK is a failure. This flash is the file flash.img. */
enum { FLASH_BLOCK_BYTES = 4096, FLASH_BLOCKS = 16, FLASH_PROGRAM_BYTES = 4, FLASH_ERASED = 0xff };

static FILE* new_image(void) {
  FILE* image = fopen("flash.img", "w+b");
  for (long i = 0; image != NULL && i < (long)FLASH_BLOCK_BYTES * FLASH_BLOCKS; ++i)
    fputc(FLASH_ERASED, image);
  return image;
}

static FILE* image_at(uint32_t block, uint32_t offset) {
  static FILE* image;
  if (image == NULL) image = fopen("flash.img", "r+b");
  if (image == NULL) image = new_image();
  return image != NULL && fseek(image, (long)(block * FLASH_BLOCK_BYTES + offset), SEEK_SET) == 0 ? image
                                                                                                  : NULL;
}

static opdump_status flash_read(void* context, uint32_t block, uint32_t offset, void* to, size_t bytes) {
  FILE* image = image_at(block, offset);
  (void)context;
  return image != NULL && fread(to, 1, bytes, image) == bytes ? OPDUMP_OK : OPDUMP_ERR_IO;
}

static opdump_status flash_program(void* context, uint32_t block, uint32_t offset, const void* from,
                                   size_t bytes) {
  FILE* image = image_at(block, offset);
  (void)context;
  return image != NULL && fwrite(from, 1, bytes, image) == bytes ? OPDUMP_OK : OPDUMP_ERR_IO;
}

static opdump_status flash_erase(void* context, uint32_t block) {
  FILE* image = image_at(block, 0);
  (void)context;
  if (image == NULL) return OPDUMP_ERR_IO;
  for (int i = 0; i < FLASH_BLOCK_BYTES; ++i) fputc(FLASH_ERASED, image);
  return ferror(image) == 0 ? OPDUMP_OK : OPDUMP_ERR_IO;
}

static opdump_status flash_sync(void* context) {
  FILE* image = image_at(0, 0);
  (void)context;
  return image != NULL && fflush(image) == 0 ? OPDUMP_OK : OPDUMP_ERR_IO;
}
/* End of 2. */

opdump_flash port_flash(void) {
  const opdump_flash flash = {.struct_bytes = sizeof flash,
                              .block_bytes = FLASH_BLOCK_BYTES,
                              .block_count = FLASH_BLOCKS,
                              .program_bytes = FLASH_PROGRAM_BYTES,
                              .policy = OPDUMP_FLASH_OVERWRITE_OLDEST,
                              .erased = FLASH_ERASED,
                              .prepared_blocks = 1,
                              .read = flash_read,
                              .program = flash_program,
                              .erase = flash_erase,
                              .sync = flash_sync};
  return flash;
}
)"};

}  // namespace opdump::tool
