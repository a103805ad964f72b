/* Runs models on the vendor's executor with a simulated runtime, by a script: executor_run CONFIG COMMAND...

     load:NAME:TASKS   loads a model of that name and so many tasks
     run:I:N           runs the I-th loaded model N times
     unload:I
     end               GeDbgDeInit, then the models that are left, as when a program ends out of order

   Prints what each command returned, and what the runtime was told:

     init CODE    load CODE    run CODE    unload CODE    end CODE
     flag MODEL TASK           the task is marked; MODEL counts the loads
     overflow MODEL            the device looks for overflows
     message load|unload MODEL STEP MODE DATA DIRECTORY BYTES HASH
     dump MODEL STEP TASK      what a device would dump of a run */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acl/acl_rt.h"
#include "framework/executor_c/ge_executor.h"
#include "rt_external_mem.h"
#include "rt_external_model.h"
#include "rt_external_stream.h"

enum { kMostModels = 64, kMostTasks = 64 };

struct model {
  void* tasks;
  int has_message; /* the device part keeps where the message lies */
  const uint64_t* step;
  unsigned char marked[kMostTasks];
};

static struct model models[kMostModels];
static uint32_t model_count;

static struct model* of_tasks(void* tasks) {
  for (uint32_t i = 0; i < model_count; ++i) {
    if (models[i].tasks == tasks) return &models[i];
  }
  models[model_count].tasks = tasks;
  return &models[model_count++];
}

rtError_t rtDumpInit(void) {
  return getenv("FAIL_DUMP_INIT") != NULL ? 507000 : 0;
}
rtError_t rtDumpDeInit(void) {
  return 0;
}

rtError_t rtSetTaskDescDumpFlag(void* tasks, size_t bytes, uint32_t task) {
  struct model* model = of_tasks(tasks);
  if (bytes == 0 || task >= kMostTasks) return 107000;
  model->marked[task] = 1;
  printf("flag %d %u\n", (int)(model - models), task);
  return 0;
}

rtError_t rtNanoModelLoad(rtMdlLoad_t* load, uint32_t* id) {
  *id = (uint32_t)(of_tasks(load->taskDescBaseAddr) - models);
  if (load->overflow_en != 0) printf("overflow %u\n", *id);
  return 0;
}

rtError_t rtNanoModelExecute(rtMdlExecute_t* run) {
  const struct model* model = &models[run->mid];
  for (uint32_t task = 0; task < kMostTasks && model->has_message; ++task) {
    if (model->marked[task]) printf("dump %u %llu %u\n", run->mid, (unsigned long long)*model->step, task);
  }
  return 0;
}

rtError_t rtNanoModelDestroy(uint32_t id) {
  models[id].tasks = NULL;
  return 0;
}

static unsigned long long number(const unsigned char** at, int bytes) {
  unsigned long long value = 0;
  memcpy(&value, *at, (size_t)bytes);
  *at += bytes;
  return value;
}

rtError_t rtMsgSend(uint32_t to, uint32_t from, int32_t timeout, void* message, uint32_t bytes) {
  (void)to, (void)from, (void)timeout;
  if (getenv("FAIL_SEND") != NULL) return 207014;
  unsigned hash = 0;
  for (uint32_t i = 0; i < bytes; ++i) hash = hash * 31 + ((unsigned char*)message)[i];
  const unsigned char* at = (unsigned char*)message + bytes;
  if (number(&at, 4) != 2 || number(&at, 4) != 48) return 1;
  const unsigned long long flag = number(&at, 4);
  const unsigned long long id = number(&at, 4);
  const uint64_t* step = (const uint64_t*)(uintptr_t)number(&at, 8);
  at += 16;
  const unsigned long long mode = number(&at, 4);
  const unsigned long long data = number(&at, 8);
  at += 4;
  if (number(&at, 4) != 3 || flag > 1) return 1;
  const int length = (int)number(&at, 4);
  printf("message %s %llu %llu %llu %llu %.*s %u %08x\n", flag == 1 ? "load" : "unload", id,
         (unsigned long long)*step, mode, data, length, (const char*)at, bytes, hash);
  if (id >= kMostModels) return 1;
  models[id].has_message = flag == 1;
  models[id].step = step;
  return 0;
}

