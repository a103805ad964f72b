// The .dbg file of a model, which names operators and tensors for the nano executor.

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "platform/ascend/nano/dbg_file.hpp"
#include "tests/support/nano/dbg_maker.hpp"

using namespace opdump;
using namespace opdump::nano;
using namespace opdump::tests;

namespace {

std::vector<std::byte> net_file() {
  return DbgMaker::file("net", made_ops());
}

/// What is wrong with a file, one per line; "refused: " before what is fatal.
std::string faults_of(const std::vector<std::byte>& bytes) {
  DbgFile file;
  std::vector<DbgFault> faults;
  const bool read = file.read(bytes, faults);
  std::string text;
  bool fatal = false;
  for (const DbgFault& fault : faults) {
    text += (fault.fatal ? "refused: " : "") + fault.reason + "\n";
    fatal = fatal || fault.fatal;
  }
  CHECK(read == !fatal);
  return text;
}

std::vector<std::byte> patched(std::vector<std::byte> bytes, std::size_t at, std::uint32_t value) {
  store_little_endian(&bytes[at], value);
  return bytes;
}

/// Where `text` begins.
std::size_t place_of(const std::vector<std::byte>& bytes, std::string_view text) {
  return as_text(bytes).find(text);
}

}  // namespace

TEST_CASE("dbg: operators, their fused names and their tensors are read") {
  DbgFile file;
  std::vector<DbgFault> faults;
  REQUIRE(file.read(net_file(), faults));
  CHECK(faults.empty());
  CHECK(file.model_name() == "net");
  REQUIRE(file.ops().size() == 4);
  CHECK(file.ops()[1].task_id == 1);
  CHECK(file.ops()[3].name == "fc_add");
  REQUIRE(file.ops()[3].original_names.size() == 2);
  CHECK(file.ops()[3].original_names[1] == "add");

  const ModelDesc model = file.model("net.om", 7);
  CHECK(model.name == "net.om");
  CHECK(model.graph_name == "net");
  CHECK(model.id == 7);
  REQUIRE(model.ops.size() == 4);
  CHECK(model.ops[0].name == "conv");
  CHECK(model.ops[0].type == "Conv2D");
  CHECK(model.ops[3].original_names[0] == "fc");
  REQUIRE(model.tensors.size() == 4);
  REQUIRE(model.tensors[0].inputs.size() == 2);
  const TensorView& image = model.tensors[0].inputs[0];
  CHECK(image.dtype == DType::float16);
  CHECK(image.format == Format::nhwc);
  CHECK(image.address_kind == AddressKind::nano_io);
  CHECK(image.bytes == 64);
  CHECK(image.shape.size() == 4);
  CHECK(image.shape[3] == 2);
  CHECK(image.original_shape.size() == 4);
  REQUIRE(model.tensors[0].outputs.size() == 1);
  CHECK(model.tensors[0].outputs[0].original_name == "conv");
  CHECK(file.model("net").graph_name.empty());
}

TEST_CASE("dbg: the vendor's example has the lengths that its own tests give") {
  // Two inputs and an output with one dim pair each, as they stand in the tests of the device part.
  const MadeTensor input = {.dtype = 1, .dims = {1, 14652}, .bytes = 48, .format = 1, .address_kind = 3};
  const MadeTensor output = {.dtype = 1,
                             .dims = {1, 14682},
                             .bytes = 64,
                             .format = 1,
                             .address_kind = 3,
                             .original_name = "concatv2"};
  const std::vector<std::byte> bytes =
      DbgMaker::file("concat_nano", {{"concatv2", "ConcatV2D", 0, {input, input}, {output}, {"concatv2"}}});
  const std::size_t list = 8 + 8 + 11;
  CHECK(load_little_endian<std::uint32_t>(&bytes[list + 4]) == 454);
  CHECK(load_little_endian<std::uint32_t>(&bytes[list + 12 + 21]) == 425);
  CHECK(faults_of(bytes).empty());
  DbgFile file;
  std::vector<DbgFault> faults;
  REQUIRE(file.read(bytes, faults));
  const OpEntry& op = file.ops()[0];
  CHECK(op.inputs.end - op.inputs.start - 8 == 180);
  CHECK(op.outputs.end - op.outputs.start - 8 == 120);
}

