#include "src/tool/judge/diff/signature.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "opdump/types/config.hpp"
#include "src/card/hexadecimal.hpp"
#include "src/tool/cli/decimal.hpp"
#include "src/tool/read/dump/csv_file.hpp"

namespace opdump::tool {
namespace {

constexpr std::size_t kAlgorithmBytes[] = {4, 8, 16};
constexpr std::string_view kFlaky = "~";

std::string_view cut_until(std::string_view& text, char separator) {
  const std::size_t at = std::min(text.find(separator), text.size());
  const std::string_view part = text.substr(0, at);
  text.remove_prefix(std::min(at + 1, text.size()));
  return part;
}

/// What all runs that have the tensor have.
RunDigest agreed(const RunTable& table, std::size_t place) {
  RunDigest digest;
  for (std::size_t run = 0; run < table.runs().size(); ++run) {
    const RunDigest one = table.at(run, place);
    if (one.state == RunDigest::State::absent) continue;
    if (digest.state == RunDigest::State::absent) digest = one;
    if (digest != one) digest.state = RunDigest::State::flaky;
  }
  return digest;
}

/// The sums that are numbers are written as such, the highest byte first.
void turn(std::string_view algorithm, RunDigest& digest) {
  if (algorithm == "md5") return;
  const auto end = digest.bytes.begin() + static_cast<std::ptrdiff_t>(digest_bytes_of(algorithm));
  std::reverse(digest.bytes.begin(), end);
}

bool parse_digest(std::string_view text, std::string_view algorithm, RunDigest& digest) {
  const std::size_t bytes = digest_bytes_of(algorithm);
  digest = {};
  if (text == kFlaky) {
    digest.state = RunDigest::State::flaky;
    return true;
  }
  if (text.size() != 2 * bytes || !read_digits(text, digest.bytes)) return false;
  turn(algorithm, digest);
  digest.state = RunDigest::State::there;
  return true;
}

bool parse_tensor(std::string_view rest, SummedTensor& tensor) {
  tensor.model = cut_until(rest, ',');
  tensor.type = cut_until(rest, ',');
  tensor.op = cut_until(rest, ',');
  const std::string_view role = cut_until(rest, ',');
  tensor.is_output = role == "output";
  const std::optional<std::uint64_t> index = parse_decimal(cut_until(rest, ','));
  if (!index || *index > UINT32_MAX || (!tensor.is_output && role != "input")) return false;
  tensor.index = static_cast<std::uint32_t>(*index);
  tensor.what = rest;
  return !tensor.op.empty();
}

}  // namespace

bool read_digits(std::string_view digits, MutableBytes to) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  for (std::size_t i = 0; i < to.size() && 2 * i + 1 < digits.size(); ++i) {
    const std::size_t high = kDigits.find(digits[2 * i]), low = kDigits.find(digits[2 * i + 1]);
    if (high == kDigits.npos || low == kDigits.npos) return false;
    to[i] = static_cast<std::byte>(high * 16 + low);
  }
  return true;
}

std::size_t digest_bytes_of(std::string_view algorithm) {
  const auto* const found = std::find(std::begin(kDigestWords), std::end(kDigestWords), algorithm);
  return found == std::end(kDigestWords) ? 0 : kAlgorithmBytes[found - std::begin(kDigestWords)];
}

std::string digest_text(RunDigest digest, std::string_view algorithm) {
  if (digest.state == RunDigest::State::absent) return "-";
  if (digest.state == RunDigest::State::flaky) return std::string(kFlaky);
  if (digest.state == RunDigest::State::unknown) return "?";
  if (digest.basis != kOfElements) return cards::hexadecimal(Bytes(digest.bytes));
  turn(algorithm, digest);
  return cards::hexadecimal(Bytes(digest.bytes).first(digest_bytes_of(algorithm)));
}

