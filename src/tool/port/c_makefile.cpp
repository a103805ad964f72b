#include "src/tool/port/skeleton.hpp"

namespace opdump::tool {

const SkeletonFile c_makefile = {
    "Makefile", R"(# make                                       with the opdump that pkg-config finds
# make OPDUMP=DIR OPDUMP_LIBS=libopdump.a    with a copy of opdump's repository, and the library made of it
# make OPDUMP=DIR CC=arm-none-eabi-gcc CFLAGS="-Os -mcpu=cortex-m4 -mthumb" objects
#                                            for a device; link the objects and libopdump.a into your firmware
OPDUMP_TOOL ?= opdump
CFLAGS ?= -Os -g

ifdef OPDUMP
opdump_flags := -I$(OPDUMP)/include
else
opdump_flags := $(shell pkg-config --cflags opdump)
OPDUMP_LIBS := $(shell pkg-config --libs opdump)
endif

objects := main.o memory.o sink.o clock.o

# opdump is C++, so the C++ compiler links.
firmware: $(objects)
	$(CXX) $(LDFLAGS) -o $@ $(objects) $(OPDUMP_LIBS) $(LDLIBS)

objects: $(objects)

%.o: %.c port.h
	$(CC) -std=c99 -Wall -Wextra $(opdump_flags) $(CFLAGS) -c -o $@ $<

main.o: dump_plan.h

dump_plan.h: acl.json
	$(OPDUMP_TOOL) compile acl.json -o $@ --c dump_plan

clean:
	rm -f firmware $(objects) dump_plan.h

.PHONY: objects clean
)"};

}  // namespace opdump::tool
