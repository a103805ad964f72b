#include "src/tool/judge/diverge/onnx_types.hpp"

#include <algorithm>
#include <iterator>

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

/// Types of ONNX without attributes that mean the same wherever they are.
constexpr std::string_view kSame[] = {
    "Abs",
    "Acos",
    "Acosh",
    "Add",
    "And",
    "Asin",
    "Asinh",
    "Atan",
    "Atanh",
    "Ceil",
    "Cos",
    "Cosh",
    "Div",
    "Equal",
    "Erf",
    "Exp",
    "Expand",
    "Floor",
    "Greater",
    "GreaterOrEqual",
    "HardSwish",
    "Identity",
    "IsNaN",
    "Less",
    "LessOrEqual",
    "Log",
    "Max",
    "Min",
    "Mish",
    "Mul",
    "Neg",
    "Not",
    "Or",
    "Pow",
    "Reciprocal",
    "Relu",
    "Round",
    "Sigmoid",
    "Sign",
    "Sin",
    "Sinh",
    "Size",
    "Softplus",
    "Softsign",
    "Sqrt",
    "Sub",
    "Tan",
    "Tanh",
    "Where",
    "Xor",
    "DynamicQuantizeLinear",
    "MatMulInteger",
    "QLinearMatMul",
};

}  // namespace

std::string_view onnx_type_of(std::string_view type) {
  for (const Mapped& mapped : kMapped) {
    if (mapped.type == type) return mapped.onnx;
  }
  return std::find(std::begin(kSame), std::end(kSame), type) != std::end(kSame) ? type : std::string_view();
}

}  // namespace opdump::tool
