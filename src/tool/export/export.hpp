#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "src/tool/cli/progress.hpp"
#include "src/tool/export/export_file.hpp"
#include "src/tool/export/exported_dump.hpp"
#include "src/tool/export/stored_elements.hpp"
#include "src/tool/run/beside_cards.hpp"

namespace opdump::tool {

/// What `opdump convert --to` was asked for.
struct ExportSettings {
  std::string command = "convert";  ///< whose messages they are
  std::string dump;
  std::string output;              ///< directory
  bool overwrite = false;          ///< the directory may have something in it
  std::optional<Format> format{};  ///< tensors of other formats are rearranged
  std::optional<std::string> card{};
  std::optional<std::string> golden{};  ///< only of model-explorer
};

/// One dump on its way into files of another program.
class Export {
 public:
  Export(const ExportSettings& settings, const ExportedDump& dump, const CardedOps* card);
  Export(const Export&) = delete;
  Export& operator=(const Export&) = delete;

  const ExportedDump& dump() const { return dump_; }
  const ExportSettings& settings() const { return settings_; }

  /// Directory for files, below the one that was asked for.
  std::string directory(std::string_view below) const;

  /// What the dump comes from, in words; empty: not known.
  const std::string& provenance();

  /// The card of an operator's model; null: not known.
  const CardedOps* card_of(const ExportedOp& op);

  /// As `plan_stored`; a tensor that cannot be stored is reported.
  bool plan(const ExportedOp& op, const DumpTensor& tensor, HasDType has, StoredArray& stored);

  /// Gives the elements of a tensor to `use`, as StoredElements::for_each. False: they could not be read,
  /// which is reported, or `use` returned false.
  template <class Use>
  bool for_each(const ExportedOp& op, const DumpTensor& tensor, const StoredArray& stored, Use use) {
    std::string reason;
    const bool good = elements_.open(dump_.side, tensor, stored, reason) &&
                      elements_.for_each(
                          [&](Bytes items, Bytes elements, std::size_t count) {
                            progress_.add(elements.size());
                            return use(items, elements, count);
                          },
                          reason);
    if (!reason.empty()) fail_tensor(op, tensor, reason);
    return good;
  }

  void tensor_written() { ++tensors_; }

  /// Commits a file; `written`: everything went into it. False: it is not there, which is reported.
  bool commit(ExportFile& file, bool written);

  void fail(const std::string& message);
  void fail_tensor(const ExportedOp& op, const DumpTensor& tensor, const std::string& reason);

  /// Prints what was written. False: something was not.
  bool finish();

 private:
  const ExportSettings& settings_;
  const ExportedDump& dump_;
  const CardedOps* const card_;
  BesideCards beside_;
  Progress progress_;
  StoredElements elements_;
  std::optional<std::string> provenance_{};
  std::uint64_t tensors_ = 0;
  std::uint64_t files_ = 0;
  std::uint64_t failures_ = 0;
};

// Each writes a dump in one format.

/// `step{S}/rank{R}/dump.json`, `stack.json`, `construct.json` and `dump_tensor_data/*.npy`, for each boot in
/// a directory of its own. Source: msprobe, level L1 of MindSpore.
void export_msprobe(Export& out);

/// `step{S}.safetensors`. Source: the format's specification, github.com/huggingface/safetensors.
void export_safetensors(Export& out);

/// `outputs.json`, RunResults with an iteration for each step. Source: Polygraphy, json/serde.py and
/// comparator/struct.py.
void export_polygraphy(Export& out);

/// `step{S}/{type}.{name}.{role}.{index}.pb`. Source: onnx.proto, TensorProto.
void export_onnx_tensors(Export& out);

/// Writes a dump in a format, such as "model-explorer"; says what it wrote and what it could not. Returns the
/// exit status.
int run_export(std::string_view format, const ExportSettings& settings);

/// Whether there is such a format.
bool is_export_format(std::string_view format);

inline constexpr char kExportFormats[] = "msprobe, safetensors, polygraphy, onnx-tensors and model-explorer";

}  // namespace opdump::tool
