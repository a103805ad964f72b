#pragma once
#include "declared.hpp"
