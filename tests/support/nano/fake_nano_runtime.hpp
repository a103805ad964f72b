#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "platform/ascend/nano/dbg_file.hpp"
#include "platform/ascend/nano/load_message.hpp"
#include "platform/ascend/nano/nano_runtime.hpp"

namespace opdump::tests {

/// A runtime without a board. It keeps what it is told, and when a model runs, it dumps what a device would:
/// the marked tasks of a model that is loaded, with the tensors that the load message describes.
class FakeNanoRuntime final : public nano::NanoRuntime {
 public:
  /// One record: the step and the operator, then the number of its inputs and outputs.
  struct Record {
    std::uint64_t step;
    std::string op;
    std::size_t inputs;
    std::size_t outputs;

    bool operator==(const Record&) const = default;
  };

  struct Sent {
    bool load;
    std::uint32_t model_id;
    std::uint64_t step;  ///< which the model had come to
  };

  bool is_complete(std::string& missing) override {
    missing = absent;
    return absent.empty();
  }
  nano::Code start(const char*, std::string& error) override {
    ++starts;
    if (start_code != 0) error = "cannot be started";
    return start_code;
  }
  nano::Code stop() override {
    ++stops;
    return 0;
  }
  nano::Code set_dump_flag(void* tasks, std::size_t task_bytes, std::uint32_t task) override {
    flag_calls.emplace_back(tasks, task_bytes);
    if (task == refused_task) return 107000;
    marked[tasks].insert(task);
    return 0;
  }
  nano::Code send(void* message, std::uint32_t bytes) override {
    if (send_code != 0) return send_code;
    const Result<nano::LoadMessage> read = nano::receive_load_message(message, bytes);
    if (!read.ok()) return 1;
    last = read.value();
    directory = std::string(last.directory);
    description.assign(last.description.begin(), last.description.end());
    sent.push_back({last.load, last.model_id, *last.step});
    if (last.load) {
      loaded[last.model_id] = last;
    } else {
      loaded.erase(last.model_id);
    }
    return 0;
  }
  std::uint32_t device() override { return device_id; }

  /// What the device writes while the model runs once.
  void run(std::uint32_t model_id, void* tasks) {
    const auto found = loaded.find(model_id);
    if (found == loaded.end()) return;
    // The receiver keeps a pointer into the message.
    const nano::LoadMessage& message = found->second;
    nano::DbgFile file;
    std::vector<nano::DbgFault> faults;
    file.read({message.description.begin(), message.description.end()}, faults);
    for (const nano::OpEntry& op : file.ops()) {
      if (marked[tasks].count(op.task_id) == 0) continue;
      records.push_back({*message.step, std::string(op.name),
                         message.mode == nano::kModeOutputs ? 0 : op.inputs.list.size(),
                         message.mode == nano::kModeInputs ? 0 : op.outputs.list.size()});
    }
  }

  std::string absent;
  nano::Code start_code = 0;
  nano::Code send_code = 0;
  std::uint32_t refused_task = 0xffffffff;
  std::uint32_t device_id = 0;

  int starts = 0;
  int stops = 0;
  std::vector<std::pair<void*, std::size_t>> flag_calls;
  std::map<void*, std::set<std::uint32_t>> marked;
  std::vector<Sent> sent;
  nano::LoadMessage last;
  std::string directory;
  std::vector<std::byte> description;
  std::map<std::uint32_t, nano::LoadMessage> loaded;
  std::vector<Record> records;
};

}  // namespace opdump::tests
