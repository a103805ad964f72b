#pragma once
#include <dl_model_base.hpp>
#include <dl_module_creator.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "opdump/parts/op_table.hpp"
#include "opdump/recorder.hpp"

/// Dumps what ESP-DL computes, without a change to it, over the recorder of any session. C++20; needs
/// ESP-DL's own headers. The heap is used as ESP-DL does, while a model is made; none in a step. In the place
/// of each module of the types that are named, a model gets one that calls it.
///
///     opdump::esp_dl::Tap<Memory, 64> tap(recorder);    // stays as long as models are made
///     tap.add("Conv", dl::module::Conv::deserialize);   // before the model: each type to be seen, as
///     tap.add("Gemm", dl::module::Gemm::deserialize);   // ModuleCreator has it
///     dl::Model model(...);
///     tap.load(session, "net");                         // after set_config
///     for (;;) tap.run(model, input);                   // in the place of model.run: one step
///
/// Read at revision 12c0616 of espressif/esp-dl, compiled, not run.
namespace opdump::esp_dl {

constexpr DType dtype_of(dl::dtype_t type) {
  switch (type) {
    case dl::DATA_TYPE_FLOAT:
      return DType::float32;
    case dl::DATA_TYPE_UINT8:
      return DType::uint8;
    case dl::DATA_TYPE_INT8:
      return DType::int8;
    case dl::DATA_TYPE_UINT16:
      return DType::uint16;
    case dl::DATA_TYPE_INT16:
      return DType::int16;
    case dl::DATA_TYPE_INT32:
      return DType::int32;
    case dl::DATA_TYPE_INT64:
      return DType::int64;
    case dl::DATA_TYPE_BOOL:
      return DType::boolean;
    case dl::DATA_TYPE_FLOAT16:
      return DType::float16;
    case dl::DATA_TYPE_DOUBLE:
      return DType::float64;
    case dl::DATA_TYPE_UINT32:
      return DType::uint32;
    case dl::DATA_TYPE_UINT64:
      return DType::uint64;
    default:
      return DType::undefined;
  }
}

/// Up to `Ops` modules of one model, each with up to `Tensors` inputs and outputs. An operator has the name
/// of its module. Inputs are captured after it has run, with its outputs; of a module that works in place,
/// before that, in a record of their own. Elements are dumped as they lie: quantised, and weights in the
/// order of the kernels.
///
/// Threads: those of the recorder.
template <class Memory, std::size_t Ops, std::size_t Tensors = 8, std::size_t NameBytes = 0>
class Tap {
 public:
  using Creator = dl::module::ModuleCreator::Creator;

  explicit Tap(BasicRecorder<Memory>& recorder) : recorder_(recorder) {}
  Tap(const Tap&) = delete;
  Tap& operator=(const Tap&) = delete;

  /// Modules of type `type`, which stays, are made by `stock` and tapped. After any of the program's own for
  /// it.
  void add(const char* type, Creator stock) {
    dl::module::ModuleCreator& creators = *dl::module::ModuleCreator::get_instance();
    creators.register_dl_modules();  // does nothing once there is any module
    creators.register_module(type, [this, type, stock](fbs::FbsModel* model, std::string name) {
      return tapped(stock(model, name), type, std::move(name));
    });
  }

  /// Loads the operators of the model that was made into `session`; modules of later models are not tapped
  /// before `unload`. `no_memory` when it has more than `Ops`; else as `BasicSession::load_model`. Inference
  /// goes on without a dump then.
  template <class Session>
  [[nodiscard]] Status load(Session& session, std::string_view model_name, std::uint32_t id = 0) {
    if (described_ != Status::ok) return described_;
    const Status status = ops_.load(session, model_name, id);
    is_loaded_ = status == Status::ok;
    is_described_ = true;
    return status;
  }

  /// As `BasicSession::unload_model`; before the model goes.
  template <class Session>
  [[nodiscard]] Status unload(Session& session) {
    is_loaded_ = false;
    return ops_.unload(session);
  }

  /// Runs the model by its `run` with these arguments, as a step.
  template <class... Arguments>
  void run(dl::Model& model, Arguments&&... arguments) {
    const bool has_step = is_loaded_ && recorder_.begin_step(ops_.plan()) == Status::ok;
    model.run(std::forward<Arguments>(arguments)...);
    if (has_step) static_cast<void>(recorder_.end_step());
  }

  const OpTable<Ops, NameBytes>& ops() const { return ops_; }

