#pragma once
// ncnn is found in its own folder or in that of its headers.
#if __has_include(<ncnn/net.h>)
#include <ncnn/cpu.h>
#include <ncnn/layer.h>
#include <ncnn/net.h>
#else
#include <cpu.h>
#include <layer.h>
#include <net.h>
#endif

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "opdump/attach.hpp"
#include "platform/runtimes/common/tensors.hpp"

/// Dumps what ncnn computes, without a change to it. C++17; needs ncnn's own headers. In the place of each
/// layer that some step captures, the net gets one that calls it.
///
///     opdump::attach::Dump dump;                // the config that OPDUMP_CONFIG names
///     net.load_param(...); net.load_model(...);
///     opdump::ncnn::Tap tap(dump, "net", net);  // goes before the net
///     for (...) {
///       const auto step = tap.step();
///       ncnn::Extractor extractor = net.create_extractor();
///       ...
///     }
///
/// Read at revision a4d2ea1 of Tencent/ncnn, compiled, not run in tests; run by hand, layers packed by eight.
namespace opdump::ncnn {

/// The dtype of what a layer reads or writes under `option`. A Mat only tells the bits of its elements: 32
/// are taken for float32, 8 for int8.
inline std::int32_t dtype_of(int bits, const ::ncnn::Layer& layer, const ::ncnn::Option& option) {
  if (bits != 16) return opdump_dtype_of_kind(bits == 8 ? 'i' : 'f', static_cast<std::uint32_t>(bits));
  if (!option.use_bf16_storage) return OPDUMP_FLOAT16;
  const bool has_fp16 = ::ncnn::cpu_support_arm_asimdhp() != 0 || ::ncnn::cpu_support_riscv_zfh() != 0;
  return option.use_fp16_storage && layer.support_fp16_storage && has_fp16 ? OPDUMP_FLOAT16 : OPDUMP_BFLOAT16;
}

/// Adds `mat`, outermost dim first: without the gaps between channels, and with packed channels unpacked, as
/// dims [c / pack, pack, h, w]; the framework's dims are then [c, h, w].
inline void add(attach::Tensors& tensors, const ::ncnn::Mat& mat, const ::ncnn::Layer& layer,
                const ::ncnn::Option& option) {
  if (mat.empty() || mat.elempack == 0) return runtimes::add_absent(tensors);
  const auto element = static_cast<std::int64_t>(mat.elemsize);
  const std::int64_t scalar = element / mat.elempack;
  std::int64_t dims[6], strides[6], own_dims[5];
  std::size_t rank = 0, own_rank = 0;
  const auto push = [&](std::int64_t dim, std::int64_t stride, std::int64_t own_dim) {
    dims[rank] = dim;
    strides[rank++] = stride;
    if (own_dim != 0) own_dims[own_rank++] = own_dim;
  };
  const std::int64_t row = mat.w * element;
  const std::int64_t plane = mat.h * row;
  const auto channel = static_cast<std::int64_t>(mat.cstep) * element;
#if NCNN_BATCH
  if (mat.n > 1) push(mat.n, static_cast<std::int64_t>(mat.nstep) * element, mat.n);
#endif
  const int outer = mat.dims == 1 ? mat.w : mat.dims == 2 ? mat.h : mat.c;
  push(outer, mat.dims == 1 ? element : mat.dims == 2 ? row : channel, std::int64_t{outer} * mat.elempack);
  if (mat.elempack != 1) push(mat.elempack, scalar, 0);
  if (mat.dims == 4) push(mat.d, plane, mat.d);
  if (mat.dims >= 3) push(mat.h, row, mat.h);
  if (mat.dims >= 2) push(mat.w, element, mat.w);
  tensors.add(mat.data, dtype_of(static_cast<int>(scalar * 8), layer, option), runtimes::Numbers(dims, rank))
      .strides(runtimes::Numbers(strides, rank));
  if (mat.elempack != 1) tensors.original_dims(runtimes::Numbers(own_dims, own_rank));
}

/// The layers of one net that a config asks for. Inputs that a layer writes over are copied before it runs.
/// Layers that run on a GPU are not seen, which the log tells at the end.
///
/// Threads: those of the extractors, one extractor at a time.
class Tap {
 public:
  /// Of a loaded net, which outlives the tap. The dump has started; otherwise nothing is tapped.
  Tap(attach::Dump& dump, attach::Text model_name, ::ncnn::Net& net, std::uint32_t id = 0)
      : net_(net), model_(dump, model_name, id) {
    std::vector<::ncnn::Layer*>& layers = net.mutable_layers();
    std::vector<::ncnn::Layer**> described;
    for (::ncnn::Layer*& layer : layers) {
#if NCNN_STRING
      if (layer->type == "Input") continue;  // computes nothing
      model_.add_op(layer->name, layer->type);
#else
      model_.add_op(std::to_string(described.size()), "layer" + std::to_string(layer->typeindex));
#endif
      described.push_back(&layer);
    }
    for (const std::uint32_t op : model_.wanted_ops()) {
      tapped_.push_back(std::make_unique<Layer>(*described[op], *this, op));
      *described[op] = tapped_.back().get();
    }
  }
  Tap(const Tap&) = delete;
  Tap& operator=(const Tap&) = delete;
  /// Gives the net its own layers back.
  ~Tap() {
    for (const std::unique_ptr<Layer>& tapped : tapped_) tapped->place = &tapped->inner;
  }

