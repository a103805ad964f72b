#include "src/tool/port/skeleton.hpp"

namespace opdump::tool {

const SkeletonFile c_port = {"port.h", R"(#ifndef PORT_H
#define PORT_H
/* What the port supplies. Each is made where opdump is started, which copies it. */
#include "opdump/opdump.h"

opdump_memory port_memory(void);
opdump_flash port_flash(void);
opdump_clock port_clock(void);
#endif
)"};

}  // namespace opdump::tool
