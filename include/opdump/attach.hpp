#pragma once
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "opdump/attach.h"

/// attach.h for C++17: what stands between a runtime and a dump. It owns the names, dims, plans and threads
/// that a dump needs, so that an adapter only says what has run:
///
///     opdump::attach::Dump dump;              // the config that OPDUMP_CONFIG names; without one it is off
///     opdump::attach::Model model(dump, "net");
///     const auto conv = model.add_op("conv1", "Conv2D");
///     for (;;) {
///       const auto step = model.step();
///       ...                                   // conv1 runs
///       if (model.wants(conv))
///         model.capture(conv, {}, opdump::attach::Tensors().add(data, OPDUMP_FLOAT32, dims));
///     }
///
/// No call fails inference, and none throws, but for want of memory in the containers here. What went wrong is in the
/// log, in `Dump::error` and in `Dump::counts`. Needs the library, and no flag but its include path.
namespace opdump::attach {

/// A text that C reads: a literal or a string.
class Text {
 public:
  Text(const char* text) : text_(text) {}
  Text(const std::string& text) : text_(text.c_str()) {}
  const char* c_str() const { return text_; }

 private:
  const char* text_;
};

inline constexpr std::uint32_t kNoOp = OPDUMP_NO_OP;
inline constexpr std::uint64_t kNextStep = OPDUMP_NEXT_STEP;

/// The SHA-256 digest of a model's file, for its card.
inline std::string sha256(const void* data, std::size_t bytes) {
  char text[65] = "";
  opdump_sha256(data, bytes, text);
  return text;
}

/// The tensors that an operator reads or writes, for the time of one capture. Owns dims and strides; names
/// and data stay the caller's. `clear` keeps the memory, so that one object serves all captures of a thread.
/// What follows an `add` is about the tensor that was added last.
class Tensors {
 public:
  /// A tensor that begins at `data`, of any container of dims, outermost first. `bytes`: 0 for as many as
  /// dtype and dims tell. `dtype`: OPDUMP_FLOAT32 and so on, or a DType of opdump.
  template <class DType, class Dims>
  Tensors& add(const void* data, DType dtype, const Dims& dims, std::uint64_t bytes = 0) {
    opdump_attach_tensor tensor{};
    tensor.struct_bytes = sizeof tensor;
    tensor.data = data;
    tensor.bytes = bytes;
    tensor.dtype = static_cast<std::int32_t>(dtype);
    tensor.format = OPDUMP_FORMAT_ND;
    Places places;
    places.dims = keep(dims, tensor.rank);
    tensors_.push_back(tensor);
    places_.push_back(places);
    return *this;
  }
  template <class DType>
  Tensors& add(const void* data, DType dtype, std::initializer_list<std::int64_t> dims,
               std::uint64_t bytes = 0) {
    return add<DType, std::initializer_list<std::int64_t>>(data, dtype, dims, bytes);
  }

  /// From one element to the next, in bytes, for each dim. A tensor with more or fewer strides than dims is
  /// refused when it is captured.
  template <class Strides>
  Tensors& strides(const Strides& strides) {
    std::uint32_t count = 0;
    const std::size_t place = keep(strides, count);
    places_.back().strides = place;
    places_.back().has_strides = true;
    places_.back().is_whole = count == tensors_.back().rank;
    return *this;
  }
  Tensors& strides(std::initializer_list<std::int64_t> strides) {
    return this->strides<std::initializer_list<std::int64_t>>(strides);
  }

  Tensors& format(std::int32_t format) {
    tensors_.back().format = format;
    return *this;
  }

  /// In the framework, where dims or name differ; the name of an output.
  template <class Dims>
  Tensors& original_dims(const Dims& dims) {
    places_.back().original_dims = keep(dims, tensors_.back().original_rank);
    return *this;
  }
  Tensors& name(const char* name) {
    tensors_.back().name = name;
    return *this;
  }

  /// The runtime's own call for tensors that the CPU cannot read, as opdump_attach_tensor has it.
  Tensors& read_by(opdump_status (*read)(void*, void*, std::uint64_t, std::size_t), void* context) {
    tensors_.back().read = read;
    tensors_.back().context = context;
    return *this;
  }

  void clear() {
    tensors_.clear();
    places_.clear();
    numbers_.clear();
  }

  std::uint32_t size() const { return static_cast<std::uint32_t>(tensors_.size()); }