  /// Around what one extractor computes.
  [[nodiscard]] attach::Step step(std::uint64_t number = attach::kNextStep) {
    return model_.step(number);
  }

  attach::Model& model() {
    return model_;
  }

 private:
  using Mats = std::vector<::ncnn::Mat>;

  /// Has all that the net asks a layer: flags, blobs and names are those of the inner one.
  class Layer final : public ::ncnn::Layer {
   public:
    Layer(::ncnn::Layer*& in_net, Tap& owner, std::uint32_t number)
        : inner(*in_net), place(in_net), op(number), tap_(owner) {
      static_cast<::ncnn::Layer&>(*this) = inner;
    }

    int destroy_pipeline(const ::ncnn::Option& opt) override { return inner.destroy_pipeline(opt); }

    int forward(const Mats& bottoms_in, Mats& tops_out, const ::ncnn::Option& opt) const override {
      const int status = inner.forward(bottoms_in, tops_out, opt);
      if (status == 0) capture(bottoms_in.data(), bottoms_in.size(), tops_out.data(), tops_out.size(), opt);
      return status;
    }
    int forward(const ::ncnn::Mat& bottom, ::ncnn::Mat& top, const ::ncnn::Option& opt) const override {
      const int status = inner.forward(bottom, top, opt);
      if (status == 0) capture(&bottom, 1, &top, 1, opt);
      return status;
    }
    int forward_inplace(Mats& mats, const ::ncnn::Option& opt) const override {
      Mats before;
      if (tap_.model_.wants(op)) {
        for (const ::ncnn::Mat& mat : mats) before.push_back(mat.clone());
      }
      const int status = inner.forward_inplace(mats, opt);
      if (status == 0) capture(before.data(), before.size(), mats.data(), mats.size(), opt);
      return status;
    }
    int forward_inplace(::ncnn::Mat& mat, const ::ncnn::Option& opt) const override {
      const ::ncnn::Mat before = tap_.model_.wants(op) ? mat.clone() : ::ncnn::Mat();
      const int status = inner.forward_inplace(mat, opt);
      if (status == 0) capture(&before, 1, &mat, 1, opt);
      return status;
    }

#if NCNN_VULKAN
    using VkMats = std::vector<::ncnn::VkMat>;
    int upload_model(::ncnn::VkTransfer& cmd, const ::ncnn::Option& opt) override {
      return inner.upload_model(cmd, opt);
    }
    int forward(const VkMats& bottoms_in, VkMats& tops_out, ::ncnn::VkCompute& cmd,
                const ::ncnn::Option& opt) const override {
      return inner.forward(bottoms_in, tops_out, cmd, opt);
    }
    int forward(const ::ncnn::VkMat& bottom, ::ncnn::VkMat& top, ::ncnn::VkCompute& cmd,
                const ::ncnn::Option& opt) const override {
      return inner.forward(bottom, top, cmd, opt);
    }
    int forward_inplace(VkMats& mats, ::ncnn::VkCompute& cmd, const ::ncnn::Option& opt) const override {
      return inner.forward_inplace(mats, cmd, opt);
    }
    int forward_inplace(::ncnn::VkMat& mat, ::ncnn::VkCompute& cmd,
                        const ::ncnn::Option& opt) const override {
      return inner.forward_inplace(mat, cmd, opt);
    }
#endif

    ::ncnn::Layer& inner;
    ::ncnn::Layer*& place;  ///< in the net
    const std::uint32_t op;

   private:
    void capture(const ::ncnn::Mat* in, std::size_t in_count, const ::ncnn::Mat* out, std::size_t out_count,
                 const ::ncnn::Option& opt) const {
      if (!tap_.model_.wants(op)) return;
      attach::Tensors inputs, outputs;
      for (std::size_t i = 0; i < in_count; ++i) add(inputs, in[i], inner, opt);
      for (std::size_t i = 0; i < out_count; ++i) {
        add(outputs, out[i], inner, opt);
#if NCNN_STRING
        outputs.name(tap_.net_.blobs()[static_cast<std::size_t>(tops[i])].name.c_str());
#endif
      }
      tap_.model_.capture(op, inputs, outputs);
    }

    Tap& tap_;
  };

  [[maybe_unused]] ::ncnn::Net& net_;
  attach::Model model_;
  std::vector<std::unique_ptr<Layer>> tapped_;
};

}  // namespace opdump::ncnn
