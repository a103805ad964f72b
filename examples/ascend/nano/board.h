/* A simulated board with one model of three operators: conv, relu and fc. */
#pragma once
#include <stddef.h>
#include <stdint.h>

enum { BOARD_TASKS = 3, BOARD_TASK_BYTES = 32 * BOARD_TASKS };

/* The runtime's rtMdlLoad_t. */
struct model_load {
  uint8_t overflow_en;
  uint16_t total_tasks;
  void* tasks;
  void* code;
  void* parameters;
  void* weights;
  uint8_t weight_prefetch;
};

/* Writes the .dbg file that CANN's converter writes beside the model; not 0: it cannot. */
int board_write_description(const char* path);

/* What the executor hands to the runtime to load the model, and the number that the driver gives it. */
struct model_load board_load(void);
uint32_t board_model(void);

/* Runs the model once: prints what the device part would dump. */
void board_run(void);
