#pragma once
#include <array>
#include <cstring>
#include <initializer_list>
#include <string_view>

#include "tensorflow/lite/micro/declared.hpp"

/// A small network for the runtime that declared.hpp makes.
namespace opdump::tests {

inline TfLiteEvalTensor& at(TfLiteContext* context, const TfLiteIntArray* list, int i) {
  return *tflite::GetMicroContext(context)->GetEvalTensor(list->data[i]);
}

inline int* ints(const TfLiteEvalTensor& tensor) {
  return static_cast<int*>(tensor.data.data);
}

inline TfLiteStatus add(TfLiteContext* context, TfLiteNode* node) {
  for (int i = 0; i < 4; ++i)
    ints(at(context, node->outputs, 0))[i] = ints(at(context, node->inputs, 0))[i] + 10;
  return kTfLiteOk;
}

/// Counts how often it has run in a variable tensor, its last input.
inline TfLiteStatus svdf(TfLiteContext* context, TfLiteNode* node) {
  const int runs = ++*ints(at(context, node->inputs, 2));
  for (int i = 0; i < 4; ++i)
    ints(at(context, node->outputs, 0))[i] = ints(at(context, node->inputs, 0))[i] * runs;
  return kTfLiteOk;
}

inline TfLiteStatus branch(TfLiteContext* context, TfLiteNode* node) {
  if (tflite::GetMicroContext(context)->graph().InvokeSubgraph(1) != kTfLiteOk) return kTfLiteError;
  for (int i = 0; i < 4; ++i) ints(at(context, node->outputs, 0))[i] = -1;
  return kTfLiteOk;
}

inline TfLiteStatus negate_in_place(TfLiteContext* context, TfLiteNode* node) {
  for (int i = 0; i < 4; ++i) ints(at(context, node->outputs, 0))[i] = -ints(at(context, node->inputs, 0))[i];
  return kTfLiteOk;
}

class Resolver final : public tflite::MicroOpResolver {
 public:
  const TFLMRegistration* FindOp(tflite::BuiltinOperator op) const override {
    return op == tflite::BuiltinOperator_ADD ? &add_ : op == tflite::BuiltinOperator_SVDF ? &svdf_ : &if_;
  }
  const TFLMRegistration* FindOp(const char* op) const override {
    return std::string_view(op) == "Negate" ? &negate_ : nullptr;
  }
  tflite::TfLiteBridgeBuiltinParseFunction GetOpDataParser(tflite::BuiltinOperator) const override {
    return [](const tflite::Operator*, tflite::ErrorReporter*, tflite::BuiltinDataAllocator*, void**) {
      return kTfLiteOk;
    };
  }

  TFLMRegistration add_{nullptr, nullptr, nullptr, add, nullptr, tflite::BuiltinOperator_ADD, nullptr};
  TFLMRegistration svdf_{nullptr, nullptr, nullptr, svdf, nullptr, tflite::BuiltinOperator_SVDF, nullptr};
  TFLMRegistration if_{nullptr, nullptr, nullptr, branch, nullptr, tflite::BuiltinOperator_IF, nullptr};
  TFLMRegistration negate_{
      nullptr, nullptr, nullptr, negate_in_place, nullptr, tflite::BuiltinOperator_CUSTOM, "Negate"};
};

/// add, svdf (with a bias left out), negate (in place), if (which runs an add of a second subgraph).
struct Network {
  Network() {
    model.codes.items = {{0, tflite::BuiltinOperator_ADD, flatbuffers::String("")},
                         {27, tflite::BuiltinOperator_ADD, flatbuffers::String("")},
                         {32, tflite::BuiltinOperator_CUSTOM, flatbuffers::String("Negate")},
                         {118, tflite::BuiltinOperator_IF, flatbuffers::String("")}};
    model.graphs.items.resize(2);
    auto& main = model.graphs.items[0];
    for (const char* const name : {"image", "sum", "state", "count", "negated", "chosen"})
      main.all_tensors.items.push_back({flatbuffers::String(name), std::strcmp(name, "state") == 0});
    main.all_operators.items = {
        {0, {{0}}, {{1}}}, {1, {{1, -1, 2}}, {{3}}}, {2, {{3}}, {{4}}}, {3, {{4}}, {{5}}}};
    auto& then = model.graphs.items[1];
    then.all_tensors.items = {{flatbuffers::String("given"), false}, {flatbuffers::String("inner"), false}};
    then.all_operators.items = {{0, {{0}}, {{1}}}};
    for (int i = 0; i < 4; ++i) image[static_cast<std::size_t>(i)] = i;
    plan[0] = {of(image), of(sum),   {{.data = &state}, nullptr, kTfLiteInt32},
               of(count), of(count), of(chosen)};
    plan[1] = {of(image), of(inner)};
  }

  TfLiteEvalTensor of(std::array<int, 4>& values) { return {{.data = values.data()}, &dims, kTfLiteInt32}; }

  tflite::Model model;
  TfLiteIntArray dims = {2, {2, 2}};
  std::array<int, 4> image{}, sum{}, count{}, chosen{}, inner{};
  int state = 0;
  tflite::Plan plan{2};
};

}  // namespace opdump::tests
