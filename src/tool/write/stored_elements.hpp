#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/tool/judge/compare/compare_elements.hpp"
#include "src/tool/judge/compare/compare_side.hpp"
#include "src/tool/read/dump/npy_array.hpp"

namespace opdump::tool {

/// How a safetensors file holds a tensor.
struct StoredArray {
  DType dtype = DType::undefined;  ///< of what is stored
  std::vector<Dim> shape;
  std::uint64_t elements = 0;
  std::uint64_t bytes = 0;            ///< of what is stored
  std::uint32_t element_bits = 0;     ///< of the tensor
  std::uint32_t item_bytes = 0;       ///< of what is stored, if it is converted
  ConvertElements convert = nullptr;  ///< null: the tensor's bytes unchanged
  std::optional<Relayout> relayout{};
};

/// What becomes of `tensor`: a dtype that safetensors has not is converted as for an `.npy` file. With `format`
/// the tensor is rearranged into that format, if it is in another one. On false `reason` says why that cannot
/// be.
bool plan_stored(const DumpTensor& tensor, const std::optional<Format>& format, StoredArray& stored,
                 std::string& reason);

/// Reads tensors in pieces, so that memory does not grow with them.
class StoredElements {
 public:
  /// False: `reason` says why.
  bool open(const DumpSide& side, const DumpTensor& tensor, const StoredArray& stored, std::string& reason);

  /// Calls `use(Bytes items, std::size_t read)` piece by piece, with what is stored and how many bytes of the
  /// dump it was made of. Ends early, with an empty `reason`, when `use` returns false. On
  /// false `reason` says why.
  template <class Use>
  bool for_each(Use use, std::string& reason) {
    reason.clear();
    for (std::uint64_t done = 0; done < stored_->elements;) {
      Bytes items;
      std::size_t count = 0, read = 0;
      if (!next(done, items, read, count, reason)) return false;
      if (!use(items, read)) return false;
      done += count;
    }
    if (!source_.failed()) return true;
    reason = source_.error();
    return false;
  }

 private:
  bool next(std::uint64_t done, Bytes& items, std::size_t& bytes, std::size_t& count, std::string& reason);

  const StoredArray* stored_ = nullptr;
  CompareElements source_;
  std::vector<std::byte> source_bytes_;
  std::vector<std::byte> items_;
};

}  // namespace opdump::tool