  /// For the library: valid until the next change.
  const opdump_attach_tensor* data() const {
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      tensors_[i].dims = places_[i].is_whole ? numbers_.data() + places_[i].dims : nullptr;
      tensors_[i].original_dims = numbers_.data() + places_[i].original_dims;
      if (places_[i].has_strides) tensors_[i].strides = numbers_.data() + places_[i].strides;
    }
    return tensors_.data();
  }

 private:
  struct Places {
    std::size_t dims = 0;
    std::size_t original_dims = 0;
    std::size_t strides = 0;
    bool has_strides = false;
    bool is_whole = true;
  };

  template <class Numbers>
  std::size_t keep(const Numbers& numbers, std::uint32_t& count) {
    const std::size_t place = numbers_.size();
    for (const auto number : numbers) numbers_.push_back(static_cast<std::int64_t>(number));
    count = static_cast<std::uint32_t>(numbers_.size() - place);
    return place;
  }

  mutable std::vector<opdump_attach_tensor> tensors_;
  std::vector<Places> places_;
  std::vector<std::int64_t> numbers_;
};

/// How the numbers of a tensor stand for real ones: opdump_quant_params. With an axis there are as many
/// scales, exponents or tables as that dim has.
struct Quantisation {
  std::uint32_t scheme = OPDUMP_QUANT_NONE;
  std::int32_t axis = -1;
  std::vector<float> numbers{};  ///< scales, or the entries of tables
  std::vector<std::int64_t> zero_points{};
  std::vector<std::int32_t> exponents{};
  std::int64_t first = 0;
  std::string block_type{};
  std::uint32_t block_elements = 0;
  std::uint32_t block_bytes = 0;

  /// scale * (stored - zero point). No zero points: all are 0; else as many as scales.
  static Quantisation affine(std::vector<float> scales, std::vector<std::int64_t> zero_points = {},
                             std::int32_t axis = -1) {
    Quantisation quant;
    quant.scheme = OPDUMP_QUANT_AFFINE;
    quant.axis = axis;
    quant.numbers = std::move(scales);
    quant.zero_points = std::move(zero_points);
    return quant;
  }

  /// stored * 2^exponent.
  static Quantisation pow2(std::vector<std::int32_t> exponents, std::int32_t axis = -1) {
    Quantisation quant;
    quant.scheme = OPDUMP_QUANT_POW2;
    quant.axis = axis;
    quant.exponents = std::move(exponents);
    return quant;
  }

  /// Blocks of bytes with their own scales, of a format with a name in ggml's words.
  static Quantisation blocks(std::string type, std::uint32_t elements, std::uint32_t bytes) {
    Quantisation quant;
    quant.scheme = OPDUMP_QUANT_BLOCK;
    quant.block_type = std::move(type);
    quant.block_elements = elements;
    quant.block_bytes = bytes;
    return quant;
  }

  /// Entry `stored - first` of a table.
  static Quantisation table(std::vector<float> entries, std::int64_t first = 0, std::int32_t axis = -1) {
    Quantisation quant;
    quant.scheme = OPDUMP_QUANT_LUT;
    quant.axis = axis;
    quant.numbers = std::move(entries);
    quant.first = first;
    return quant;
  }
};

/// What is known of tensors before they are computed, for `describe`. Owns everything. What follows an `add`
/// is about the tensor that was added last.
class TensorInfos {
 public:
  /// A tensor of that name; tensors of one name are one tensor of the model. A dim of -1 is known only when
  /// the model runs.
  template <class DType, class Dims>
  TensorInfos& add(Text name, DType dtype, const Dims& dims) {
    add(name, dtype);
    for (const auto dim : dims) tensors_.back().dims.push_back(static_cast<std::int64_t>(dim));
    tensors_.back().rank = static_cast<std::uint32_t>(tensors_.back().dims.size());
    return *this;
  }
  template <class DType>
  TensorInfos& add(Text name, DType dtype, std::initializer_list<std::int64_t> dims) {
    return add<DType, std::initializer_list<std::int64_t>>(name, dtype, dims);
  }
  /// A tensor whose shape, or dtype as well, is not known.
  template <class DType>
  TensorInfos& add(Text name, DType dtype) {
    add(name);
    tensors_.back().dtype = static_cast<std::int32_t>(dtype);
    return *this;
  }
  TensorInfos& add(Text name) {
    tensors_.emplace_back();
    tensors_.back().name = name.c_str();
    return *this;
  }

