#include "src/tool/port/skeleton.hpp"

namespace opdump::tool {

const SkeletonFile port_config = {
    "acl.json", R"({"dump": {"dump_path": "dump", "dump_mode": "all", "dump_list": [{"model_name": "net"}]},
 "opdump": {"when_full": "drop"}}
)"};

}  // namespace opdump::tool
