#pragma once
#include <cstdint>
#include <exception>
#include <map>
#include <opencv2/dnn.hpp>
#include <opencv2/dnn/layer.details.hpp>
#include <string>
#include <utility>
#include <vector>

#include "opdump/attach.hpp"

/// Dumps what OpenCV's networks compute, in its stock libraries. C++17; needs OpenCV's own headers. The
/// network is read once to see its layers, and, where a config asks for any of them, a second time, in which
/// the layers asked for are put into ones that forward to them. The others, and all of them while nothing is
/// asked for, are those that OpenCV makes.
///
///     opdump::attach::Dump dump;             // the config that OPDUMP_CONFIG names
///     opdump::opencv::Tap tap(dump, "ocr");  // outlives the network
///     cv::dnn::Net net = tap.read([] { return cv::dnn::readNet("ocr.onnx"); });
///     for (...) {
///       net.setInput(...);
///       const auto step = tap.step();
///       net.forward();
///     }
///
/// Read with OpenCV 4.6.0.
namespace opdump::opencv {

/// The dtype of elements of `depth`, as CV_32F. Targets with floats of 16 bits keep them in CV_16S.
inline std::int32_t dtype_of(int depth, int target = cv::dnn::DNN_TARGET_CPU) {
  switch (depth) {
    case CV_8U:
      return OPDUMP_UINT8;
    case CV_8S:
      return OPDUMP_INT8;
    case CV_16U:
      return OPDUMP_UINT16;
    case CV_16S:
      return target == cv::dnn::DNN_TARGET_OPENCL_FP16 ? OPDUMP_FLOAT16 : OPDUMP_INT16;
    case CV_32S:
      return OPDUMP_INT32;
    case CV_32F:
      return OPDUMP_FLOAT32;
    case CV_64F:
      return OPDUMP_FLOAT64;
    case CV_16F:
      return OPDUMP_FLOAT16;
    default:
      return OPDUMP_UNDEFINED;
  }
}

/// Adds `blob` with its strides; channels, where it has several, are its innermost dim. It stays the caller's.
inline void add(attach::Tensors& tensors, const cv::Mat& blob, int target = cv::dnn::DNN_TARGET_CPU) {
  std::vector<std::int64_t> dims, strides;
  for (int i = 0; i < blob.dims; ++i) {
    dims.push_back(blob.size[i]);
    strides.push_back(static_cast<std::int64_t>(blob.step[i]));
  }
  if (blob.channels() > 1) {
    dims.push_back(blob.channels());
    strides.push_back(static_cast<std::int64_t>(blob.elemSize1()));
  }
  tensors.add(blob.data, dtype_of(blob.depth(), target), dims).strides(strides);
}

/// The name that a layer of OpenCV has in the ONNX file: without OpenCV's own "onnx_node!" before it.
inline std::string name_in_file(const std::string& layer) {
  const std::size_t mark = layer.find('!');
  return layer.compare(0, 9, "onnx_node") == 0 && mark != std::string::npos ? layer.substr(mark + 1) : layer;
}

/// Captures the layers of one network. An operator is a layer, whose name is OpenCV's; a config may name it as the
/// file does, too. Inputs are seen as outputs are: a tapped layer does not compute in place. Nor is it fused with its
/// neighbours, so that its result may differ in the last bits from what OpenCV computes fused;
/// `net.enableFusion(false)` makes both the same. A tapped layer runs on the CPU or by OpenCL, whatever backend the
/// network prefers. A network that runs on several threads at a time is none: OpenCV forbids that.
class Tap {
 public:
  Tap(attach::Dump& dump, attach::Text model_name, std::uint32_t id = 0) : model_(dump, model_name, id) {}
  Tap(const Tap&) = delete;
  Tap& operator=(const Tap&) = delete;

  /// What `read_net` returns, tapped as the config asks that is in force by now. Once for each tap. Types of
  /// layers are overridden meanwhile, for this thread only. Throws what `read_net` throws.
  template <class ReadNet>
  [[nodiscard]] cv::dnn::Net read(ReadNet read_net) {
    cv::dnn::Net net = read_net();
    if (!add_ops(net)) return net;
    const Overrides overrides(*this);
    net = read_net();
    // Some importers leave it to the first run to make a layer.
    for (const std::string& name : net.getLayerNames()) net.getLayer(net.getLayerId(name));
    return net;
  }

  /// Around the `forward` of one step.
  [[nodiscard]] attach::Step step(std::uint64_t number = attach::kNextStep) { return model_.step(number); }

  attach::Model& model() { return model_; }

 private:
  using Layer = cv::dnn::Layer;
  using OpsOfType = std::map<std::string, std::uint32_t>;  // by name

  /// Forwards to the layer in it, and captures that.
  class Tapped final : public Layer {
   public:
    using Layer::finalize;
    using Layer::forward;

    Tapped(const cv::dnn::LayerParams& params, cv::Ptr<Layer> layer, Tap& tap, std::uint32_t op)
        : Layer(params), layer_(std::move(layer)), tap_(tap), op_(op) {
      blobs = layer_->blobs;
      name = layer_->name;
      type = layer_->type;
      preferableTarget = layer_->preferableTarget;
    }

