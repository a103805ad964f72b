#ifndef OPDUMP_PSA_SEALER_H
#define OPDUMP_PSA_SEALER_H
/**
 * PsaSealer (psa_sealer.hpp) for programs in C, which compile src/c_api/c_psa_sealer.cpp beside the sources
 * that opdump/opdump.h names. C99 and C++.
 */
#include "opdump/opdump_more.h"

#ifdef __cplusplus
extern "C" {
#endif

size_t opdump_psa_sealer_size(void);

/**
 * Makes `sealer`, of whose `sealer_bytes`, its size, all are filled, seal by PSA Crypto. `memory` belongs to
 * it until its `end`. For one sink. Nothing of PSA Crypto is called before the sink seals.
 */
opdump_status opdump_psa_sealer_create(void* memory, size_t bytes, opdump_sealer* sealer,
                                       size_t sealer_bytes);

#ifdef __cplusplus
}
#endif
#endif
