#ifndef OPDUMP_PRECOMPILED_C_API_HPP
#define OPDUMP_PRECOMPILED_C_API_HPP
// What the sources of the calls for C include, as read.hpp.
#include <string_view>

#include "src/c_api/handles.hpp"
#endif
