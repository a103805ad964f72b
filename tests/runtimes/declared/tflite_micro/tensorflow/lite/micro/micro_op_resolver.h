#pragma once
#include "tensorflow/lite/micro/declared.hpp"
