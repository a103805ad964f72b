#pragma once
#include "MNN/declared.hpp"
