/* The bounded functions that the vendor's C code calls, over those of the C library. */
#pragma once
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef int errno_t;
#define EOK 0
#define SECUREC_MEM_MAX_LEN 0x7fffffffUL

static inline errno_t memcpy_s(void* to, size_t room, const void* from, size_t bytes) {
  if (bytes > room) return ERANGE;
  memcpy(to, from, bytes);
  return EOK;
}

static inline errno_t memmove_s(void* to, size_t room, const void* from, size_t bytes) {
  if (bytes > room) return ERANGE;
  memmove(to, from, bytes);
  return EOK;
}

static inline errno_t memset_s(void* to, size_t room, int value, size_t bytes) {
  if (bytes > room) return ERANGE;
  memset(to, value, bytes);
  return EOK;
}

static inline errno_t strcpy_s(char* to, size_t room, const char* from) {
  return memcpy_s(to, room, from, strlen(from) + 1);
}

static inline int sprintf_s(char* to, size_t room, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int length = vsnprintf(to, room, format, arguments);
  va_end(arguments);
  return length < 0 || (size_t)length >= room ? -1 : length;
}

static inline int vsnprintf_s(char* to, size_t room, size_t most, const char* format, va_list arguments) {
  return vsnprintf(to, most < room ? most + 1 : room, format, arguments);
}
