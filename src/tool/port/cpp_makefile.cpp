#include "src/tool/port/skeleton.hpp"

namespace opdump::tool {

const SkeletonFile cpp_makefile = {
    "Makefile", R"(# make                                       with the opdump that pkg-config finds
# make OPDUMP=DIR                            with a copy of opdump's repository
# make OPDUMP=DIR CXX=arm-none-eabi-g++ CXXFLAGS="-Os -mcpu=cortex-m4 -mthumb" main.o
#                                            for a device; link main.o into your firmware
OPDUMP_TOOL ?= opdump
CXXFLAGS ?= -Os -g

ifdef OPDUMP
opdump_flags := -I$(OPDUMP)/include -I$(OPDUMP)
else
opdump_flags := $(shell pkg-config --cflags opdump)
opdump_libs := $(shell pkg-config --libs opdump)
endif

firmware: main.o
	$(CXX) $(CXXFLAGS) $(LDFLAGS) -o $@ main.o $(opdump_libs) $(LDLIBS)

main.o: main.cpp memory.hpp sink.hpp clock.hpp dump_plan.h
	$(CXX) -std=c++20 -fno-exceptions -fno-rtti -Wall -Wextra $(opdump_flags) $(CXXFLAGS) -c -o $@ $<

dump_plan.h: acl.json
	$(OPDUMP_TOOL) compile acl.json -o $@ --c dump_plan

clean:
	rm -f firmware main.o dump_plan.h

.PHONY: clean
)"};

}  // namespace opdump::tool
