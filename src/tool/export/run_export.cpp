#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

#include "src/tool/cli/exit_code.hpp"
#include "src/tool/cli/interrupt.hpp"
#include "src/tool/cli/messages.hpp"
#include "src/tool/cli/new_directory.hpp"
#include "src/tool/export/export.hpp"
#include "src/tool/export/model_explorer.hpp"
#include "src/tool/flash/extracted_image.hpp"

namespace opdump::tool {
namespace {

constexpr std::pair<std::string_view, void (*)(Export&)> kExporters[] = {
    {"msprobe", export_msprobe},
    {"safetensors", export_safetensors},
    {"polygraphy", export_polygraphy},
    {"onnx-tensors", export_onnx_tensors},
};
constexpr std::string_view kModelExplorer = "model-explorer";

}  // namespace

bool is_export_format(std::string_view format) {
  return format == kModelExplorer || std::any_of(std::begin(kExporters), std::end(kExporters),
                                                 [&](const auto& known) { return known.first == format; });
}

int run_export(std::string_view format, const ExportSettings& settings) {
  const auto tell = [&settings](const std::string& message) {
    say("opdump " + settings.command + ": " + message);
  };
  if (const std::string taken =
          occupied(settings.output, settings.overwrite, "'--overwrite' replaces files of the same name");
      !taken.empty()) {
    tell(taken);
    return kExitFailed;
  }
  RunFile card;
  if (settings.card && !load_or_say(*settings.card, card)) return kExitFailed;
  const CardedOps carded(card);
  const CardedOps* const chosen = settings.card ? &carded : nullptr;
  bool good = true;
  const SearchReport search = {.error =
                                   [&](const std::string& message) {
                                     tell(message);
                                     good = false;
                                   },
                               .note = tell};
  ExtractedImage image;
  DumpSide side = read_side(image.open(settings.dump, search), search);
  if (side.tensors.empty()) {
    search.error(settings.dump + ": there is no tensor");
    return kExitFailed;
  }
  if (format == kModelExplorer) {
    ExtractedImage golden_image;
    std::optional<DumpSide> golden;
    if (settings.golden) {
      golden = read_side(golden_image.open(*settings.golden, search), search);
      if (golden->tensors.empty()) {
        search.error(*settings.golden + ": there is no tensor to compare with");
        return kExitFailed;
      }
    }
    good &= write_model_explorer(
        {.mine = std::move(side), .golden = std::move(golden), .card = chosen, .directory = settings.output},
        search);
  } else {
    const ExportedDump dump = exported(std::move(side));
    Export out(settings, dump, chosen);
    for (const auto& [name, write] : kExporters) {
      if (name == format) write(out);
    }
    good &= out.finish();
  }
  if (interrupted()) die_of_interrupt();
  return good ? kExitOk : kExitFailed;
}

}  // namespace opdump::tool