bool write_signature(const RunTable& table, std::string_view algorithm, const PutText& put) {
  constexpr std::size_t kPiece = std::size_t{64} << 10;
  std::string text = std::string(kSignatureStart) + "1," + std::string(algorithm) + '\n';
  ModelSums models;
  for (const Run& run : table.runs()) models.insert(run.models.begin(), run.models.end());
  for (const auto& [model, sum] : models) text += "model," + model + ',' + sum + '\n';
  std::vector<std::uint32_t> numbers(table.tensors().size(), UINT32_MAX);
  std::uint32_t count = 0;
  for (const std::size_t place : table.order()) {
    const std::uint32_t id = table.places()[place].tensor;
    if (numbers[id] != UINT32_MAX) continue;
    numbers[id] = count++;
    const SummedTensor& tensor = table.tensors()[id];
    text += "tensor," + tensor.model + ',' + tensor.type + ',' + tensor.op + ',' +
            (tensor.is_output ? "output," : "input,") + std::to_string(tensor.index) + ',' + tensor.what +
            '\n';
    if (text.size() >= kPiece && !put(std::exchange(text, {}))) return false;
  }
  std::uint64_t step = 0;
  std::uint32_t next = UINT32_MAX;
  bool first = true;
  for (const std::size_t place : table.order()) {
    const RunPlace& at = table.places()[place];
    if (first || at.step != step) {
      text += (first ? "" : "\n");
      text += "step," + std::to_string(at.step);
      next = UINT32_MAX;
    }
    first = false;
    step = at.step;
    const std::uint32_t number = numbers[at.tensor];
    text += number == next ? " " : '\n' + std::to_string(number) + ' ';
    next = number + 1;
    const RunDigest digest = agreed(table, place);
    text += digest_text(digest, algorithm);
    if (text.size() >= kPiece && !put(std::exchange(text, {}))) return false;
  }
  return put(text + (first ? "" : "\n"));
}

std::string_view signature_algorithm(std::string_view text) {
  std::string_view line;
  TextLines(text).next(line);
  if (!line.starts_with(kSignatureStart)) return {};
  line.remove_prefix(kSignatureStart.size());
  return cut_until(line, ',') == "1" && digest_bytes_of(line) != 0 ? line : std::string_view();
}

bool read_signature(std::string_view text, RunTable& table, std::string& error,
                    const std::function<void(std::size_t bytes)>& passed) {
  const std::string_view algorithm = signature_algorithm(text);
  std::vector<FormedTensor> tensors;
  std::optional<std::uint64_t> step;
  TextLines lines(text);
  std::string_view line;
  lines.next(line);
  const auto fail = [&](std::string_view reason) {
    error = "line " + std::to_string(lines.number()) + ": " + std::string(reason);
    return false;
  };
  if (algorithm.empty()) return fail("not a signature of version 1");
  while (lines.next(line)) {
    passed(text.size() - lines.left());
    if (line.starts_with("tensor,")) {
      SummedTensor tensor;
      if (!parse_tensor(line.substr(7), tensor)) return fail("not a tensor");
      tensors.push_back(table.tensor(tensor));
    } else if (line.starts_with("model,")) {
      line.remove_prefix(6);
      const std::string model(cut_until(line, ','));
      if (model.empty() || line.empty()) return fail("not a model");
      table.add_model(model, std::string(line));
    } else if (line.starts_with("step,")) {
      step = parse_decimal(line.substr(5));
      if (!step) return fail("not a step");
    } else {
      std::optional<std::uint64_t> tensor = parse_decimal(cut_until(line, ' '));
      if (!tensor || !step) return fail("digests without a tensor or a step");
      for (; !line.empty(); ++*tensor) {
        RunDigest digest;
        if (*tensor >= tensors.size()) return fail("a digest of no tensor");
        if (!parse_digest(cut_until(line, ' '), algorithm, digest)) return fail("not a digest");
        table.set(tensors[static_cast<std::size_t>(*tensor)], *step, digest);
      }
    }
  }
  return true;
}

}  // namespace opdump::tool