  /// The model holds its elements.
  TensorInfos& constant() {
    tensors_.back().constant = 1;
    return *this;
  }
  /// Refused when it is described unless there is a zero point for each scale, or none.
  TensorInfos& quantised(Quantisation quant) {
    tensors_.back().quant = std::move(quant);
    return *this;
  }

  std::uint32_t size() const { return static_cast<std::uint32_t>(tensors_.size()); }

  /// For the library: valid until the next change.
  const opdump_attach_tensor_info* data() const {
    infos_.assign(tensors_.size(), opdump_attach_tensor_info{});
    quants_.assign(tensors_.size(), opdump_quant_params{});
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      const Tensor& tensor = tensors_[i];
      opdump_attach_tensor_info& info = infos_[i];
      info.struct_bytes = sizeof info;
      info.name = tensor.name.empty() ? nullptr : tensor.name.c_str();
      info.dims = tensor.dims.data();
      info.rank = tensor.rank;
      info.dtype = tensor.dtype;
      info.constant = tensor.constant;
      if (tensor.quant.scheme == OPDUMP_QUANT_NONE) continue;
      info.quant = &quants_[i];
      put(tensor.quant, quants_[i]);
    }
    return infos_.data();
  }

 private:
  struct Tensor {
    std::string name{};
    std::vector<std::int64_t> dims{};
    std::uint32_t rank = OPDUMP_UNKNOWN_RANK;
    std::int32_t dtype = OPDUMP_UNDEFINED;
    std::uint32_t constant = 0;
    Quantisation quant{};
  };

  static void put(const Quantisation& from, opdump_quant_params& to) {
    const bool has_table = from.scheme == OPDUMP_QUANT_LUT;
    const std::size_t count = from.scheme == OPDUMP_QUANT_POW2 ? from.exponents.size() : from.numbers.size();
    const bool is_whole = from.zero_points.empty() || from.zero_points.size() == count;
    to.struct_bytes = sizeof to;
    to.scheme = from.scheme;
    to.axis = from.axis;
    to.scales = has_table ? nullptr : from.numbers.data();
    to.zero_points = from.zero_points.empty() ? nullptr : from.zero_points.data();
    to.exponents = from.exponents.data();
    to.table = has_table ? from.numbers.data() : nullptr;
    to.block_type = from.block_type.c_str();
    to.first = from.first;
    to.count = is_whole ? static_cast<std::uint32_t>(count) : 0;
    to.block_elements = from.block_elements;
    to.block_bytes = from.block_bytes;
  }

  std::vector<Tensor> tensors_;
  mutable std::vector<opdump_attach_tensor_info> infos_;
  mutable std::vector<opdump_quant_params> quants_;
};

/// A dump: opdump_attach. It outlives its models and is not moved.
class Dump {
 public:
  struct LaterTag {};
  /// Leaves the start to `start`.
  static constexpr LaterTag later{};

  /// Starts with the config file `config`, or, where it is null, with that of the environment variable
  /// OPDUMP_CONFIG, or else MINDSPORE_DUMP_CONFIG; without any it is off, which costs nothing.
  explicit Dump(const char* config = nullptr, const opdump_attach_options& options = make_options())
      : Dump(later, options) {
    start(config);
  }
  explicit Dump(LaterTag, const opdump_attach_options& options = make_options()) {
    opdump_attach_create(&options, &handle_);
  }
  Dump(const Dump&) = delete;
  Dump& operator=(const Dump&) = delete;
  ~Dump() { opdump_attach_destroy(handle_); }

  static opdump_attach_options make_options() {
    opdump_attach_options options{};
    options.struct_bytes = sizeof options;
    return options;
  }

  /// As opdump_attach_set_provenance; before `start`.
  opdump_status set_provenance(Text runtime, Text model_sha256 = "", Text build_id = "") {
    opdump_provenance provenance{};
    provenance.struct_bytes = sizeof provenance;
    provenance.build_id = build_id.c_str();
    provenance.model = model_sha256.c_str();
    provenance.runtime = runtime.c_str();
    return opdump_attach_set_provenance(handle_, &provenance);
  }
  opdump_status start(const char* config = nullptr) { return opdump_attach_start(handle_, config); }
  bool is_on() const { return opdump_attach_is_on(handle_) != 0; }
  /// OPDUMP_OK: nothing was lost.
  opdump_status stop() { return opdump_attach_stop(handle_); }
  const char* error() const { return opdump_attach_error(handle_); }
  opdump_attach_counts counts() const {
    opdump_attach_counts counts{};
    opdump_attach_get_counts(handle_, &counts, sizeof counts);
    return counts;
  }
  opdump_counts records() const {
    opdump_counts counts{};
    opdump_attach_get_records(handle_, &counts, sizeof counts);
    return counts;
  }
  opdump_status fire(Text name) { return opdump_attach_fire(handle_, name.c_str()); }
  void say(Text line) { opdump_attach_say(handle_, line.c_str()); }
  opdump_status describe(Text path) { return opdump_attach_describe(handle_, path.c_str()); }

