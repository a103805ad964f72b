#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

// What the adapter calls of Arm NN from 21.05 on, in our own words, and a runtime made of it that calls debug
// callbacks as the real one does. Checked against the headers of ARM-software/armnn at 4a621c4 (layers) and
// of one with OptimizerOptionsOpaque.
namespace armnn {

enum class DataType { Float16 = 0, Float32 = 1, QAsymmS8 = 8, Signed64 = 10 };

constexpr const char* GetDataTypeName(DataType type) {
  return type == DataType::Float16    ? "Float16"
         : type == DataType::Float32  ? "Float32"
         : type == DataType::QAsymmS8 ? "QAsymmS8"
                                      : "Signed64";
}

enum class LayerType { Activation, Convolution2d, Input, Output, Pad };

inline const char* GetLayerTypeAsCString(LayerType type) {
  constexpr const char* kNames[] = {"Activation", "Convolution2d", "Input", "Output", "Pad"};
  return kNames[static_cast<int>(type)];
}

enum class Status { Success = 0, Failure = 1 };
using NetworkId = int;
using LayerBindingId = int;

class LayerGuid {
 public:
  explicit LayerGuid(std::uint64_t guid) : guid_(guid) {}
  operator std::uint64_t() const { return guid_; }

 private:
  std::uint64_t guid_;
};

class TensorShape {
 public:
  TensorShape(std::initializer_list<unsigned int> dims) : dims_(dims) {}
  unsigned int GetNumDimensions() const { return static_cast<unsigned int>(dims_.size()); }
  unsigned int operator[](unsigned int i) const { return dims_[i]; }

 private:
  std::vector<unsigned int> dims_;
};

class TensorInfo {
 public:
  explicit TensorInfo(DataType type) : type_(type) {}
  DataType GetDataType() const { return type_; }

 private:
  DataType type_;
};

struct BaseDescriptor {};
class ConstTensor {};
class IStrategy;

class IOutputSlot {
 public:
  virtual const TensorInfo& GetTensorInfo() const = 0;

 protected:
  ~IOutputSlot() = default;
};

class IConnectableLayer {
 public:
  virtual const char* GetName() const = 0;
  virtual unsigned int GetNumOutputSlots() const = 0;
  virtual const IOutputSlot& GetOutputSlot(unsigned int index) const = 0;
  virtual LayerGuid GetGuid() const = 0;
  virtual LayerType GetType() const = 0;

 protected:
  ~IConnectableLayer() = default;
};

class IStrategy {
 protected:
  IStrategy() = default;
  virtual ~IStrategy() = default;

 public:
  virtual void ExecuteStrategy(const IConnectableLayer* layer, const BaseDescriptor& descriptor,
                               const std::vector<ConstTensor>& constants, const char* name,
                               const LayerBindingId id = 0) = 0;
};

class INetwork {
 public:
  void ExecuteStrategy(IStrategy& strategy) const {
    for (const IConnectableLayer* layer : layers) strategy.ExecuteStrategy(layer, {}, {}, layer->GetName());
  }
  std::vector<const IConnectableLayer*> layers;
};

class OptimizerOptionsOpaque {
 public:
  bool GetReduceFp32ToFp16() const { return false; }
  bool GetReduceFp32ToBf16() const { return false; }
  bool GetDebugEnabled() const { return debug_; }
  void SetDebugEnabled(bool debug) { debug_ = debug; }

 private:
  bool debug_ = false;
};

class ITensorHandle {
 public:
  virtual ~ITensorHandle() = default;
  virtual const void* Map(bool blocking = true) const = 0;
  virtual void Unmap() const = 0;
  virtual TensorShape GetStrides() const = 0;
  virtual TensorShape GetShape() const = 0;
};

using DebugCallbackFunction = std::function<void(LayerGuid, unsigned int, ITensorHandle*)>;

class IOptimizedNetwork {
 public:
  Status SerializeToDot(std::ostream& stream) const {
    stream << graph;
    return Status::Success;
  }
  std::string graph;
  bool has_debug_layers = false;
};

using IOptimizedNetworkPtr = std::unique_ptr<IOptimizedNetwork>;

class IRuntime {
 public:
  Status LoadNetwork(NetworkId& id, IOptimizedNetworkPtr network) {
    id = 7;
    loaded = std::move(network);
    return Status::Success;
  }
  void RegisterDebugCallback(NetworkId, const DebugCallbackFunction& function) { callback = function; }

  IOptimizedNetworkPtr loaded;
  DebugCallbackFunction callback;
};

}  // namespace armnn