rtError_t rtMemcpy(void* to, uint64_t room, const void* from, uint64_t bytes, int kind) {
  (void)kind;
  if (bytes > room) return 1;
  memcpy(to, from, bytes);
  return 0;
}

rtError_t rtStreamGetSqid(rtStream_t stream, uint32_t* queue) {
  (void)stream;
  *queue = 0;
  return 0;
}

aclError aclrtMalloc(void** memory, size_t bytes, aclrtMemMallocPolicy policy) {
  (void)policy;
  *memory = calloc(1, bytes);
  return 0;
}

aclError aclrtFree(void* memory) {
  free(memory);
  return 0;
}

aclError aclrtGetDevice(int32_t* device) {
  *device = 5;
  return 0;
}

/* A model file with the two partitions that a load needs. */
static void* make_model(const char* name, uint32_t tasks, uint64_t* bytes) {
  const size_t parts = sizeof(ModelDesc) + kMostTasks * 32;
  const size_t head =
      sizeof(ModelFileHeader) + sizeof(ModelPartitionTable) + 2 * sizeof(ModelPartitionMemInfo);
  unsigned char* file = calloc(1, head + parts);
  ModelFileHeader* header = (ModelFileHeader*)file;
  header->magic = MODEL_FILE_MAGIC_NUM;
  header->length = (uint32_t)(head + parts - sizeof(ModelFileHeader));
  strncpy((char*)header->name, name, MODEL_NAME_LENGTH - 1);
  ModelPartitionTable* table = (ModelPartitionTable*)(header + 1);
  table->num = 2;
  table->partition[0].type = PRE_MODEL_DESC;
  table->partition[0].mem_size = sizeof(ModelDesc);
  table->partition[1].type = STATIC_TASK_DESC;
  table->partition[1].mem_offset = sizeof(ModelDesc);
  table->partition[1].mem_size = parts - sizeof(ModelDesc);
  ((ModelDesc*)(file + head))->task_num = tasks;
  *bytes = head + parts;
  return file;
}

static uint32_t loaded[kMostModels];
static int loads;

static Status load(const char* name, uint32_t tasks) {
  ModelData data = {0};
  data.modelData = make_model(name, tasks, &data.modelLen);
  const Status status = GeLoadModelFromData(&loaded[loads++], &data);
  free(data.modelData);
  return status;
}

static Status run(uint32_t model) {
  InputData input = {0};
  OutputData output = {0};
  ExecHandleDesc handle = {0};
  InitVector(&input.blobs, sizeof(DataBlob));
  InitVector(&output.blobs, sizeof(DataBlob));
  const Status status = ExecModel(model, &handle, true, &input, &output);
  free(output.io_addr);
  free(output.io_addr_host);
  return status;
}

int main(int count, char** words) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  if (count < 2) return 2;
  printf("init %u\n", GeDbgInit(words[1]));
  printf("device %u\n", GeNofifySetDevice(0, 5));
  if (GeInitialize() != 0) return 2;
  int ended = 0;
  for (int i = 2; i < count; ++i) {
    char name[MODEL_NAME_LENGTH + 64];
    int model = 0;
    int number = 0;
    if (sscanf(words[i], "load:%63[^:]:%d", name, &number) == 2) {
      printf("load %u\n", load(name, (uint32_t)number));
    } else if (sscanf(words[i], "run:%d:%d", &model, &number) == 2) {
      Status status = 0;
      while (number-- > 0 && status == 0) status = run(loaded[model]);
      printf("run %u\n", status);
    } else if (sscanf(words[i], "unload:%d", &model) == 1) {
      printf("unload %u\n", UnloadModel(loaded[model]));
    } else if (strcmp(words[i], "end") == 0) {
      ended = 1;
      printf("end %u\n", GeDbgDeInit());
    } else {
      return 2;
    }
  }
  printf("finalize %u\n", GeFinalize());
  if (!ended) printf("end %u\n", GeDbgDeInit());
  return 0;
}
