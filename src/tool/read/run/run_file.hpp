#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "opdump/config/parse.hpp"
#include "opdump/types/model.hpp"
#include "opdump/types/tensor.hpp"
#include "src/tool/read/dump/real_numbers.hpp"

namespace opdump::tool {

/// How a tensor without a file gets its bytes.
enum class Fill : std::uint8_t { none, zeros, ramp, random };

/// A tensor as RUN.json describes it.
struct RunTensor {
  DType dtype = DType::undefined;
  Format format = Format::nd;
  std::vector<Dim> shape;
  std::vector<Dim> original_shape;
  std::uint64_t bytes = 0;
  Fill fill = Fill::none;  ///< none: the bytes come from `file`
  std::string file;
  std::uint64_t file_offset = 0;  ///< of the first byte in `file`
  std::string_view name{};        ///< only in a card, as the rest
  Quantisation quant{};
  bool is_constant = false;  ///< the model holds its elements
  bool sized = true;         ///< false: dtype or dims are known when the model runs; `bytes` is 0
};

/// The view of `tensor` that an operator would pass, without an address. Refers to `tensor`.
TensorView view_of(const RunTensor& tensor);

/// What a card says of an operator of ONNX.
struct RunOnnx {
  std::string_view op{};      ///< its type; empty: it is none of ONNX
  std::string_view domain{};  ///< empty: ONNX's own
  std::uint64_t opset = 0;    ///< 0: not told
};

struct RunOp {
  OpDesc desc;  ///< its texts lie in the RunFile
  RunOnnx onnx;
  std::vector<std::string_view> flags;
  std::vector<std::string_view> original_names;
  std::vector<OpAttribute> attributes;
  std::vector<std::uint32_t> producers;
  std::vector<RunTensor> inputs;
  std::vector<RunTensor> outputs;
};

struct RunConstant {
  std::string_view name;
  RunTensor tensor;
};

struct RunModel {
  std::string_view name;
  std::string_view graph_name;
  std::uint32_t id = 0;
  bool from_card = false;
  std::vector<std::uint32_t> devices;  ///< of the RUN.json, or as the names of cards tell
  std::string_view sha256{};    ///< of the model's file; empty: the card does not tell, as with the next two
  std::string_view build_id{};  ///< of the program that has run it
  std::string_view runtime{};
  std::vector<RunOp> ops;
  std::vector<RunConstant> constants;
};

/// Something that goes wrong while a model runs.
struct RunFault {
  enum class Kind : std::uint8_t {
    overflow,   ///< an output of the operator becomes infinite, and the device reports `status`
    nan,        ///< an output becomes NaN, and nothing is reported
    exception,  ///< the device reports that the operator failed, and the run ends
    trample,    ///< the operator overwrites bytes of the victim's first output
  };

  Kind kind = Kind::overflow;
  std::uint64_t step = 0;
  std::size_t model = 0;
  std::size_t op = 0;
  std::uint64_t status = 0;

  // Only for `trample`.
  std::size_t victim = 0;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 1;
};

/// What to run: a RUN.json, read and checked, with the heads of the files it names; one model as a card
/// describes it, whose tensors hold ramps, or as an ONNX or TensorFlow Lite model or the `.dbg` file of a nano
/// product does, called as the file is without its ending; or the models of the cards in a dump.
class RunFile {
 public:
  RunFile();
  RunFile(const RunFile&) = delete;
  RunFile& operator=(const RunFile&) = delete;
  ~RunFile();

  /// On false `error` says where and why, with the line and column in RUN.json.
  bool load(const std::string& path, ConfigError& error);

  /// The text that was read; after an error, as much of it as could be read. Empty for a `.dbg` file.
  std::string_view text() const;

  /// Whether what was read is a `.dbg` file, damaged or not.
  bool is_dbg() const;

  /// How many tensors of operators have no size before the model runs, and in words which is the first.
  std::size_t unsized_tensors(std::string& first) const;

  std::uint32_t device_id = 0;
  std::uint64_t steps = 1;
  bool has_steps = false;  ///< the file gives the number of steps
  std::vector<RunModel> models;
  std::vector<RunOp> single_ops;
  std::vector<RunFault> faults;
  std::vector<std::string> left_out;  ///< what a model's file tells and its card does not

 private:
  struct Text;

  bool load_dump(const std::string& path, ConfigError& error);

  std::unique_ptr<Text> text_;
  std::string path_;                             ///< of a card in a dump
  std::vector<std::unique_ptr<RunFile>> cards_;  ///< of the models, of a dump
};

/// Loads a file; or says on stderr what is wrong, with its line, and returns false.
bool load_or_say(const std::string& path, RunFile& run);

}  // namespace opdump::tool
