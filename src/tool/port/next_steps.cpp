#include "src/tool/port/skeleton.hpp"

namespace opdump::tool {

const SkeletonFile next_steps = {"README.md", R"(# A port of opdump

It is a whole program. Its network is made up, and its flash is the file `flash.img`. Try it first:

    make
    ./firmware
    opdump extract flash.img -o dump
    opdump verify dump
    opdump show dump

The first lines of the Makefile say how opdump is found, and how to compile for a device.

## Next steps

Three places are marked with FILL IN and a number. Each ends at "End of" and that number. What stands between
is for a host, and your own takes its place. As long as the program still runs on a host, run it after each
step.

1. *Memory.* Copy bytes out of the device's memory. If the processor itself reads the tensors, what is there is
   right already.
2. *Sink.* Give the geometry of the flash, and read, program, erase and sync it. A block is what one erase
   takes, a multiple of 256 bytes. Set `bits_only_clear` for NOR flash without ECC. For a serial line in the
   place of flash there is platform/wire in opdump's repository.
3. *Clock.* Give microseconds. A count since boot will do: the log keeps boots apart.
4. *Network.* In main, put your operators, their tensors and your main loop in the place of the network that is
   there. Capture each operator when it has run, and drain where there is time. If `opdump verify` tells of
   losses for want of room, make the ring larger.
5. *Config.* Say in acl.json what is dumped, and try it with `opdump check --for-device acl.json`.
6. *Board.* Compile for the device, and link with its startup code, which must run the constructors of static
   objects before main. All files must have the same knobs (opdump/knobs.hpp).
7. *Dump.* Read the flash into a file on the host, for `opdump extract`.

platform/README.md in opdump's repository tells more of each step.
)"};

}  // namespace opdump::tool
