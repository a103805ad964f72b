// Runs a fuzz target over the files it is given, and over each of them cut off at every byte and with every
// bit flipped, or in a quick run at every third, where there is no libFuzzer to do more: TARGET DIRECTORY...
#include <dirent.h>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/effort.hpp"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size);

namespace {

/// A buffer of exactly the size, so that a sanitizer sees what reads past it.
void run(const std::vector<unsigned char>& bytes) {
  const std::unique_ptr<unsigned char[]> exact(new unsigned char[bytes.size()]);
  for (std::size_t i = 0; i < bytes.size(); ++i) exact[i] = bytes[i];
  LLVMFuzzerTestOneInput(exact.get(), bytes.size());
}

bool read(const std::string& path, std::vector<unsigned char>& bytes) {
  std::FILE* const file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) return false;
  for (int c = std::getc(file); c != EOF; c = std::getc(file)) bytes.push_back(static_cast<unsigned char>(c));
  return std::fclose(file) == 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t files = 0;
  for (int i = 1; i < argc; ++i) {
    DIR* const directory = opendir(argv[i]);
    if (directory == nullptr) {
      std::perror(argv[i]);
      return 1;
    }
    while (const dirent* entry = readdir(directory)) {
      if (entry->d_name[0] == '.') continue;
      std::vector<unsigned char> bytes;
      if (!read(std::string(argv[i]) + '/' + entry->d_name, bytes)) {
        std::perror(entry->d_name);
        return 1;
      }
      ++files;
      run(bytes);
      constexpr std::size_t kStep = OPDUMP_TEST_SHARE > 1 ? 3 : 1;
      for (std::size_t size = 0; size < bytes.size(); size += kStep) {
        run({bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)});
        for (int bit = 0; bit < 8; ++bit) {
          std::vector<unsigned char> flipped = bytes;
          flipped[size] ^= static_cast<unsigned char>(1 << bit);
          run(flipped);
        }
      }
    }
    closedir(directory);
  }
  std::printf("%zu files, each cut and flipped\n", files);
  return files == 0 ? 1 : 0;
}
