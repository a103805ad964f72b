#include "src/tool/config/plan_source.hpp"

#include <algorithm>
#include <cstdint>

#include "src/card/hexadecimal.hpp"

namespace opdump::tool {
namespace {

constexpr std::size_t kBytesPerLine = 16;

bool starts_c_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool continues_c_name(char c) {
  return starts_c_name(c) || (c >= '0' && c <= '9');
}

std::string upper(std::string_view name) {
  std::string out(name);
  for (char& c : out) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return out;
}

/// Of C23 and C++20. `name`: letters, digits and underscores.
bool is_keyword(std::string_view name) {
  constexpr std::string_view kKeywords =
      " _Alignas _Alignof _Atomic _BitInt _Bool _Complex _Decimal128 _Decimal32 _Decimal64 _Generic "
      "_Imaginary _Noreturn _Static_assert _Thread_local alignas alignof and and_eq asm auto bitand "
      "bitor bool break case catch char char16_t char32_t char8_t class co_await co_return co_yield "
      "compl concept const const_cast consteval constexpr constinit continue decltype default delete "
      "do double dynamic_cast else enum explicit export extern false float for friend goto if inline "
      "int long mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected "
      "public register reinterpret_cast requires restrict return short signed sizeof static "
      "static_assert static_cast struct switch template this thread_local throw true try typedef "
      "typeid typename typeof typeof_unqual union unsigned using virtual void volatile wchar_t while "
      "xor xor_eq ";
  return kKeywords.find(" " + std::string(name) + " ") != kKeywords.npos;
}

}  // namespace

bool is_c_name(std::string_view name) {
  return !name.empty() && starts_c_name(name.front()) &&
         std::all_of(name.begin(), name.end(), continues_c_name) && !is_keyword(name);
}

std::string plan_source(Bytes plan, std::string_view name, std::size_t memory_bytes) {
  const std::string macro = upper(name);
  std::string text =
      "/* Written by opdump compile: include it in one file, and give it to opdump::load_plan. */\n";
  text += "#ifndef " + macro + "_BYTES\n";
  text += "#define " + macro + "_BYTES " + std::to_string(plan.size()) + "u\n";
  text += "/* RAM that load_plan takes for the lists: so much is enough on every machine. */\n";
  text += "#define " + macro + "_MEMORY_BYTES " + std::to_string(memory_bytes) + "u\n";
  text +=
      "#ifdef __cplusplus\nalignas(8)\n#elif defined __STDC_VERSION__ && __STDC_VERSION__ >= 201112L\n"
      "_Alignas(8)\n#endif\n";
  text += "static const unsigned char " + std::string(name) + "[" + macro + "_BYTES] = {";
  for (std::size_t i = 0; i < plan.size(); ++i) {
    text += i % kBytesPerLine == 0 ? "\n    0x" : " 0x";
    text += cards::hexadecimal(plan.subspan(i, 1)) + ',';
  }
  return text + "\n};\n#endif\n";
}

}  // namespace opdump::tool
