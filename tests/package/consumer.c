/* A program in C outside opdump. */
#include <opdump/opdump.h>
#include <stdio.h>

int main(void) {
  static const char text[] = "{\"dump\": {\"dump_path\": \".\", \"dump_list\": [{}]}}";
  static unsigned char memory[16384];
  char message[256];
  opdump_config* config = NULL;
  const opdump_status status =
      opdump_config_parse(memory, sizeof memory, text, sizeof text - 1, &config, message, sizeof message);
  if (status != OPDUMP_OK) {
    printf("%s: %s\n", opdump_status_text(status), message);
    return 1;
  }
  printf("opdump %s, C API %u.%u\n", opdump_version(), (unsigned)(opdump_api_version() >> 16),
         (unsigned)(opdump_api_version() & 0xffff));
  return opdump_config_active(config) && opdump_api_version() >> 16 == OPDUMP_API_MAJOR ? 0 : 1;
}
