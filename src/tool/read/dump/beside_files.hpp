#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace opdump::tool {

inline constexpr std::string_view kCardSuffix = ".model.json";

/// What the name of a model's file beside the journals says, `opdump.{device}.{model}{suffix}`; a further
/// file of that name has a number behind the model's.
struct BesideName {
  std::uint64_t device = 0;
  std::uint64_t model_id = 0;
};

/// Nothing: it is no such name.
std::optional<BesideName> parse_beside_name(std::string_view name, std::string_view suffix);

/// Such names in `directory` (empty: the working directory), in natural order; none if it cannot be read.
std::vector<std::string> beside_names(const std::string& directory, std::string_view suffix);

/// The names in `directory` (empty: the working directory) that `fits` takes, in natural order; none if it
/// cannot be read. Holds no others.
std::vector<std::string> names_in(const std::string& directory,
                                  const std::function<bool(std::string_view name)>& fits);

/// The files of one kind that lie beside the journals of dumps, read when they are asked for and kept.
template <class File>
class BesideFiles {
 public:
  using Files = std::vector<std::unique_ptr<File>>;
  /// Reads the file of that path and name; null: it is not used.
  using Load = std::function<std::unique_ptr<File>(const std::string& path, const std::string& name)>;

  BesideFiles(std::string_view suffix, Load load) : suffix_(suffix), load_(std::move(load)) {}

  /// Those in the directory, by name.
  const Files& in(const std::string& directory) {
    if (read_.size() >= kMostEmpty) std::erase_if(read_, [](const auto& each) { return !each.second.any; });
    const auto [at, is_new] = read_.try_emplace(directory);
    Files& files = at->second.files;
    if (!is_new) return files;
    for (const std::string& name : beside_names(directory, suffix_)) {
      at->second.any = true;
      if (auto file = load_(directory.empty() ? name : directory + '/' + name, name))
        files.push_back(std::move(file));
    }
    return files;
  }

  /// The first two that `fits` takes in the nearest directory above `directory` that has any; null where
  /// there are fewer.
  template <class Fits>
  std::pair<File*, File*> above(std::string directory, Fits fits) {
    constexpr int kMostAbove = 4;
    for (int i = 0; i < kMostAbove && directory.rfind('/') != directory.npos; ++i) {
      directory.resize(directory.rfind('/'));
      const Files& files = in(directory);
      if (files.empty()) continue;
      const auto is_one = [&](const std::unique_ptr<File>& file) { return fits(std::as_const(*file)); };
      const auto first = std::find_if(files.begin(), files.end(), is_one);
      if (first == files.end()) break;
      const auto second = std::find_if(first + 1, files.end(), is_one);
      return {first->get(), second == files.end() ? nullptr : second->get()};
    }
    return {nullptr, nullptr};
  }

 private:
  /// Directories without such files of which that is remembered.
  static constexpr std::size_t kMostEmpty = 4096;

  struct Directory {
    bool any = false;  ///< it has such files, also where none is used
    Files files{};
  };

  std::string_view suffix_;
  Load load_;
  std::map<std::string, Directory> read_;
};

}  // namespace opdump::tool
