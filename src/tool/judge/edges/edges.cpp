#include "src/tool/judge/edges/edges.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/tool/cli/progress.hpp"
#include "src/tool/read/dump/mapped_file.hpp"

namespace opdump::tool {
namespace {

/// Which output was written last to each byte of a device.
class WrittenBytes {
 public:
  struct Part {
    std::uint64_t end = 0;
    std::size_t output = 0;
  };

  void write(std::uint64_t start, std::uint64_t bytes, std::size_t output) {
    const std::uint64_t end = start + bytes;
    auto at = parts_.lower_bound(start);
    if (at != parts_.begin()) {
      const auto before = std::prev(at);
      if (before->second.end > end) parts_[end] = before->second;
      before->second.end = std::min(before->second.end, start);
    }
    for (at = parts_.lower_bound(start); at != parts_.end() && at->first < end;) {
      if (at->second.end > end) parts_[end] = at->second;
      at = parts_.erase(at);
    }
    parts_[start] = {end, output};
  }

  /// The output that wrote all of these bytes.
  std::optional<std::size_t> writer(std::uint64_t start, std::uint64_t bytes) const {
    const auto behind = parts_.upper_bound(start);
    if (behind == parts_.begin()) return std::nullopt;
    const Part& part = std::prev(behind)->second;
    return part.end >= start + bytes ? std::optional<std::size_t>(part.output) : std::nullopt;
  }

 private:
  std::map<std::uint64_t, Part> parts_;  ///< by their first byte; none is in two
};

template <class Element>
bool holds_elements_of(Bytes whole, Bytes part) {
  const auto sorted = [](Bytes bytes) {
    std::vector<Element> elements(bytes.size() / sizeof(Element));
    std::memcpy(elements.data(), bytes.data(), elements.size() * sizeof(Element));
    std::sort(elements.begin(), elements.end());
    return elements;
  };
  const std::vector<Element> ours = sorted(whole), theirs = sorted(part);
  return std::includes(ours.begin(), ours.end(), theirs.begin(), theirs.end());
}

/// Whether each element of `part` is one of `whole`, wherever: a view with strides has them so.
bool holds_elements_of(Bytes whole, Bytes part, DType dtype) {
  const std::size_t bits = is_known(dtype) ? info(dtype).bits : 8;
  if (bits == 16) return holds_elements_of<std::uint16_t>(whole, part);
  if (bits == 32) return holds_elements_of<std::uint32_t>(whole, part);
  if (bits >= 64) return holds_elements_of<std::uint64_t>(whole, part);
  return holds_elements_of<std::uint8_t>(whole, part);
}

class EdgeFinder {
 public:
  EdgeFinder(const DumpSide& side, const CardedOps* card, std::vector<std::string>& errors)
      : side_(side), card_(card), errors_(errors) {}

  Edges find() {
    Progress progress(side_.tensors.size(), "following tensors");
    std::map<std::pair<std::optional<std::uint32_t>, std::string_view>, Step> steps;
    Edges edges;
    for (const DumpFile& file : side_.files) {
      if (card_ != nullptr) card_->check_task(identity_of(file));
    }
    for (std::size_t number = 0; number < side_.tensors.size(); ++number) {
      const DumpTensor& tensor = side_.tensors[number];
      const DumpFile& file = side_.files[tensor.file];
      Step& step = steps[{file.boot, file.place}];
      progress.add();
      if (!tensor.is_output) {
        if (const std::optional<Edge> edge = edge_to(step, number, tensor)) edges.push_back(*edge);
        continue;
      }
      if (has_place(tensor)) step.written.write(tensor.address, tensor.data_bytes, number);
      if (card_ != nullptr) step.outputs[{file.op, tensor.index}] = number;
    }
    progress.wipe();
    Progress reading(input_bytes(side_));
    for (Edge& edge : edges) {
      reading.add(side_.tensors[edge.to].data_bytes);
      compare_bytes(edge);
    }
    return edges;
  }

 private:
  struct Step {
    WrittenBytes written{};
    std::map<std::pair<std::string, std::uint32_t>, std::size_t>
        outputs{};  ///< the latest, by operator and index, which only a card asks for
  };

  static bool has_place(const DumpTensor& tensor) {
    return tensor.address != 0 && tensor.data_bytes != 0 && tensor.address <= UINT64_MAX - tensor.data_bytes;
  }

  std::optional<Edge> edge_to(const Step& step, std::size_t input, const DumpTensor& to) const {
    if (has_place(to)) {
      if (const std::optional<std::size_t> from = step.written.writer(to.address, to.data_bytes)) {
        const DumpTensor& output = side_.tensors[*from];
        const bool whole = output.address == to.address && output.data_bytes == to.data_bytes;
        return Edge{*from, input, whole ? EdgeSource::address : EdgeSource::view};
      }
    }
    if (card_ == nullptr) return std::nullopt;
    const std::optional<CardedOps::Output> producer =
        card_->producer(identity_of(side_.files[to.file]), to.index);
    if (!producer) return std::nullopt;
    const auto found = step.outputs.find({producer->op, producer->index});
    if (found == step.outputs.end()) return std::nullopt;
    return Edge{found->second, input, EdgeSource::name};
  }

  void compare_bytes(Edge& edge) {
    const DumpTensor& from = side_.tensors[edge.from];
    const DumpTensor& to = side_.tensors[edge.to];
    const std::uint64_t skipped = edge.source == EdgeSource::view ? to.address - from.address : 0;
    if (edge.source == EdgeSource::name && from.data_bytes != to.data_bytes) return;
    const Bytes theirs = bytes_of(from_file_, from_path_, from), ours = bytes_of(to_file_, to_path_, to);
    if (ours.empty() || theirs.size() < skipped + ours.size()) return;
    const std::byte* const expected = theirs.data() + skipped;
    const auto [at, other] = std::mismatch(ours.begin(), ours.end(), expected);
    static_cast<void>(other);
    edge.bytes = at == ours.end()                            ? EdgeBytes::same
                 : holds_elements_of(theirs, ours, to.dtype) ? EdgeBytes::reordered
                                                             : EdgeBytes::differ;
    edge.differs_at = static_cast<std::uint64_t>(at - ours.begin());
  }

  /// Empty where they cannot be read as they are.
  Bytes bytes_of(MappedFile& file, std::string& path, const DumpTensor& tensor) {
    if (!tensor.form.is_plain()) return {};
    if (const std::string here = side_.files[tensor.file].path; path != here) {
      path = here;
      if (!file.open(path)) {
        errors_.push_back(file.error());
        path.clear();
        return {};
      }
    }
    const Bytes all = file.bytes();
    if (tensor.data_offset > all.size() || all.size() - tensor.data_offset < tensor.data_bytes) return {};
    return all.subspan(static_cast<std::size_t>(tensor.data_offset),
                       static_cast<std::size_t>(tensor.data_bytes));
  }

  static std::uint64_t input_bytes(const DumpSide& side) {
    std::uint64_t bytes = 0;
    for (const DumpTensor& tensor : side.tensors) bytes += tensor.is_output ? 0 : tensor.data_bytes;
    return bytes;
  }

  const DumpSide& side_;
  const CardedOps* const card_;
  std::vector<std::string>& errors_;
  MappedFile from_file_;
  MappedFile to_file_;
  std::string from_path_;
  std::string to_path_;
};

}  // namespace

Edges find_edges(const DumpSide& side, const CardedOps* card, std::vector<std::string>& errors) {
  return EdgeFinder(side, card, errors).find();
}

}  // namespace opdump::tool
