#pragma once
#include "include/api/declared.hpp"
