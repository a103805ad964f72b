#pragma once
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "opdump/read/nano_reader.hpp"
#include "tests/support/fakes.hpp"

namespace opdump::tests {

template <class Number>
std::string numbers(const std::string& bytes) {
  std::string text;
  for (std::size_t at = 0; at + sizeof(Number) <= bytes.size(); at += sizeof(Number)) {
    Number number;
    std::memcpy(&number, bytes.data() + at, sizeof number);
    text += " " + std::to_string(static_cast<long>(number));
  }
  return text;
}

/// The elements of a tensor, as whole numbers.
inline std::string elements(DType dtype, const std::string& bytes) {
  switch (dtype) {
    case DType::float32:
      return numbers<float>(bytes);
    case DType::int32:
      return numbers<std::int32_t>(bytes);
    case DType::int64:
      return numbers<std::int64_t>(bytes);
    case DType::int16:
      return numbers<std::int16_t>(bytes);
    case DType::int8:
      return numbers<std::int8_t>(bytes);
    default:
      return numbers<std::uint8_t>(bytes);
  }
}

/// A nano record in words: "in0 float32[2,2] 1 2 3 4; out0 int8[1] 5".
inline std::string told(const std::string& record) {
  NanoReader reader;
  if (reader.open(std::as_bytes(std::span(record)), record.size()) != Status::ok) return "no record";
  std::string text;
  for (NanoTensor tensor; reader.next(tensor);) {
    text += (text.empty() ? "" : "; ") + std::string(tensor.is_output ? "out" : "in") +
            std::to_string(tensor.index) + " " + std::string(info(tensor.dtype).name) + "[";
    for (const Dim dim : tensor.shape())
      text += (text.back() == '[' ? "" : ",") + std::to_string(static_cast<long>(dim));
    text += "]" + elements(tensor.dtype, record.substr(tensor.data_offset, tensor.bytes));
  }
  return reader.status() == Status::ok ? text : "damaged record";
}

/// The records of a sink in the order in which they were written, each as "STEP/TYPE.NAME: " and in words.
inline std::vector<std::string> told(const FakeSink& sink) {
  std::vector<std::string> texts;
  for (const std::string& path : sink.order) {
    const std::size_t file = path.rfind('|') + 1;
    const std::size_t step = path.rfind('/', file) + 1;
    const std::size_t name_end = path.find('.', path.find('.', file) + 1);
    const auto& bytes = sink.objects.at(path);
    const std::string record(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    texts.push_back(path.substr(step, file - 1 - step) + "/" + path.substr(file, name_end - file) + ": " +
                    told(record));
  }
  return texts;
}

}  // namespace opdump::tests
