#pragma once
#include <ggml-backend.h>
#include <ggml.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "opdump/attach.hpp"

/// Dumps what ggml computes, in the stock binaries of llama.cpp, whisper.cpp and others. C++17; needs ggml's
/// own headers. ggml asks before each node of a graph whether it is to be seen, and runs the nodes up to the
/// next one that is in one go: nodes that no config asks for cost a question and nothing else.
///
///     opdump::attach::Dump dump;              // the config that OPDUMP_CONFIG names
///     opdump::ggml::Tap tap(dump, "llama");
///     tap.set(context_params);                // llama_context_params, before llama_init_from_model; or
///     tap.set(scheduler);                     // ggml_backend_sched_t, before a graph is computed
///     for (...) {
///       const auto step = tap.step();
///       llama_decode(context, batch);
///     }
///
/// Read with ggml 0.25.1 (llama.cpp de3ff815).
namespace opdump::ggml {

/// The dtype of elements of `type`; OPDUMP_UINT8, as the bytes of its blocks, for a type that has them.
inline std::int32_t dtype_of(ggml_type type) {
  return ggml_blck_size(type) == 1 ? opdump_dtype_named(ggml_type_name(type)) : std::int32_t{OPDUMP_UINT8};
}

/// Whether a node only looks at memory that another one has filled.
inline bool computes_nothing(const ggml_tensor& node) {
  switch (node.op) {
    case GGML_OP_NONE:
    case GGML_OP_VIEW:
    case GGML_OP_RESHAPE:
    case GGML_OP_PERMUTE:
    case GGML_OP_TRANSPOSE:
      return true;
    default:
      return false;
  }
}

/// Whether the CPU cannot read what is in the buffer.
inline bool is_elsewhere(ggml_backend_buffer_t buffer) {
  return buffer != nullptr && !ggml_backend_buffer_is_host(buffer);
}

inline ggml_backend_buffer_t buffer_of(const ggml_tensor& tensor) {
  return tensor.view_src != nullptr ? tensor.view_src->buffer : tensor.buffer;
}

/// Whether a backend lays the tensors of that buffer out in a way of its own, as the CPU does with weights
/// that it repacks: nothing can read them then, not even ggml.
inline bool is_repacked(ggml_backend_buffer_t buffer) {
  const ggml_backend_buffer_type_t type = ggml_backend_buffer_get_type(buffer);
  const ggml_backend_dev_t device = ggml_backend_buft_get_device(type);
  if (device == nullptr) return false;
  const auto extra = reinterpret_cast<ggml_backend_dev_get_extra_bufts_t>(ggml_backend_reg_get_proc_address(
      ggml_backend_dev_backend_reg(device), "ggml_backend_dev_get_extra_bufts"));
  const ggml_backend_buffer_type_t* types = extra == nullptr ? nullptr : extra(device);
  while (types != nullptr && *types != nullptr && *types != type) ++types;
  return types != nullptr && *types == type;
}

/// For tensors that the CPU cannot read: ggml's own call, which waits for the backend.
inline opdump_status read(void* tensor, void* to, std::uint64_t offset, std::size_t bytes) {
  ggml_backend_tensor_get(static_cast<const ggml_tensor*>(tensor), to, static_cast<std::size_t>(offset),
                          bytes);
  return OPDUMP_OK;
}

/// Adds `tensor`, which ggml must have computed, with its strides, dims outermost first. Blocks of quantised
/// elements lie in rows of bytes; the dims in the framework are then those of the elements.
inline void add(attach::Tensors& tensors, ggml_tensor& tensor) {
  std::int64_t dims[GGML_MAX_DIMS], strides[GGML_MAX_DIMS], elements[GGML_MAX_DIMS];
  const int rank = ggml_n_dims(&tensor);
  for (int i = 0; i < rank; ++i) {
    const int from = rank - 1 - i;
    dims[i] = elements[i] = tensor.ne[from];
    strides[i] = static_cast<std::int64_t>(tensor.nb[from]);
  }
  const bool in_blocks = ggml_blck_size(tensor.type) != 1;
  if (in_blocks) {
    dims[rank - 1] = static_cast<std::int64_t>(ggml_row_size(tensor.type, tensor.ne[0]));
    strides[rank - 1] = 1;
  }
  struct Range {
    const std::int64_t* first;
    int count;
    const std::int64_t* begin() const { return first; }
    const std::int64_t* end() const { return first + count; }
  };
  tensors.add(tensor.data, dtype_of(tensor.type), Range{dims, rank}, ggml_nbytes(&tensor))
      .strides(Range{strides, rank});
  if (in_blocks) tensors.original_dims(Range{elements, rank});
  const ggml_backend_buffer_t buffer = buffer_of(tensor);
  if (is_elsewhere(buffer)) tensors.read_by(read, &tensor);
}

/// Adds what is known of `tensor` before the model runs, for its card: all of a weight, and of others, whose
/// shape depends on the step, name and dtype.
inline void add(attach::TensorInfos& infos, const ggml_tensor& tensor) {
  const ggml_backend_buffer_t buffer = buffer_of(tensor);
  if (buffer != nullptr && ggml_backend_buffer_get_usage(buffer) == GGML_BACKEND_BUFFER_USAGE_WEIGHTS) {
    std::vector<std::int64_t> dims(tensor.ne, tensor.ne + ggml_n_dims(&tensor));
    dims[0] = static_cast<std::int64_t>(ggml_row_size(tensor.type, dims[0]) /
                                        (ggml_blck_size(tensor.type) == 1 ? ggml_type_size(tensor.type) : 1));
    infos.add(tensor.name, dtype_of(tensor.type), std::vector<std::int64_t>(dims.rbegin(), dims.rend()));
    infos.constant();
  } else {
    infos.add(tensor.name, dtype_of(tensor.type));
  }
  if (ggml_blck_size(tensor.type) != 1)
    infos.quantised(attach::Quantisation::blocks(ggml_type_name(tensor.type),
                                                 static_cast<std::uint32_t>(ggml_blck_size(tensor.type)),
                                                 static_cast<std::uint32_t>(ggml_type_size(tensor.type))));
}

/// Captures the nodes of one model's graphs. An operator is a node that computes something: its name, what it does
/// (GGML_OP_MUL_MAT is MUL_MAT), and how often both have come up in the step tell it apart, so that prompt and single
/// tokens share operators though their shapes differ. Inputs are a node's sources as they are once it has run; one
/// that the node writes over, or that the backend has repacked, is given as a tensor without elements. The tap
/// outlives the context or scheduler that it is set in, and is used by one graph at a time.
class Tap {
 public:
  Tap(attach::Dump& dump, attach::Text model_name, std::uint32_t id = 0) : model_(dump, model_name, id) {
    model_.describe(std::string("ggml ") + ggml_version());
  }
  Tap(const Tap&) = delete;
  Tap& operator=(const Tap&) = delete;

