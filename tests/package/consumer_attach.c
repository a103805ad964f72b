/* A program in C outside opdump: attaches a runtime whose operators become known as they run. */
#include <opdump/attach.h>
#include <stdio.h>

int main(int count, char** arguments) {
  static const float output[] = {1, 2, 3, 4};
  static const int64_t dims[] = {2, 2};
  opdump_attach* dump = NULL;
  opdump_attach_model* model = NULL;
  opdump_attach_model_options options = {0};
  opdump_attach_tensor tensor = {0};
  opdump_counts counts;
  uint32_t op;
  options.struct_bytes = sizeof options;
  options.name = "net";
  options.dynamic = 1;
  tensor.struct_bytes = sizeof tensor;
  tensor.data = output;
  tensor.dtype = OPDUMP_FLOAT32;
  tensor.format = OPDUMP_FORMAT_ND;
  tensor.rank = 2;
  tensor.dims = dims;
  if (count != 2 || opdump_attach_create(NULL, &dump) != OPDUMP_OK) return 2;
  if (opdump_attach_start(dump, arguments[1]) != OPDUMP_OK) return 3;
  if (opdump_attach_model_create(dump, &options, &model) != OPDUMP_OK) return 4;
  if (opdump_attach_begin_step(model, OPDUMP_NEXT_STEP) != OPDUMP_OK) return 5;
  op = opdump_attach_see_op(model, "add", "Add");
  if (op != OPDUMP_NO_OP && opdump_attach_capture(model, op, NULL, 0, &tensor, 1) != OPDUMP_OK) return 6;
  opdump_attach_end_step(model);
  opdump_attach_model_destroy(model);
  if (opdump_attach_stop(dump) != OPDUMP_OK) return 7;
  if (opdump_attach_get_records(dump, &counts, sizeof counts) != OPDUMP_OK) return 8;
  opdump_attach_destroy(dump);
  printf("%u records\n", (unsigned)counts.written);
  return 0;
}
