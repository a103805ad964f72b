#pragma once
#include "executorch/runtime/declared.hpp"
