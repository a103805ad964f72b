#pragma once
#include <link.h>

#include <cstddef>
#include <span>
#include <string_view>

#include "opdump/parts/build_id.hpp"

namespace opdump::posix {
inline namespace OPDUMP_NAMESPACE {

/// The GNU build-id of the running program, not of a library, in hexadecimal digits in `text`: what `readelf
/// -n` says of its file. Empty when it was linked without one (`-Wl,--build-id`). Any thread. Only on systems
/// with ELF.
inline std::string_view program_build_id(std::span<char, kMostBuildIdDigits> text) {
  struct Search {
    std::span<char, kMostBuildIdDigits> text;
    std::string_view found;
  } search = {text, {}};
  // The program comes first.
  dl_iterate_phdr(
      [](dl_phdr_info* object, std::size_t, void* to) {
        Search& here = *static_cast<Search*>(to);
        for (std::size_t i = 0; i < object->dlpi_phnum && here.found.empty(); ++i) {
          const auto& part = object->dlpi_phdr[i];
          if (part.p_type != PT_NOTE) continue;
          const auto* const at = reinterpret_cast<const std::byte*>(object->dlpi_addr + part.p_vaddr);
          here.found = build_id_in({at, part.p_memsz}, here.text);
        }
        return 1;
      },
      &search);
  return search.found;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::posix
