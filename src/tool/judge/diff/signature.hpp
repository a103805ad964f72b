#pragma once
#include <functional>
#include <string>
#include <string_view>

#include "src/tool/judge/diff/run_table.hpp"

namespace opdump::tool {

/// A signature is a text that says what each tensor of a run should be. Names have "_" for each comma:
///
///     opdump-signature,1,xxh3
///     model,MODEL,SHA256                              of the model's file, where a card tells it
///     tensor,MODEL,TYPE,OP,output,0,float32 [2,2]     the tensors, numbered from 0
///     step,0                                          what follows is of that step, in the order of
///     execution 0 2d06800538d394c2 a65771cbfd464c2d ~           the digests of tensors 0, 1 and 2
///
/// A line begins with the number of its first tensor; the next ones count on. "~" stands for a tensor that
/// differed from run to run. A tensor that comes again in the same step is its next turn.
inline constexpr std::string_view kSignatureStart = "opdump-signature,";

/// Takes the next piece of a text; false: no more is wanted.
using PutText = std::function<bool(std::string_view piece)>;

/// Gives the signature of what the runs of `table`, which has digests of elements alone, agree in to `put`.
/// Tensors that they do not agree in are "~". False when `put` was.
bool write_signature(const RunTable& table, std::string_view algorithm, const PutText& put);

/// "crc32c", "xxh3" or "md5", from the first line; empty: it is no signature that is known here.
std::string_view signature_algorithm(std::string_view text);

/// Adds an untrusted signature to the run that `table` has begun. False, with `error`, when it is malformed.
/// `passed` is told, line by line, how many bytes are not read again.
bool read_signature(std::string_view text, RunTable& table, std::string& error,
                    const std::function<void(std::size_t bytes)>& passed);

/// For people: a number in hexadecimal digits, of MD5 the bytes; "~" for a flaky one, "-" for none, "?" for
/// one that is not known.
std::string digest_text(RunDigest digest, std::string_view algorithm);

/// The bytes that digits stand for, as many as `to` takes; false where some are no digits.
bool read_digits(std::string_view digits, MutableBytes to);

/// Bytes of a digest of that algorithm.
std::size_t digest_bytes_of(std::string_view algorithm);

}  // namespace opdump::tool
