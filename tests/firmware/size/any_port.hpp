#pragma once
#include <cstddef>

#include "opdump/base/bytes.hpp"

/// The port of a wire, whose functions a firmware has elsewhere: they do not count.
class AnyPort {
 public:
  void write(opdump::Bytes from) { write_(context_, from); }
  std::size_t read(opdump::MutableBytes to) { return read_(context_, to); }

 private:
  void (*write_)(void*, opdump::Bytes);
  std::size_t (*read_)(void*, opdump::MutableBytes);
  void* context_;
};
