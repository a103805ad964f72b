/* In place of the vendor's profiling, which needs headers and a library of its own. */
#include <stdbool.h>
#include <stdint.h>

uint32_t DbgProfInit(const char* config) { return (void)config, 0; }
uint32_t DbgProfDeInit(void) { return 0; }
uint32_t DbgProfReportDataProcess(uint32_t model, char* name) { return (void)model, (void)name, 0; }
uint32_t DbgNotifySetDevice(uint32_t chip, uint32_t device) { return (void)chip, (void)device, 0; }
bool DbgGetprofEnable(void) { return false; }
