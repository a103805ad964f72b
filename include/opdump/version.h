#ifndef OPDUMP_VERSION_H
#define OPDUMP_VERSION_H
/** The version of these headers, for the preprocessor. A build stops where this is not Meson's. C and C++. */

#define OPDUMP_VERSION_MAJOR 0
#define OPDUMP_VERSION_MINOR 1
#define OPDUMP_VERSION_PATCH 0
#define OPDUMP_VERSION_STRING "0.1.0"

/** Grows with the version: 100 for "0.1.0", 10203 for "1.2.3". */
#define OPDUMP_VERSION_NUMBER \
  (OPDUMP_VERSION_MAJOR * 10000 + OPDUMP_VERSION_MINOR * 100 + OPDUMP_VERSION_PATCH)

#endif
