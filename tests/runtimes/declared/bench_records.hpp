#pragma once
#include <string>
#include <vector>

#include "tests/runtimes/declared/dumped.hpp"
#include "tests/support/fakes.hpp"

namespace opdump::tests {

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