TEST_CASE("dbg: what the vendor's executor refuses is refused") {
  const std::vector<std::byte> bytes = net_file();
  CHECK(faults_of({}) == "refused: shorter than the 8 bytes of a head\n");
  CHECK(faults_of(patched(bytes, 4, 0x5a5a5a5b)) ==
        "refused: the magic number is 0x5a5a5a5b and not 0x5a5a5a5a\n");
  CHECK(faults_of(patched(bytes, 12, 0xffffffff)) ==
        "refused: a TLV of 4294967295 bytes passes the end of the file\n");
  CHECK(faults_of(DbgMaker::file("", made_ops())) == "refused: the name of the model is empty\n");
  const std::size_t op = 8 + 11 + 8 + 4;
  CHECK(faults_of(patched(bytes, op + 21, 100000)) ==
        "refused: operator 0 promises 100000 bytes of TLVs where " + std::to_string(bytes.size() - op - 25) +
            " are left\n");
  // The tag of its name becomes one that is skipped.
  CHECK(faults_of(patched(bytes, op + 25, 9)) == "refused: operator 0 has no name\n");
}

TEST_CASE("dbg: what only costs tensors or is doubtful leaves the operators") {
  const std::vector<std::byte> bytes = net_file();
  CHECK(faults_of(patched(bytes, 0, 1)) == "version 1, of which nothing is known\n");
  CHECK(faults_of(patched(bytes, 8 + 11 + 8, 5)) == "the list of operators promises 5 and has 4\n");
  const std::size_t inputs = place_of(bytes, "Conv2D") + 6;
  CHECK(faults_of(patched(bytes, inputs + 8, 3)) ==
        "the inputs of operator 0 end too early: there should be 3\n");
  CHECK(faults_of(patched(bytes, inputs + 8, 1)) ==
        "the inputs of operator 0 do not fill their TLV: there should be 1\n");
  DbgFile file;
  std::vector<DbgFault> faults;
  REQUIRE(file.read(patched(bytes, inputs + 8, 1), faults));
  CHECK(file.model("net").tensors[0].inputs.empty());
  CHECK(file.model("net").tensors[0].outputs.size() == 1);

  std::vector<std::byte> more = bytes;
  more.resize(more.size() + 3);
  CHECK(faults_of(more) == "3 bytes behind the last TLV\n");
  CHECK(faults_of({bytes.begin(), bytes.begin() + 8}) == "no name of the model\nno list of operators\n");
}

TEST_CASE("dbg: an operator with only fused names has the first of them") {
  std::vector<std::byte> bytes = net_file();
  const std::size_t name = place_of(bytes, "fc_add") - 8;
  bytes = patched(bytes, name, 9);
  DbgFile file;
  std::vector<DbgFault> faults;
  REQUIRE(file.read(bytes, faults));
  CHECK(file.ops()[3].name == "fc");
}

TEST_CASE("dbg: tensors are left out, and the rest is the file of a model without them") {
  DbgFile file;
  std::vector<DbgFault> faults;
  REQUIRE(file.read(net_file(), faults));
  CHECK(file.without([](std::size_t, bool, std::uint32_t) { return false; }) == net_file());

  std::vector<MadeOp> ops = made_ops();
  ops[0].inputs.erase(ops[0].inputs.begin());
  ops[3].inputs.clear();
  ops[3].outputs.clear();
  CHECK(file.without([](std::size_t op, bool is_output, std::uint32_t index) {
    return op == 3 || (op == 0 && !is_output && index == 0);
  }) == DbgMaker::file("net", ops));
}

TEST_CASE("dbg: no damage and no end crashes the reader, nor makes it read what is not there") {
  const std::vector<std::byte> bytes = net_file();
  std::size_t unharmed = 0;
  const auto try_out = [&](std::vector<std::byte> damaged) {
    damaged.shrink_to_fit();
    DbgFile file;
    std::vector<DbgFault> faults;
    if (!file.read(damaged, faults)) {
      CHECK(file.ops().empty());
      CHECK_FALSE(faults.empty());
      return;
    }
    if (faults.empty()) ++unharmed;
    const ModelDesc model = file.model("net");
    std::size_t tensors = 0;
    for (std::size_t i = 0; i < model.ops.size(); ++i) tensors += model.tensors[i].size();
    CHECK(tensors <= 10);
    static_cast<void>(file.without([](std::size_t, bool, std::uint32_t index) { return index == 0; }));
  };
  for (std::size_t size = 0; size < bytes.size(); ++size)
    try_out({bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)});
  CHECK(unharmed == 0);
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (const int flip : {0x01, 0x80, 0xff}) {
      std::vector<std::byte> damaged = bytes;
      damaged[at] ^= static_cast<std::byte>(flip);
      try_out(std::move(damaged));
    }
  }
}
