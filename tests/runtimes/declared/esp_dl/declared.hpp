#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

// What the adapter calls of ESP-DL, in our own words, and a model made of it that calls in the order of the
// real one. Checked against revision 12c0616 of espressif/esp-dl.

namespace fbs {

struct Node {
  std::string name;
  std::string type;
  std::vector<int> inputs;
  std::vector<int> outputs;
};

struct FbsModel {
  std::vector<Node> nodes;
};

}  // namespace fbs

namespace dl {

typedef enum {
  DATA_TYPE_UNDEFINED = 0,
  DATA_TYPE_FLOAT = 1,
  DATA_TYPE_UINT8 = 2,
  DATA_TYPE_INT8 = 3,
  DATA_TYPE_UINT16 = 4,
  DATA_TYPE_INT16 = 5,
  DATA_TYPE_INT32 = 6,
  DATA_TYPE_INT64 = 7,
  DATA_TYPE_STRING = 8,
  DATA_TYPE_BOOL = 9,
  DATA_TYPE_FLOAT16 = 10,
  DATA_TYPE_DOUBLE = 11,
  DATA_TYPE_UINT32 = 12,
  DATA_TYPE_UINT64 = 13
} dtype_t;

typedef enum { RUNTIME_MODE_AUTO = 0 } runtime_mode_t;
typedef enum { QUANT_TYPE_NONE = 0 } quant_type_t;
typedef enum {
  MODULE_NON_INPLACE = 0,
  MODULE_INPLACE_UNCHANGED_BUFFER = 1,
  MODULE_INPLACE_CHANGED_BUFFER = 2
} module_inplace_t;

class TensorBase {
 public:
  TensorBase(std::vector<int> dims, dtype_t type, void* values, int size)
      : shape(dims), dtype(type), data(values), bytes_(size) {}
  virtual ~TensorBase() = default;
  int get_bytes() { return bytes_; }
  virtual void* get_element_ptr() { return data; }

  std::vector<int> shape;
  dtype_t dtype;
  void* data;

 private:
  int bytes_;
};

class ModelContext {
 public:
  std::vector<TensorBase*> m_variables;

  TensorBase* get_tensor(int index) { return m_variables.at(static_cast<std::size_t>(index)); }
};

namespace module {

/// Keeps no name, as builds of the real one without names in their logs.
class Module {
 public:
  char* name = nullptr;
  module_inplace_t inplace;
  quant_type_t quant_type;
  std::vector<int> m_inputs_index;
  std::vector<int> m_outputs_index;

  Module(const char* = nullptr, module_inplace_t in_place = MODULE_NON_INPLACE,
         quant_type_t type = QUANT_TYPE_NONE)
      : inplace(in_place), quant_type(type) {}
  virtual ~Module() = default;
  virtual std::vector<int> get_outputs_index() { return m_outputs_index; }
  virtual std::vector<std::vector<int>> get_output_shape(std::vector<std::vector<int>>& input_shapes) = 0;
  virtual void forward(ModelContext* context, runtime_mode_t mode = RUNTIME_MODE_AUTO) = 0;
  virtual void forward_args(void*) {}
  virtual void print() {}
  virtual void set_preload_addr(void*, std::size_t) {}
  virtual void preload() {}
  virtual void reset() {}
};

class ModuleCreator {
 public:
  using Creator = std::function<Module*(fbs::FbsModel*, std::string)>;

  static ModuleCreator* get_instance() {
    static ModuleCreator instance;
    return &instance;
  }
  void register_module(const std::string& type, Creator creator) { creators_[type] = creator; }
  void register_dl_modules() {
    if (creators_.empty()) creators_ = stock;
  }
  Module* create(fbs::FbsModel* model, const std::string& type, const std::string name) {
    register_dl_modules();
    return creators_.count(type) == 0 ? nullptr : creators_[type](model, name);
  }
  void clear() { creators_.clear(); }

  std::map<std::string, Creator> stock;

 private:
  std::map<std::string, Creator> creators_;
};

}  // namespace module

class Model {
 public:
  Model(fbs::FbsModel& file, ModelContext& context) : context_(context) {
    module::ModuleCreator* const creator = module::ModuleCreator::get_instance();
    for (const fbs::Node& node : file.nodes) {
      module::Module* const module = creator->create(&file, node.type, node.name);
      for (const int input : node.inputs) module->m_inputs_index.push_back(input);
      for (const int output : node.outputs) module->m_outputs_index.push_back(output);
      plan_.push_back(module);
    }
  }
  virtual ~Model() {
    for (module::Module* module : plan_) delete module;
  }
  virtual void run(runtime_mode_t mode = RUNTIME_MODE_AUTO) {
    for (module::Module* module : plan_) module->forward(&context_, mode);
  }

  const std::vector<module::Module*>& plan() const { return plan_; }

 private:
  ModelContext& context_;
  std::vector<module::Module*> plan_;
};

}  // namespace dl