  /// For llama_context_params, or any struct that names its callback so.
  template <class ContextParams>
  void set(ContextParams& params) {
    params.cb_eval = eval;
    params.cb_eval_user_data = this;
  }
  void set(ggml_backend_sched_t scheduler) { ggml_backend_sched_set_eval_callback(scheduler, eval, this); }

  /// Around what computes the graphs of one step.
  [[nodiscard]] attach::Step step(std::uint64_t number = attach::kNextStep) { return model_.step(number); }

  attach::DynamicModel& model() { return model_; }

  /// The callback of both.
  static bool eval(ggml_tensor* node, bool ask, void* tap) {
    Tap& self = *static_cast<Tap*>(tap);
    return ask ? self.wants(*node) : self.capture(*node);
  }

 private:
  bool wants(const ggml_tensor& node) {
    if (computes_nothing(node)) return false;
    const std::uint32_t op = model_.see(node.name, ggml_op_desc(&node));
    if (op == attach::kNoOp) return false;
    op_ = op;
    return true;
  }

  /// True, as false would end the graph.
  bool capture(ggml_tensor& node) {
    if (op_ == attach::kNoOp) return true;
    inputs_.clear();
    outputs_.clear();
    for (ggml_tensor* source : node.src) {
      if (source == nullptr) break;
      if (is_written_over(*source, node) ||
          (is_elsewhere(buffer_of(*source)) && is_repacked(buffer_of(*source)))) {
        inputs_.add(nullptr, dtype_of(source->type), {0});
      } else {
        add(inputs_, *source);
      }
    }
    add(outputs_, node);
    model_.capture(op_, inputs_, outputs_);
    if (op_ >= described_.size()) described_.resize(op_ + std::size_t{1});
    if (!described_[op_]) describe(node);
    op_ = attach::kNoOp;
    return true;
  }

  void describe(const ggml_tensor& node) {
    attach::TensorInfos inputs, outputs;
    for (const ggml_tensor* source : node.src) {
      if (source == nullptr) break;
      add(inputs, *source);
    }
    add(outputs, node);
    model_.describe(op_, inputs, outputs);
    described_[op_] = true;
  }

  static bool is_written_over(const ggml_tensor& source, const ggml_tensor& node) {
    const char* const from = static_cast<const char*>(source.data);
    const char* const to = static_cast<const char*>(node.data);
    return buffer_of(source) == buffer_of(node) && from < to + ggml_nbytes(&node) &&
           to < from + ggml_nbytes(&source);
  }

  attach::DynamicModel model_;
  std::uint32_t op_ = attach::kNoOp;  ///< of the node that runs
  std::vector<bool> described_;       ///< by operator
  attach::Tensors inputs_;
  attach::Tensors outputs_;
};

}  // namespace opdump::ggml
