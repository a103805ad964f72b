#pragma once
#include <stdint.h>

// Checked against esp_timer.h of espressif/esp-idf at 0497f18.
extern "C" int64_t esp_timer_get_time(void);
