#pragma once
#include <doctest/doctest.h>

/// REQUIRE, but for what is checked a hundred million times: one that holds costs a comparison, and none is counted.
#define OPDUMP_DEMAND(...)           \
  do {                               \
    if (!(__VA_ARGS__)) [[unlikely]] \
      FAIL(#__VA_ARGS__);            \
  } while (false)
