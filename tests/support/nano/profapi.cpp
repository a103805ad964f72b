// In place of CANN's libprofapi.so: says what it is told, and asks for the time of tasks.
#include <cstdint>
#include <cstdio>
#include <cstring>

extern "C" {

std::int32_t (*command)(std::uint32_t type, void* data, std::uint32_t bytes) = nullptr;

std::int32_t MsprofRegisterCallback(std::uint32_t module, decltype(command) callback) {
  std::printf("register %u\n", module);
  command = callback;
  return 0;
}

std::int32_t MsprofInit(std::uint32_t type, void* data, std::uint32_t bytes) {
  std::printf("init %u %.*s\n", type, static_cast<int>(bytes), static_cast<const char*>(data));
  std::uint64_t asked[600] = {0x800};
  return command(1, asked, sizeof asked);
}

std::uint64_t MsprofGetHashId(const char* text, std::size_t bytes) {
  return std::strlen(text) == bytes ? bytes : 0;
}

std::uint64_t MsprofSysCycleTime() {
  return 77;
}

std::int32_t MsprofReportAdditionalInfo(std::uint32_t, const void* data, std::uint32_t bytes) {
  std::uint16_t words[2];
  std::uint32_t numbers[3];
  std::uint64_t longs[3];
  const char* const at = static_cast<const char*>(data);
  std::memcpy(words, at, sizeof words);
  std::memcpy(numbers, at + 4, sizeof numbers);
  std::memcpy(longs, at + 16, sizeof longs);
  std::printf("report %u: %x %u %u %u time %llu model %llu hash %llu\n", bytes, words[0], words[1],
              numbers[0], numbers[2], static_cast<unsigned long long>(longs[0]),
              static_cast<unsigned long long>(longs[1]), static_cast<unsigned long long>(longs[2]));
  return 0;
}

std::int32_t MsprofNotifySetDevice(std::uint32_t chip, std::uint32_t device, bool open) {
  std::printf("device %u %u %d\n", chip, device, open);
  return 0;
}

std::int32_t MsprofFinalize() {
  std::printf("finalize\n");
  std::fflush(stdout);
  return 0;
}
}