  opdump_attach* handle() const { return handle_; }

 private:
  opdump_attach* handle_ = nullptr;
};

/// An open step of a model, which ends with this object. What may be called on any thread is the model's.
class Step {
 public:
  Step(opdump_attach_model* model, std::uint64_t step)
      : model_(opdump_attach_begin_step(model, step) == OPDUMP_OK ? model : nullptr) {}
  Step(Step&& other) noexcept : model_(std::exchange(other.model_, nullptr)) {}
  Step& operator=(Step&& other) noexcept {
    std::swap(model_, other.model_);
    return *this;
  }
  ~Step() { end(); }

  /// Before the object goes.
  void end() {
    if (model_ != nullptr) opdump_attach_end_step(std::exchange(model_, nullptr));
  }

 private:
  opdump_attach_model* model_ = nullptr;
};

/// What both kinds of models have.
class AnyModel {
 public:
  AnyModel(const AnyModel&) = delete;
  AnyModel& operator=(const AnyModel&) = delete;

  /// Begins the next step, or step `number` of a runtime that counts itself. A model runs one step at a time:
  /// of a second one nothing is captured, which is counted and told.
  [[nodiscard]] Step step(std::uint64_t number = kNextStep) { return Step(handle_, number); }

  /// Whether the open step captures operator `op`. Any thread.
  bool wants(std::uint32_t op) const {
    const unsigned char* const bits = __atomic_load_n(&gate_->bits, __ATOMIC_ACQUIRE);
    return bits != nullptr && op < __atomic_load_n(&gate_->op_count, __ATOMIC_RELAXED) && bits[op] != 0;
  }

  /// Captures an operator that has just run. Any thread; each operator of a step by one at a time.
  void capture(std::uint32_t op, const Tensors& inputs, const Tensors& outputs) {
    opdump_attach_capture(handle_, op, inputs.data(), inputs.size(), outputs.data(), outputs.size());
  }
  void capture(Text name, const Tensors& inputs, const Tensors& outputs) {
    capture(find(name), inputs, outputs);
  }

  /// Operator `op` of the open step has failed, kNoOp: one that is not known; for triggers that wait for it.
  opdump_status fail(std::uint32_t op, const Tensors& inputs = {}, const Tensors& outputs = {}) {
    return opdump_attach_fail(handle_, op, inputs.data(), inputs.size(), outputs.data(), outputs.size());
  }

  /// Tells the model's card what it is of: the runtime with its version, and the SHA-256 of its file as 64
  /// hexadecimal digits, as `sha256` makes them; an empty text for neither.
  opdump_status describe(Text runtime, Text sha256 = "") {
    opdump_attach_model_info info{};
    info.struct_bytes = sizeof info;
    info.runtime = *runtime.c_str() == '\0' ? nullptr : runtime.c_str();
    info.sha256 = *sha256.c_str() == '\0' ? nullptr : sha256.c_str();
    return opdump_attach_describe_model(handle_, &info);
  }

  /// Tells the model's card of operator `op`: before the first step, or of a dynamic model before it ends.
  opdump_status describe(std::uint32_t op, const TensorInfos& inputs, const TensorInfos& outputs,
                         const std::vector<opdump_attribute>& attributes = {}, std::uint32_t flags = 0) {
    opdump_attach_op_info info{};
    info.struct_bytes = sizeof info;
    info.inputs = inputs.data();
    info.input_count = inputs.size();
    info.outputs = outputs.data();
    info.output_count = outputs.size();
    info.attributes = attributes.data();
    info.attribute_count = static_cast<std::uint32_t>(attributes.size());
    info.flags = flags;
    return opdump_attach_describe_op(handle_, op, &info);
  }

