#pragma once
#include "tflite/declared.hpp"
