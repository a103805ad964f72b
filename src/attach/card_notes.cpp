#include "src/attach/card_notes.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "platform/posix/build_id.hpp"
#include "src/card/attribute_json.hpp"

namespace opdump::attaching {
inline namespace OPDUMP_NAMESPACE {
namespace {

using cards::CardOp;
using cards::CardTensor;
using cards::Quantisation;
using cards::QuantScheme;

template <class Number>
Status take_list(const Number* from, std::uint32_t count, std::vector<Number>& to) {
  if (from == nullptr) return Status::missing_argument;
  to.assign(from, from + count);
  return Status::ok;
}

Status take_quant(const opdump_quant_params* from, Quantisation& to) {
  opdump_quant_params taken;
  if (const Status status = c_api::take_struct(from, taken); status != Status::ok) return status;
  if (taken.scheme > OPDUMP_QUANT_LUT || taken.axis < -1 ||
      taken.axis >= static_cast<std::int32_t>(kMaxRank) || taken.reserved != 0)
    return Status::invalid_argument;
  to.scheme = static_cast<QuantScheme>(taken.scheme);
  to.axis = taken.axis;
  const bool has_list = to.scheme != QuantScheme::none && to.scheme != QuantScheme::block;
  if (has_list && taken.count == 0) return Status::invalid_argument;
  switch (to.scheme) {
    case QuantScheme::none:
      return Status::ok;
    case QuantScheme::affine:
      if (taken.zero_points != nullptr)
        to.zero_points.assign(taken.zero_points, taken.zero_points + taken.count);
      return take_list(taken.scales, taken.count, to.scales);
    case QuantScheme::pow2: {
      const Status status = take_list(taken.exponents, taken.count, to.exponents);
      const bool fit = std::all_of(to.exponents.begin(), to.exponents.end(), [](std::int32_t exponent) {
        return exponent >= cards::kLeastExponent && exponent <= cards::kMostExponent;
      });
      return fit ? status : Status::invalid_argument;
    }
    case QuantScheme::block:
      if (taken.block_type == nullptr || *taken.block_type == '\0') return Status::missing_argument;
      if (taken.block_elements == 0 || taken.block_bytes == 0 || taken.axis != -1)
        return Status::invalid_argument;
      to.block_type = taken.block_type;
      to.block_elements = taken.block_elements;
      to.block_bytes = taken.block_bytes;
      return Status::ok;
    case QuantScheme::lut:
      to.first = taken.first;
      return take_list(taken.table, taken.count, to.table);
  }
  return Status::invalid_argument;
}

Status take_tensor(const opdump_attach_tensor_info& from, CardTensor& to) {
  if (from.constant > 1 || from.reserved != 0) return Status::invalid_argument;
  to.has_shape = from.rank != OPDUMP_UNKNOWN_RANK;
  if (to.has_shape && from.rank > kMaxRank) return Status::too_many_dims;
  if (to.has_shape && from.rank != 0 && from.dims == nullptr) return Status::missing_argument;
  if (from.dtype != OPDUMP_UNDEFINED && (from.dtype < 0 || from.dtype >= kKnownDTypes))
    return Status::unknown_dtype;
  if (from.name != nullptr) to.name = from.name;
  to.dtype = static_cast<DType>(from.dtype);
  to.constant = from.constant != 0;
  for (std::uint32_t i = 0; to.has_shape && i < from.rank; ++i)
    to.shape.push_back(from.dims[i] < 0 ? CardTensor::kUnknownDim : static_cast<Dim>(from.dims[i]));
  return from.quant == nullptr ? Status::ok : take_quant(from.quant, to.quant);
}

/// What `to` lacks of what `from` knows.
void complete(CardTensor& to, CardTensor& from) {
  if (to.dtype == DType::undefined) to.dtype = from.dtype;
  if (!to.has_shape && from.has_shape) {
    to.has_shape = true;
    to.shape = std::move(from.shape);
  }
  if (to.quant.scheme == QuantScheme::none) to.quant = std::move(from.quant);
  to.constant = to.constant || from.constant;
}

bool is_sha256(std::string_view text) {
  constexpr std::size_t kDigits = 64;
  return text.size() == kDigits && text.find_first_not_of("0123456789abcdefABCDEF") == text.npos;
}

std::uint32_t flag_of(const OpAttribute& attribute) {
  for (const FlagWord& flag : kFlagWords) {
    if (attribute.name == flag.word) return flag.flag;
  }
  return 0;
}

std::vector<std::string> words_of(std::uint32_t flags) {
  std::vector<std::string> words;
  for (const FlagWord& flag : kFlagWords) {
    if ((flags & flag.flag) != 0) words.emplace_back(flag.word);
  }
  return words;
}

}  // namespace

Status CardNotes::describe(const opdump_attach_model_info& info) {
  if (info.sha256 != nullptr && !is_sha256(info.sha256)) return Status::invalid_argument;
  if (info.runtime != nullptr) runtime_ = info.runtime;
  if (info.sha256 != nullptr) sha256_ = info.sha256;
  return Status::ok;
}

Status CardNotes::describe(std::uint32_t op, const opdump_attach_op_info& info) {
  if (info.attribute_count != 0 && info.attributes == nullptr) return Status::missing_argument;
  OpInfo told = {.inputs = {}, .outputs = {}, .attributes = {}, .flags = info.flags};
  for (std::uint32_t i = 0; i < info.attribute_count; ++i) {
    const opdump_attribute& attribute = info.attributes[i];
    if (attribute.name == nullptr || attribute.value == nullptr) return Status::missing_argument;
    told.attributes.push_back({attribute.name, cards::json_of(std::string_view(attribute.value))});
  }
  std::vector<CardTensor> inputs, outputs;
  Status status = take({info.inputs, info.input_count}, inputs);
  if (status == Status::ok) status = take({info.outputs, info.output_count}, outputs);
  if (status != Status::ok) return status;
  told.inputs = place(inputs);
  told.outputs = place(outputs);
  ops_[op] = std::move(told);
  return Status::ok;
}

Status CardNotes::take(TensorInfos from, std::vector<CardTensor>& to) {
  if (from.count != 0 && from.first == nullptr) return Status::missing_argument;
  for (std::uint32_t i = 0; i < from.count; ++i) {
    opdump_attach_tensor_info info;
    Status status = from.take(i, info);
    if (status == Status::ok) status = take_tensor(info, to.emplace_back());
    if (status != Status::ok) return status;
  }
  return Status::ok;
}

std::vector<std::uint32_t> CardNotes::place(std::vector<CardTensor>& tensors) {
  std::vector<std::uint32_t> places;
  for (CardTensor& tensor : tensors) {
    const auto next = static_cast<std::uint32_t>(tensors_.size());
    const auto [known, is_new] =
        tensor.name.empty() ? std::pair(places_.end(), true) : places_.try_emplace(tensor.name, next);
    places.push_back(is_new ? next : known->second);
    if (is_new) {
      tensors_.push_back(std::move(tensor));
    } else {
      complete(tensors_[known->second], tensor);
    }
  }
  return places;
}

cards::ModelCard CardNotes::card(const ModelDesc& model) const {
  cards::ModelCard card;
  card.name = model.name;
  card.graph_name = model.graph_name;
  card.runtime = runtime_;
  card.sha256 = sha256_;
  char build_id[kMostBuildIdDigits];
  card.build_id = posix::program_build_id(build_id);
  card.id = model.id;
  card.tensors = tensors_;
  for (std::uint32_t i = 0; i < model.ops.size(); ++i) {
    const OpDesc& desc = model.ops[i];
    CardOp& op = card.ops.emplace_back();
    op.name = desc.name;
    op.type = desc.type;
    op.original_names.assign(desc.original_names.begin(), desc.original_names.end());
    op.level = desc.level;
    op.marked = desc.marked;
    op.task_id = desc.task_id;
    op.stream_id = desc.stream_id;
    std::uint32_t flags = 0;
    for (const OpAttribute& attribute : desc.attributes) {
      const std::uint32_t flag = flag_of(attribute);
      flags |= flag;
      if (flag == 0) op.attributes.push_back({std::string(attribute.name), cards::json_of(attribute.value)});
    }
    if (const auto told = ops_.find(i); told != ops_.end()) {
      op.inputs = told->second.inputs;
      op.outputs = told->second.outputs;
      op.attributes.insert(op.attributes.end(), told->second.attributes.begin(),
                           told->second.attributes.end());
      flags |= told->second.flags;
    }
    op.flags = words_of(flags);
  }
  return card;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::attaching
