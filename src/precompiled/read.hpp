#ifndef OPDUMP_PRECOMPILED_READ_HPP
#define OPDUMP_PRECOMPILED_READ_HPP
// What most sources of `read` and of the commands include, compiled once for all of them. A source includes what it uses
// all the same: builds with -Db_pch=false, and "sources alone", have none of this.
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <limits>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "opdump/format/journal_lines.hpp"
#include "src/card/json_writer.hpp"
#include "src/config/text/display_text.hpp"
#include "src/config/text/human_text.hpp"
#include "src/tool/cli/decimal.hpp"
#include "src/tool/cli/messages.hpp"
#include "src/tool/cli/progress.hpp"
#include "src/tool/read/dump/elements.hpp"
#include "src/tool/read/dump/found_files.hpp"
#include "src/tool/read/dump/statistics_file.hpp"
#include "src/tool/read/run/run_file.hpp"
#endif
