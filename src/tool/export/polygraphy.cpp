#include <map>
#include <utility>
#include <vector>

#include "src/tool/cli/base64.hpp"
#include "src/tool/cli/json.hpp"
#include "src/tool/dump/npy_header.hpp"
#include "src/tool/export/export.hpp"

namespace opdump::tool {
namespace {

/// What runs as one of Polygraphy's runners: a model of a device in a boot, of which each step is an
/// iteration.
struct Runner {
  std::string name;
  std::vector<std::pair<const ExportedStep*, std::vector<const ExportedOp*>>> iterations;
};

std::vector<Runner> runners_of(const ExportedDump& dump) {
  bool several_boots = false, several_models = false;
  const std::string* model = nullptr;
  for (const ExportedStep& step : dump.steps) {
    several_boots |= step.boot != dump.steps[0].boot;
    for (const ExportedOp& op : step.ops) {
      if (model == nullptr) model = &op.model;
      several_models |= op.model != *model;
    }
  }
  std::vector<Runner> runners;
  std::map<std::string, std::size_t> known;
  for (const ExportedStep& step : dump.steps) {
    for (const ExportedOp& op : step.ops) {
      std::string name = "opdump";
      if (several_models) name += op.model.empty() ? " without a model" : ' ' + op.model;
      if (dump.several_ranks) name += " rank " + std::to_string(step.rank);
      if (several_boots) name += step.boot ? " boot " + std::to_string(*step.boot) : " no boot";
      const auto [runner, is_new] = known.try_emplace(name, runners.size());
      if (is_new) runners.push_back({std::move(name), {}});
      auto& iterations = runners[runner->second].iterations;
      if (iterations.empty() || iterations.back().first != &step) iterations.push_back({&step, {}});
      iterations.back().second.push_back(&op);
    }
  }
  return runners;
}

std::string polygraphy_text(const std::string& text) {
  return JsonWriter().text(text).take();
}

class PolygraphyFile {
 public:
  explicit PolygraphyFile(Export& out) : out_(out) {}

  void write() {
    bool good = file_.create(out_.directory({}), "outputs.json") &&
                file_.write("{\"polygraphy_class\": \"RunResults\", \"lst\": [");
    std::string comma;
    for (const Runner& runner : runners_of(out_.dump())) {
      good = good && file_.write(comma + "[" + polygraphy_text(runner.name) + ", [") &&
             write_iterations(runner) && file_.write("]]");
      comma = ",\n";
    }
    if (!out_.commit(file_, good && file_.write("]}\n"))) return;
    for (; tensors_ != 0; --tensors_) out_.tensor_written();
  }

 private:
  bool write_iterations(const Runner& runner) {
    std::string comma;
    for (const auto& [step, ops] : runner.iterations) {
      if (!file_.write(comma + "{\"polygraphy_class\": \"IterationResult\", \"outputs\": {")) return false;
      Repeats names;
      first_ = true;
      for (const ExportedOp* op : ops) {
        for (const std::size_t index : op->tensors) {
          if (out_.dump().tensor(index).is_output && !write_tensor(*op, out_.dump().tensor(index), names))
            return false;
        }
      }
      if (!file_.write("}, \"runtime\": 0.0, \"runner_name\": " + polygraphy_text(runner.name) + "}"))
        return false;
      comma = ",\n";
    }
    return true;
  }

  bool write_tensor(const ExportedOp& op, const DumpTensor& tensor, Repeats& names) {
    StoredArray stored;
    if (!out_.plan(op, tensor, numpy_has, stored)) return true;
    std::string name = framework_name(out_.dump(), op, tensor, out_.card_of(op), 0);
    if (const std::uint64_t repeat = names.next(name); repeat != 0) name += '#' + std::to_string(repeat);
    Base64 coder;
    const std::string head = npy_header(stored.descr(), stored.shape);
    const bool good =
        file_.write((first_ ? "\n" : ",\n") + polygraphy_text(name) +
                    ": {\"polygraphy_class\": \"LazyArray\", \"values\": {\"polygraphy_class\": \"ndarray\", "
                    "\"array\": \"") &&
        file_.write(coder.add(as_bytes(head))) &&
        out_.for_each(op, tensor, stored,
                      [&](Bytes items, Bytes, std::size_t) { return file_.write(coder.add(items)); }) &&
        file_.write(coder.finish() + "\"}}");
    first_ = false;
    ++tensors_;
    return good;
  }

  Export& out_;
  ExportFile file_;
  bool first_ = true;
  std::uint64_t tensors_ = 0;
};

}  // namespace

void export_polygraphy(Export& out) {
  PolygraphyFile(out).write();
}

}  // namespace opdump::tool
