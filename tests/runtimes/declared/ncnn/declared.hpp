#pragma once
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

// What the adapter calls of ncnn, in our own words, and a net made of it that calls in the order of the real
// one. Checked against revision a4d2ea1 of Tencent/ncnn.
#define NCNN_STRING 1
#define NCNN_BATCH 1
#define NCNN_VULKAN 0

namespace ncnn {

inline int cpu_support_arm_asimdhp() {
  return 0;
}
inline int cpu_support_riscv_zfh() {
  return 0;
}

struct Option {
  bool lightmode = true;
  bool use_bf16_storage = false;
  bool use_fp16_storage = true;
};

class Mat {
 public:
  Mat() = default;
  /// Channels lie `step` elements apart.
  Mat(int width, int height, int channels, std::size_t bytes, int pack, std::size_t step)
      : elemsize(bytes), elempack(pack), dims(3), w(width), h(height), c(channels), cstep(step) {
    memory_ = std::make_shared<std::vector<char>>(step * bytes * static_cast<std::size_t>(channels));
    data = memory_->data();
  }
  Mat clone() const {
    Mat copy = *this;
    if (memory_ == nullptr) return copy;
    copy.memory_ = std::make_shared<std::vector<char>>(*memory_);
    copy.data = copy.memory_->data();
    return copy;
  }
  bool empty() const { return data == nullptr; }

  void* data = nullptr;
  std::size_t elemsize = 0;
  int elempack = 0;
  int dims = 0;
  int w = 0;
  int h = 0;
  int d = 1;
  int c = 0;
  std::size_t cstep = 0;
  int n = 1;
  std::size_t nstep = 0;

 private:
  std::shared_ptr<std::vector<char>> memory_;
};

class Layer {
 public:
  virtual ~Layer() = default;
  virtual int destroy_pipeline(const Option&) { return 0; }
  virtual int forward(const std::vector<Mat>&, std::vector<Mat>&, const Option&) const { return -1; }
  virtual int forward(const Mat&, Mat&, const Option&) const { return -1; }
  virtual int forward_inplace(std::vector<Mat>&, const Option&) const { return -1; }
  virtual int forward_inplace(Mat&, const Option&) const { return -1; }

  bool one_blob_only = false;
  bool support_inplace = false;
  bool support_fp16_storage = false;
  int typeindex = -1;
  std::string type;
  std::string name;
  std::vector<int> bottoms;
  std::vector<int> tops;
};

struct Blob {
  std::string name;
};

class Net;

class Extractor {
 public:
  int input(int blob, const Mat& mat);
  int extract(int blob, Mat& mat);

 private:
  friend class Net;
  explicit Extractor(const Net& net) : net_(net) {}
  const Net& net_;
  std::vector<Mat> mats_;
};

class Net {
 public:
  ~Net() {
    for (Layer* layer : layers_) {
      layer->destroy_pipeline(opt);
      delete layer;
    }
  }
  Extractor create_extractor() const { return Extractor(*this); }
  const std::vector<Blob>& blobs() const { return blobs_; }
  const std::vector<Layer*>& layers() const { return layers_; }
  std::vector<Blob>& mutable_blobs() { return blobs_; }
  std::vector<Layer*>& mutable_layers() { return layers_; }

  Option opt;

 private:
  std::vector<Blob> blobs_;
  std::vector<Layer*> layers_;
};

inline int Extractor::input(int blob, const Mat& mat) {
  mats_.resize(net_.blobs().size());
  mats_[static_cast<std::size_t>(blob)] = mat;
  return 0;
}

/// Computes the layers in order up to the one that makes the blob.
inline int Extractor::extract(int blob, Mat& mat) {
  const auto at = [this](int i) -> Mat& { return mats_[static_cast<std::size_t>(i)]; };
  for (const Layer* const layer : net_.layers()) {
    if (layer->bottoms.empty()) continue;
    int status = 0;
    if (layer->one_blob_only && layer->support_inplace) {
      at(layer->tops[0]) = at(layer->bottoms[0]).clone();
      status = layer->forward_inplace(at(layer->tops[0]), net_.opt);
    } else if (layer->one_blob_only) {
      status = layer->forward(at(layer->bottoms[0]), at(layer->tops[0]), net_.opt);
    } else {
      std::vector<Mat> in, out(layer->tops.size());
      for (const int bottom : layer->bottoms) in.push_back(at(bottom));
      status = layer->forward(in, out, net_.opt);
      for (std::size_t i = 0; i < out.size(); ++i) at(layer->tops[i]) = out[i];
    }
    if (status != 0) return status;
  }
  mat = at(blob);
  return 0;
}

}  // namespace ncnn
