#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/tool/compare/compare_elements.hpp"
#include "src/tool/compare/compare_side.hpp"
#include "src/tool/convert/npy_array.hpp"

namespace opdump::tool {

/// How a file of another program holds a tensor.
struct StoredArray {
  DType dtype = DType::undefined;  ///< of what is stored
  std::vector<Dim> shape;
  std::uint64_t elements = 0;
  std::uint64_t bytes = 0;            ///< of what is stored
  std::uint32_t element_bits = 0;     ///< of the tensor
  std::uint32_t item_bytes = 0;       ///< of what is stored, if it is converted
  ConvertElements convert = nullptr;  ///< null: the tensor's bytes unchanged
  std::optional<Relayout> relayout{};

  /// NumPy's dtype; of a dtype that NumPy has not, empty.
  std::string_view descr() const { return info(dtype).npy_descr; }
};

/// Whether a file format has a dtype.
using HasDType = bool (*)(DType dtype);

/// What NumPy has.
bool numpy_has(DType dtype);

/// What becomes of `tensor` in a file format that has the dtypes `has`: others are converted as for an `.npy`
/// file. With `format` the tensor is rearranged into that format, if it is in another one. On false `reason`
/// says why that cannot be.
bool plan_stored(const DumpTensor& tensor, HasDType has, const std::optional<Format>& format,
                 StoredArray& stored, std::string& reason);

/// Reads tensors in pieces, so that memory does not grow with them.
class StoredElements {
 public:
  /// False: `reason` says why.
  bool open(const DumpSide& side, const DumpTensor& tensor, const StoredArray& stored, std::string& reason);

  /// Calls `use(Bytes items, Bytes elements, std::size_t count)` with `count` elements at a time, as they are
  /// stored and as they lie in the dump. Ends early, with an empty `reason`, when `use` returns false. On
  /// false `reason` says why.
  template <class Use>
  bool for_each(Use use, std::string& reason) {
    reason.clear();
    for (std::uint64_t done = 0; done < stored_->elements;) {
      Bytes items, elements;
      std::size_t count = 0;
      if (!next(done, items, elements, count, reason)) return false;
      if (!use(items, elements, count)) return false;
      done += count;
    }
    if (!source_.failed()) return true;
    reason = source_.error();
    return false;
  }

 private:
  bool next(std::uint64_t done, Bytes& items, Bytes& elements, std::size_t& count, std::string& reason);

  const StoredArray* stored_ = nullptr;
  CompareElements source_;
  std::vector<std::byte> source_bytes_;
  std::vector<std::byte> items_;
};

}  // namespace opdump::tool
