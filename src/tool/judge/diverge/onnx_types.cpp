#include "src/tool/judge/diverge/onnx_types.hpp"

#include <string>

namespace opdump::tool {
namespace {

/// Source: the operators of CANN (AddV2, RealDiv, ...) and of TensorFlow Lite (LOGISTIC, ...).
constexpr std::string_view kMapped =
    " ABS=Abs ADD=Add AddV2=Add CEIL=Ceil COS=Cos DIV=Div EXP=Exp FLOOR=Floor GREATER=Greater"
    " GREATER_EQUAL=GreaterOrEqual GreaterEqual=GreaterOrEqual LESS=Less LESS_EQUAL=LessOrEqual LOG=Log"
    " LOGISTIC=Sigmoid LessEqual=LessOrEqual LogicalAnd=And LogicalNot=Not LogicalOr=Or MAXIMUM=Max"
    " MINIMUM=Min MUL=Mul Maximum=Max Minimum=Min NEG=Neg POW=Pow RELU=Relu ROUND=Round RealDiv=Div"
    " ReluV2=Relu SIN=Sin SOFTMAX=Softmax SQRT=Sqrt SUB=Sub TANH=Tanh ";

/// Types of ONNX without attributes that mean the same wherever they are.
constexpr std::string_view kSame =
    " Abs Acos Acosh Add And Asin Asinh Atan Atanh Ceil Cos Cosh Div Equal Erf Exp Expand Floor Greater"
    " GreaterOrEqual HardSwish Identity IsNaN Less LessOrEqual Log Max Min Mish Mul Neg Not Or Pow"
    " Reciprocal Relu Round Sigmoid Sign Sin Sinh Size Softplus Softsign Sqrt Sub Tan Tanh Where Xor"
    " DynamicQuantizeLinear MatMulInteger QLinearMatMul ";

}  // namespace

bool is_word_of(std::string_view word, std::string_view words) {
  return word.find(' ') == std::string_view::npos &&
         words.find(' ' + std::string(word) + ' ') != std::string_view::npos;
}

std::string_view onnx_type_of(std::string_view type) {
  if (is_word_of(type, kSame)) return type;
  const std::string start = ' ' + std::string(type) + '=';
  const std::size_t at =
      type.find_first_of(" =") == std::string_view::npos ? kMapped.find(start) : std::string_view::npos;
  if (at == std::string_view::npos) return {};
  const std::string_view onnx = kMapped.substr(at + start.size());
  return onnx.substr(0, onnx.find(' '));
}

}  // namespace opdump::tool
