/* The vendor's log, which says nothing here. */
#pragma once
enum { DLOG_DEBUG, DLOG_INFO, DLOG_WARN, DLOG_ERROR, DLOG_EVENT, GE = 45 };

static inline void DlogRecord(int module, int level, const char* format, ...) {
  (void)module, (void)level, (void)format;
}
