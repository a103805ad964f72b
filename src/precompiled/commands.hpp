#ifndef OPDUMP_PRECOMPILED_COMMANDS_HPP
#define OPDUMP_PRECOMPILED_COMMANDS_HPP
// What most sources of the judge, of the page and of the commands include, as read.hpp.
#include "src/precompiled/read.hpp"
#include "src/tool/cli/commands.hpp"
#include "src/tool/cli/exit_code.hpp"
#include "src/tool/cli/json.hpp"
#include "src/tool/cli/options.hpp"
#include "src/tool/judge/compare/compare_side.hpp"
#include "src/tool/judge/compare/name_pairing.hpp"
#include "src/tool/judge/compare/pair_detail.hpp"
#include "src/tool/read/flash/flash_image.hpp"
#include "src/tool/read/run/beside_cards.hpp"
#endif