 private:
  /// Has the name, tensors and flags of the module that it calls.
  class Tapped final : public dl::module::Module {
   public:
    Tapped(dl::module::Module& stock, Tap& tap, std::size_t op, std::string node)
        : Module(node.c_str(), stock.inplace, stock.quant_type),
          own_name(std::move(node)),
          stock_(stock),
          tap_(tap),
          op_(op) {}
    ~Tapped() override { delete &stock_; }

    std::vector<std::vector<int>> get_output_shape(std::vector<std::vector<int>>& input_shapes) override {
      return stock().get_output_shape(input_shapes);
    }
    void forward(dl::ModelContext* context, dl::runtime_mode_t mode) override {
      if (!tap_.is_loaded_ || !tap_.recorder_.wants_any(op_)) return stock().forward(context, mode);
      const bool apart = writes_to_inputs(*context, *this);
      if (apart) tap_.capture(op_, *context, &m_inputs_index, nullptr);
      stock().forward(context, mode);
      tap_.capture(op_, *context, apart ? nullptr : &m_inputs_index, &m_outputs_index);
    }
    void forward_args(void* args) override { stock_.forward_args(args); }
    void print() override { stock_.print(); }
    void set_preload_addr(void* addr, std::size_t size) override { stock_.set_preload_addr(addr, size); }
    void preload() override { stock_.preload(); }
    void reset() override { stock_.reset(); }

    const std::string own_name;  ///< builds of ESP-DL may keep none in a module

   private:
    /// The model tells tensors to the module that it knows.
    dl::module::Module& stock() {
      if (stock_.m_inputs_index != m_inputs_index) stock_.m_inputs_index = m_inputs_index;
      if (stock_.m_outputs_index != m_outputs_index) stock_.m_outputs_index = m_outputs_index;
      return stock_;
    }

    dl::module::Module& stock_;
    Tap& tap_;
    std::size_t op_;
  };

  dl::module::Module* tapped(dl::module::Module* stock, std::string_view type, std::string name) {
    if (stock == nullptr || is_described_ || described_ != Status::ok) return stock;
    auto* const module = new Tapped(*stock, *this, ops_.size(), std::move(name));
    const auto added = ops_.add(module->own_name, type);
    if (!added.ok() && added.status() != Status::name_too_long) described_ = added.status();
    return module;
  }

  static bool writes_to_inputs(dl::ModelContext& context, const dl::module::Module& module) {
    if (module.inplace != dl::MODULE_INPLACE_CHANGED_BUFFER) return false;
    for (const int input : module.m_inputs_index) {
      dl::TensorBase* const from = input < 0 ? nullptr : context.get_tensor(input);
      for (const int output : module.m_outputs_index) {
        dl::TensorBase* const to = output < 0 ? nullptr : context.get_tensor(output);
        if (from == nullptr || to == nullptr) continue;
        const Address first = address_of(from->get_element_ptr());
        const Address second = address_of(to->get_element_ptr());
        if (first < second + static_cast<std::uint64_t>(to->get_bytes()) &&
            second < first + static_cast<std::uint64_t>(from->get_bytes()))
          return true;
      }
    }
    return false;
  }

  void capture(std::size_t op, dl::ModelContext& context, const std::vector<int>* inputs,
               const std::vector<int>* outputs) {
    tensors_.clear();
    Status status = Status::ok;
    add(context, inputs, status);
    const std::size_t input_count = tensors_.views().size();
    add(context, outputs, status);
    const auto views = tensors_.views();
    static_cast<void>(
        recorder_.capture_unless(status, op, views.first(input_count), views.subspan(input_count)));
  }

  void add(dl::ModelContext& context, const std::vector<int>* indices, Status& status) {
    if (indices == nullptr) return;
    for (const int index : *indices) {
      if (status != Status::ok) return;
      dl::TensorBase* const tensor = index < 0 ? nullptr : context.get_tensor(index);
      const int none[] = {0};
      if (tensor == nullptr) {
        status = tensors_.add(0, 0, DType::uint8, none, 1);
      } else if (dtype_of(tensor->dtype) == DType::undefined) {
        status = Status::unknown_dtype;
      } else {
        status = tensors_.add(address_of(tensor->get_element_ptr()),
                              static_cast<std::uint64_t>(tensor->get_bytes()), dtype_of(tensor->dtype),
                              tensor->shape.data(), tensor->shape.size());
      }
    }
  }

  BasicRecorder<Memory>& recorder_;
  OpTable<Ops, NameBytes> ops_;
  TensorTable<Tensors, Tensors * 5> tensors_;
  Status described_ = Status::ok;
  bool is_loaded_ = false;
  bool is_described_ = false;
};

}  // namespace opdump::esp_dl
