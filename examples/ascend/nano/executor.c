/* What CANN's nano executor does with the library libge_dbg.so, in the order in which it does it: this program
   stands for the executor, which is not ours, and board.c for the board. Usage: executor CONFIG STEPS */
#include "board.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

typedef uint32_t (*init_call)(const char* config);
typedef uint32_t (*deinit_call)(void);
typedef void* (*create_call)(void);
typedef uint32_t (*prepare_call)(struct model_load* load, size_t task_bytes, char* name, void* handle);
typedef uint32_t (*start_call)(uint32_t model, char* name, uint64_t* step, void* handle);
typedef void (*handle_call)(void* handle);

static void* found(void* library, const char* name) {
  void* const symbol = dlsym(library, name);
  if (symbol == NULL) fprintf(stderr, "libge_dbg.so has no %s\n", name);
  return symbol;
}

int main(int count, char** words) {
  if (count != 3) return 2;
  char name[] = "net";
  if (board_write_description("dump/net.dbg") != 0) return 1;

  /* aclInit */
  void* const library = dlopen("libge_dbg.so", RTLD_NOW);
  if (library == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  /* POSIX lets a data pointer of dlsym stand for a function. */
  const init_call init = (init_call)(uintptr_t)found(library, "DbgInit");
  const create_call create = (create_call)(uintptr_t)found(library, "DbgCreateModelHandle");
  const prepare_call prepare = (prepare_call)(uintptr_t)found(library, "DbgDumpPreProcess");
  const start_call start = (start_call)(uintptr_t)found(library, "DbgLoadModelPostProcess");
  const handle_call step_done = (handle_call)(uintptr_t)found(library, "DbgStepIdCounterPlus");
  const handle_call release = (handle_call)(uintptr_t)found(library, "DbgFreeLoadDumpInfo");
  const deinit_call deinit = (deinit_call)(uintptr_t)found(library, "DbgDeInit");
  if (!init || !create || !prepare || !start || !step_done || !release || !deinit || init(words[1]) != 0)
    return 1;

  /* aclmdlLoadFromFile */
  struct model_load load = board_load();
  uint64_t step = 0;
  void* const handle = create();
  if (prepare(&load, BOARD_TASK_BYTES, name, handle) != 0 || start(board_model(), name, &step, handle) != 0)
    return 1;

  /* aclmdlExecute */
  for (int i = atoi(words[2]); i > 0; --i) {
    board_run();
    step_done(handle);
  }

  /* aclmdlUnload, aclFinalize */
  release(handle);
  return (int)deinit();
}
