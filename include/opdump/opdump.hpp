#pragma once
/// The whole core. A config parser for hosts is in opdump/parse_config.hpp.

#include "opdump/nano_reader.hpp"
#include "opdump/session.hpp"
