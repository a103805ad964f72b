// OpDebug payloads.
#include "record_use.hpp"
#include "src/tool/read/overflow/op_debug.hpp"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const opdump::Bytes bytes(reinterpret_cast<const std::byte*>(data), size);
  opdump::tool::OpDebug debug;
  std::string reason;
  if (!opdump::tool::parse_op_debug(bytes, debug, reason)) {
    opdump::fuzz::require(!reason.empty());
    return 0;
  }
  opdump::fuzz::require(!debug.blocks.empty());
  const std::string json = opdump::tool::op_debug_json(debug);
  opdump::fuzz::require(json.starts_with("{\n") && json.ends_with("\n}"));
  for (const opdump::tool::OpDebug::Block& block : debug.blocks) opdump::tool::status_texts(block.status());
  return 0;
}
