#pragma once
#include "armnn/declared.hpp"
