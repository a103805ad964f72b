"""Makes a source with what a page shows and does: embed_files.py SOURCE FILE... The style sheets, one after the other,
are what `page_style` returns, the scripts what `page_script` does."""
import pathlib
import sys

source, files = pathlib.Path(sys.argv[1]), [pathlib.Path(name) for name in sys.argv[2:]]
lines = ['#include "src/tool/page/page_parts.hpp"', '', 'namespace opdump::tool {', '']
for name, suffix in (('style', '.css'), ('script', '.js')):
    text = ''.join(file.read_text(encoding='utf-8') for file in files if file.suffix == suffix)
    if ')FILE"' in text or '</script' in text or '</style' in text:
        sys.exit(f'the {suffix} files hold what would end them early')
    lines += [f'std::span<const std::string_view> page_{name}() {{', '  static constexpr std::string_view kPieces[] = {']
    lines += [f'      R"FILE({text[i:i + 8000]})FILE",' for i in range(0, len(text), 8000)]
    lines += ['  };', '  return kPieces;', '}', '']
lines.append('}  // namespace opdump::tool')
source.write_text('\n'.join(lines) + '\n', encoding='utf-8')
