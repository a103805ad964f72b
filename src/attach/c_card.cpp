#include <cstring>

#include "opdump/attach.h"
#include "src/attach/guarded.hpp"
#include "src/attach/model_object.hpp"
#include "src/c_api/c_port.hpp"
#include "src/card/sha256.hpp"

using namespace opdump;
using attaching::guarded;

extern "C" {

opdump_status opdump_attach_describe_op(opdump_attach_model* model, std::uint32_t op,
                                        const opdump_attach_op_info* info) {
  if (model == nullptr) return OPDUMP_ERR_INVALID_ARGUMENT;
  opdump_attach_op_info taken;
  if (const Status status = c_api::take_struct(info, taken); status != Status::ok) return c_api::to_c(status);
  return guarded([&] { return model->describe_op(op, taken); });
}

opdump_status opdump_attach_describe_model(opdump_attach_model* model, const opdump_attach_model_info* info) {
  if (model == nullptr) return OPDUMP_ERR_INVALID_ARGUMENT;
  opdump_attach_model_info taken;
  if (const Status status = c_api::take_struct(info, taken); status != Status::ok) return c_api::to_c(status);
  return guarded([&] { return model->describe(taken); });
}

opdump_status opdump_sha256(const void* data, std::size_t bytes, char text[65]) {
  if (text == nullptr || (data == nullptr && bytes != 0)) return OPDUMP_ERR_INVALID_ARGUMENT;
  return guarded([&] {
    const std::string digest = cards::sha256({static_cast<const std::byte*>(data), bytes});
    std::memcpy(text, digest.c_str(), digest.size() + 1);
    return Status::ok;
  });
}

}  // extern "C"
