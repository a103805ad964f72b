#pragma once
struct device {
  const char* name;
};
