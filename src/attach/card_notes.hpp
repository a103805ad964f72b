#pragma once
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "opdump/attach.h"
#include "opdump/types/model.hpp"
#include "src/attach/struct_list.hpp"
#include "src/card/model_card.hpp"

namespace opdump::attaching {
inline namespace OPDUMP_NAMESPACE {

/// What a program tells of a model for its card. Copies everything. Allocates.
class CardNotes {
 public:
  /// In the place of what was told of the operator. `invalid_argument`, `missing_argument`, `unknown_dtype`
  /// or `too_many_dims` for what cannot be; then nothing has changed.
  Status describe(std::uint32_t op, const opdump_attach_op_info& info);
  Status describe(const opdump_attach_model_info& info);

  /// The card of the model, as it is now. Attributes that stand for flags are flags there.
  cards::ModelCard card(const ModelDesc& model) const;

 private:
  using TensorInfos = StructList<opdump_attach_tensor_info>;

  struct OpInfo {
    std::vector<std::uint32_t> inputs;
    std::vector<std::uint32_t> outputs;
    std::vector<cards::CardAttribute> attributes;
    std::uint32_t flags = 0;
  };

  static Status take(TensorInfos from, std::vector<cards::CardTensor>& to);
  std::vector<std::uint32_t> place(std::vector<cards::CardTensor>& tensors);

  std::string runtime_;
  std::string sha256_;
  std::vector<cards::CardTensor> tensors_;
  std::unordered_map<std::string, std::uint32_t> places_;  ///< of tensors with names
  std::unordered_map<std::uint32_t, OpInfo> ops_;
};

/// A flag of an operator, and its word: in RUN.json it is an attribute that is "True".
struct FlagWord {
  std::uint32_t flag;
  const char* word;
};
inline constexpr FlagWord kFlagWords[] = {{OPDUMP_TAP_BREAKS_FUSION, "tap_breaks_fusion"},
                                          {OPDUMP_TAP_COPIES, "tap_copies"}};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::attaching
