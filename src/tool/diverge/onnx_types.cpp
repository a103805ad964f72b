#include "src/tool/diverge/onnx_types.hpp"

#include <algorithm>
#include <iterator>

#include "src/tool/diverge/native_reference.hpp"

namespace opdump::tool {
namespace {

struct Mapped {
  std::string_view type;
  std::string_view onnx;
};

/// Source: the operators of CANN (AddV2, RealDiv, ...) and of TensorFlow Lite (LOGISTIC, ...).
constexpr Mapped kMapped[] = {
    {"ABS", "Abs"},
    {"ADD", "Add"},
    {"AddV2", "Add"},
    {"CEIL", "Ceil"},
    {"COS", "Cos"},
    {"DIV", "Div"},
    {"EXP", "Exp"},
    {"FLOOR", "Floor"},
    {"GREATER", "Greater"},
    {"GREATER_EQUAL", "GreaterOrEqual"},
    {"GreaterEqual", "GreaterOrEqual"},
    {"LESS", "Less"},
    {"LESS_EQUAL", "LessOrEqual"},
    {"LOG", "Log"},
    {"LOGISTIC", "Sigmoid"},
    {"LessEqual", "LessOrEqual"},
    {"LogicalAnd", "And"},
    {"LogicalNot", "Not"},
    {"LogicalOr", "Or"},
    {"MAXIMUM", "Max"},
    {"MINIMUM", "Min"},
    {"MUL", "Mul"},
    {"Maximum", "Max"},
    {"Minimum", "Min"},
    {"NEG", "Neg"},
    {"POW", "Pow"},
    {"RELU", "Relu"},
    {"ROUND", "Round"},
    {"RealDiv", "Div"},
    {"ReluV2", "Relu"},
    {"SIN", "Sin"},
    {"SOFTMAX", "Softmax"},
    {"SQRT", "Sqrt"},
    {"SUB", "Sub"},
    {"TANH", "Tanh"},
};

/// Types that other runtimes have too, with attributes of their own, other layouts or another meaning.
bool means_more_elsewhere(std::string_view type) {
  constexpr std::string_view kTypes[] = {
      "GlobalAveragePool", "GlobalMaxPool", "MatMul", "Mean", "PRelu", "Sum"};
  return std::find(std::begin(kTypes), std::end(kTypes), type) != std::end(kTypes);
}

}  // namespace

std::string_view onnx_type_of(std::string_view type) {
  for (const Mapped& mapped : kMapped) {
    if (mapped.type == type) return mapped.onnx;
  }
  return NativeReference::knows_without_attributes(type) && !means_more_elsewhere(type) ? type
                                                                                        : std::string_view();
}

}  // namespace opdump::tool
