#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "src/tool/judge/compare/compare_name.hpp"
#include "src/tool/judge/compare/tensor_summary.hpp"
#include "src/tool/read/dump/array_form.hpp"
#include "src/tool/read/dump/found_files.hpp"
#include "src/tool/read/dump/memory_layout.hpp"
#include "src/tool/read/run/beside_cards.hpp"

namespace opdump::tool {

/// One tensor of a dump.
struct DumpTensor {
  std::size_t file = 0;  ///< number in `DumpSide::files`
  bool is_output = false;
  std::uint32_t index = 0;
  DType dtype = DType::undefined;
  MemoryLayout layout;
  std::string problem;  ///< why it cannot be compared; empty: it can
  std::vector<Dim> shape;
  std::uint64_t elements = 0;
  std::uint64_t data_offset = 0;
  std::uint64_t data_bytes = 0;
  ArrayForm form{};
  std::uint64_t address = 0;
  std::string original_op;  ///< the framework's name of the operator fused into this one; empty: not known
  std::uint32_t original_index = 0;
  const Quantisation* quant = nullptr;  ///< by a card; null: not known
  bool constant = false;                ///< by a card: the model holds its elements
  std::string_view name{};              ///< by a card; empty: not known
  std::uint64_t pieces = 1;             ///< of equal size, that its data lie in
  std::uint64_t piece_step = 0;         ///< bytes from one to the next
  /// Instead of elements, of which there are none then.
  std::shared_ptr<const TensorSummary> summary{};
  std::string kept{};  ///< what the config's privacy has kept, in words; empty: not known
};

/// One file of a dump, and what its name and place say.
struct DumpFile {
  std::string path;
  std::string type;
  std::string op;
  std::string place;                    ///< model and step; empty: not known
  std::optional<std::uint32_t> boot{};  ///< if a flash log has several boots
  std::uint64_t unix_us = 0;
  std::optional<std::uint64_t> task{};  ///< from the file's name
  bool is_record = false;
  bool is_lite = false;  ///< of MindSpore Lite
};

/// What the file tells of its operator. Refers to it.
inline OpIdentity identity_of(const DumpFile& file) {
  return {.name = file.op, .type = file.type, .task = file.task};
}

/// `Conv2D "conv1" at net/3 of boot 2`.
std::string op_text(const DumpFile& file);

/// "output 0".
std::string role_text(const DumpTensor& tensor);

/// A record is an operator at one step; so are arrays of one operator that tell the same task and time.
using OpKey = std::tuple<std::optional<std::uint32_t>, std::string, std::string, std::uint64_t, std::uint64_t,
                         std::optional<std::size_t>>;

inline OpKey key_of(const DumpFile& file, std::size_t number) {
  return {file.boot,    file.place,
          file.op,      file.task.value_or(0),
          file.unix_us, file.is_record ? std::optional<std::size_t>(number) : std::nullopt};
}

/// All tensors below one path, in the order of execution as far as file names give it.
struct DumpSide {
  std::deque<DumpFile> files;
  std::deque<DumpTensor> tensors;
  bool named_file = false;  ///< the path is a file
  /// Of how many tensors the config's privacy has kept what; of those kept as their shape no more is here.
  std::map<std::string, std::size_t> kept{};
};

/// Reads the heads of all files below `path`; with `boot`, only of the files of that boot. `report` gets what
/// cannot be used.
DumpSide read_side(const std::string& path, const SearchReport& report,
                   std::optional<std::uint32_t> boot = std::nullopt);

/// Gives the directories of the files of `side` to `take`, each once, in the order of their bytes.
void for_each_directory(const DumpSide& side, const std::function<void(const std::string& directory)>& take);

/// Puts what `change` makes of the tensors of `side` in their place; those for which it returns false go
/// away.
void change_tensors(DumpSide& side, const std::function<bool(DumpTensor& tensor)>& change);

/// Gives a tensor whose file does not tell its dtype this one, where that makes as many bytes; does nothing
/// else.
void take_dtype(DType dtype, const std::vector<Dim>& shape, DumpTensor& tensor);

/// Gives the tensors of `side` what a card says of them: `card`, or if it is null the one that lies in the
/// dump. Refers to the cards. Returns how many tensors it gives nothing as several operators of the card may
/// be theirs.
std::size_t add_cards(const CardedOps* card, BesideCards& beside, DumpSide& side);

}  // namespace opdump::tool