  /// The operator of that name; kNoOp: there is none.
  std::uint32_t find(Text name) const { return opdump_attach_find_op(handle_, name.c_str()); }

  /// Those that some step captures: the only ones that a runtime needs to tap. None while the dump is off.
  std::vector<std::uint32_t> wanted_ops() const {
    std::vector<std::uint32_t> ops(opdump_attach_wanted_ops(handle_, nullptr, 0));
    if (!ops.empty()) opdump_attach_wanted_ops(handle_, ops.data(), static_cast<std::uint32_t>(ops.size()));
    return ops;
  }

  /// Whether some step captures inputs, or outputs, of operator `op`.
  bool wants_inputs(std::uint32_t op) const { return wants_part(op, OPDUMP_WANTS_INPUTS); }
  bool wants_outputs(std::uint32_t op) const { return wants_part(op, OPDUMP_WANTS_OUTPUTS); }

  /// Between steps: OPDUMP_TAP_BREAKS_FUSION and so on, of an operator that was added without.
  void flag_op(std::uint32_t op, std::uint32_t flags) { opdump_attach_flag_op(handle_, op, flags); }

  opdump_attach_model* handle() const { return handle_; }

 protected:
  AnyModel(Dump& dump, Text name, std::uint32_t id, const char* graph_name, bool dynamic,
           std::uint32_t max_ops) {
    opdump_attach_model_options options{};
    options.struct_bytes = sizeof options;
    options.name = name.c_str();
    options.graph_name = graph_name;
    options.id = id;
    options.dynamic = dynamic ? 1 : 0;
    options.max_ops = max_ops;
    opdump_attach_model_create(dump.handle(), &options, &handle_);
    gate_ = opdump_attach_gate_of(handle_);
  }
  ~AnyModel() { opdump_attach_model_destroy(handle_); }

  bool wants_part(std::uint32_t op, std::uint32_t part) const {
    return (opdump_attach_wanted_parts(handle_, op) & part) != 0;
  }

  opdump_attach_model* handle_ = nullptr;
  const opdump_attach_gate* gate_ = nullptr;
};

/// What may be told of an operator, besides its name and type. Refers to everything.
struct OpDetails {
  std::uint32_t task_id = OPDUMP_NO_ID;
  std::uint32_t stream_id = OPDUMP_NO_ID;
  std::uint32_t flags = 0;                    ///< as OPDUMP_TAP_BREAKS_FUSION
  std::vector<const char*> original_names{};  ///< operators of the framework that are in this one
  std::vector<opdump_attribute> attributes{};
  bool marked = false;  ///< the program wants it, whatever its name
};

/// A model whose operators are all known before its first step.
class Model : public AnyModel {
 public:
  Model(Dump& dump, Text name, std::uint32_t id = 0, const char* graph_name = nullptr)
      : AnyModel(dump, name, id, graph_name, false, 0) {}

  /// Adds the next operator in execution order; returns its number. A name that repeats gets a number behind
  /// it. kNoOp from the first step of a dump on.
  std::uint32_t add_op(Text name, Text type, const OpDetails& details = OpDetails()) {
    opdump_attach_op op{};
    op.struct_bytes = sizeof op;
    op.op.name = name.c_str();
    op.op.type = type.c_str();
    op.op.task_id = details.task_id;
    op.op.stream_id = details.stream_id;
    op.op.original_names = details.original_names.data();
    op.op.original_name_count = static_cast<std::uint32_t>(details.original_names.size());
    op.op.attributes = details.attributes.data();
    op.op.attribute_count = static_cast<std::uint32_t>(details.attributes.size());
    op.op.marked = details.marked ? 1 : 0;
    op.flags = details.flags;
    std::uint32_t index = kNoOp;
    opdump_attach_add_op(handle_, &op, &index);
    return index;
  }
};

/// A model whose operators become known only as they run. They are told apart by name, type, and by how often
/// both have come up in the step.
class DynamicModel : public AnyModel {
 public:
  DynamicModel(Dump& dump, Text name, std::uint32_t id = 0, const char* graph_name = nullptr,
               std::uint32_t max_ops = 0)
      : AnyModel(dump, name, id, graph_name, true, max_ops) {}

  /// For each operator of a step, once, in the order in which they run: its number if the step captures it,
  /// else kNoOp. Any thread.
  std::uint32_t see(Text name, Text type) {
    return opdump_attach_see_op(handle_, name.c_str(), type.c_str());
  }
};

}  // namespace opdump::attach