    void finalize(cv::InputArrayOfArrays inputs, cv::OutputArrayOfArrays outputs) override {
      layer_->preferableTarget = preferableTarget;
      layer_->blobs = blobs;
      layer_->finalize(inputs, outputs);
    }
    void forward(cv::InputArrayOfArrays inputs, cv::OutputArrayOfArrays outputs,
                 cv::OutputArrayOfArrays internals) override {
      layer_->forward(inputs, outputs, internals);
      if (tap_.model_.wants(op_)) tap_.capture(op_, inputs, outputs, preferableTarget);
    }
    bool getMemoryShapes(const std::vector<cv::dnn::MatShape>& inputs, const int required_outputs,
                         std::vector<cv::dnn::MatShape>& outputs,
                         std::vector<cv::dnn::MatShape>& internals) const override {
      layer_->getMemoryShapes(inputs, required_outputs, outputs, internals);
      return false;  // not in place
    }
    bool updateMemoryShapes(const std::vector<cv::dnn::MatShape>& inputs) override {
      return layer_->updateMemoryShapes(inputs);
    }
    bool supportBackend(int backend) override {
      return backend == cv::dnn::DNN_BACKEND_OPENCV && layer_->supportBackend(backend);
    }
    int inputNameToIndex(cv::String input) override { return layer_->inputNameToIndex(input); }
    int outputNameToIndex(const cv::String& output) override { return layer_->outputNameToIndex(output); }
    void getScaleShift(cv::Mat& scale, cv::Mat& shift) const override { layer_->getScaleShift(scale, shift); }
    void getScaleZeropoint(float& scale, int& zero) const override { layer_->getScaleZeropoint(scale, zero); }
    bool tryQuantize(const std::vector<std::vector<float>>& scales,
                     const std::vector<std::vector<int>>& zeros, cv::dnn::LayerParams& params) override {
      return layer_->tryQuantize(scales, zeros, params);
    }
    int64 getFLOPS(const std::vector<cv::dnn::MatShape>& inputs,
                   const std::vector<cv::dnn::MatShape>& outputs) const override {
      return layer_->getFLOPS(inputs, outputs);
    }

   private:
    cv::Ptr<Layer> layer_;
    Tap& tap_;
    std::uint32_t op_;
  };

  /// Overrides the types of the wanted layers while it lives. OpenCV keeps a stack of makers for each type.
  class Overrides {
   public:
    explicit Overrides(Tap& tap) : types_(tap.wanted_), before_(std::exchange(reading(), &tap)) {
      for (const auto& [type, ops] : types_) cv::dnn::LayerFactory::registerLayer(type, make);
    }
    Overrides(const Overrides&) = delete;
    Overrides& operator=(const Overrides&) = delete;
    ~Overrides() {
      for (const auto& [type, ops] : types_) cv::dnn::LayerFactory::unregisterLayer(type);
      reading() = before_;
    }

   private:
    const std::map<std::string, OpsOfType>& types_;
    Tap* before_;
  };

  /// The tap that this thread reads a network for; null: layers stay as they are.
  static Tap*& reading() {
    thread_local Tap* tap = nullptr;
    return tap;
  }

  /// Makes a layer as OpenCV would without the override, which it takes away meanwhile, and taps it.
  static cv::Ptr<Layer> make(cv::dnn::LayerParams& params) {
    struct WithoutOverride {
      const std::string type;
      Tap* const tap = std::exchange(reading(), nullptr);
      explicit WithoutOverride(const std::string& of) : type(of) {
        cv::dnn::LayerFactory::unregisterLayer(type);
      }
      ~WithoutOverride() {
        cv::dnn::LayerFactory::registerLayer(type, make);
        reading() = tap;
      }
    };
    const WithoutOverride without(params.type);
    cv::Ptr<Layer> layer = cv::dnn::LayerFactory::createLayerInstance(without.type, params);
    if (without.tap == nullptr || layer.empty()) return layer;
    const OpsOfType& ops = without.tap->wanted_[without.type];
    const auto op = ops.find(params.name);
    if (op == ops.end()) return layer;
    return cv::Ptr<Layer>(new Tapped(params, layer, *without.tap, op->second));
  }

  /// False: the config asks for none of them.
  bool add_ops(cv::dnn::Net& net) {
    std::vector<std::pair<std::string, std::string>> layers;  // name and type
    for (const std::string& name : net.getLayerNames()) {
      layers.emplace_back(name, net.getLayer(net.getLayerId(name))->type);
      const std::string in_file = name_in_file(name);
      attach::OpDetails details;
      details.flags = OPDUMP_TAP_BREAKS_FUSION;
      if (in_file != name) details.original_names = {in_file.c_str()};
      model_.add_op(name, layers.back().second, details);
    }
    for (const std::uint32_t op : model_.wanted_ops()) wanted_[layers[op].second][layers[op].first] = op;
    return !wanted_.empty();
  }

  /// OpenCV's own call reads what is on a device.
  void capture(std::uint32_t op, cv::InputArrayOfArrays inputs, cv::InputArrayOfArrays outputs, int target) {
    std::vector<cv::Mat> read, written;
    inputs_.clear();
    outputs_.clear();
    try {
      inputs.getMatVector(read);
      outputs.getMatVector(written);
    } catch (const std::exception&) {
      outputs_.add(nullptr, OPDUMP_UNDEFINED, {1});  // the record is lost, which is counted and told
    }
    for (const cv::Mat& blob : read) add(inputs_, blob, target);
    for (const cv::Mat& blob : written) add(outputs_, blob, target);
    model_.capture(op, inputs_, outputs_);
  }

  attach::Model model_;
  std::map<std::string, OpsOfType> wanted_;  ///< by type
  attach::Tensors inputs_;
  attach::Tensors outputs_;
};

}  // namespace opdump::opencv
