#include <doctest/doctest.h>

#include <cstring>

#include "opdump/opdump.h"
#include "tests/support/c_api_dump.hpp"

using namespace opdump::tests;

namespace {

/// A dump whose operators are counted, and what may become of them.
struct CountedDump {
  CDump dump;
  std::unique_ptr<Room> room;

  CountedDump() {
    dump.start(kNet);
    room = std::make_unique<Room>(opdump_model_count_size(dump.model));
    REQUIRE(opdump_model_count_ops(dump.model, room->at(), room->bytes()) == OPDUMP_OK);
  }

  /// Captures `op` with so many bytes in the next step.
  opdump_status step(std::uint32_t op, std::uint64_t bytes) {
    static unsigned char tensor_memory[16384];
    REQUIRE(bytes <= sizeof tensor_memory);
    const opdump_tensor tensor = tensor_of_bytes(tensor_memory, bytes);
    REQUIRE(opdump_begin_step(dump.recorder, dump.model) == OPDUMP_OK);
    const opdump_status status = opdump_capture(dump.recorder, op, nullptr, 0, &tensor, 1);
    REQUIRE(opdump_end_step(dump.recorder) == OPDUMP_OK);
    return status;
  }

  opdump_op_counts counts(std::uint32_t op) const {
    opdump_op_counts counts;
    REQUIRE(opdump_model_op_counts(dump.model, op, &counts, sizeof counts) == OPDUMP_OK);
    return counts;
  }
};

}  // namespace

TEST_CASE("c api: what becomes of each operator is counted, by cause and over a range of steps") {
  CountedDump counted;
  CDump& dump = counted.dump;
  CHECK(counted.step(0, 100) == OPDUMP_OK);
  CHECK(counted.step(1, 16000) == OPDUMP_ERR_RING_FULL);  // begins, and finds no room for the rest
  CHECK(counted.step(1, 3000) == OPDUMP_ERR_RING_FULL);   // does not begin
  REQUIRE(opdump_session_flush(dump.session, 1000) == OPDUMP_OK);
  dump.received.answer = OPDUMP_ERR_NO_SPACE;
  CHECK(counted.step(0, 100) == OPDUMP_OK);
  REQUIRE(opdump_session_flush(dump.session, 1000) == OPDUMP_OK);

  const opdump_op_counts conv = counted.counts(0), relu = counted.counts(1);
  CHECK(conv.seen == 4);
  CHECK(conv.wanted == 2);
  CHECK(conv.captured == 2);
  CHECK(conv.sink_failed == 1);
  CHECK(conv.aborted == 1);
  CHECK(conv.dropped == 0);
  CHECK(conv.lost == 1);
  CHECK(conv.first_lost_step == 3);
  CHECK(conv.last_lost_step == 3);
  CHECK(relu.seen == 4);
  CHECK(relu.wanted == 2);
  CHECK(relu.captured == 0);
  CHECK(relu.ring_full == 2);
  CHECK(relu.aborted == 1);
  CHECK(relu.dropped == 1);
  CHECK(relu.first_lost_step == 1);
  CHECK(relu.last_lost_step == 2);
  const opdump_counts all = dump.counts();
  CHECK(all.wanted == conv.wanted + relu.wanted);
  CHECK(all.dropped == conv.dropped + relu.dropped);
  CHECK(all.aborted == conv.aborted + relu.aborted);
  CHECK(all.wanted == all.written + all.dropped + all.aborted);

  dump.received.answer = OPDUMP_OK;
  REQUIRE(opdump_model_restart_counts(dump.model) == OPDUMP_OK);
  CHECK(counted.counts(1).lost == 0);
  CHECK(counted.step(0, 100) == OPDUMP_OK);
  CHECK(counted.counts(0).seen == 1);
  CHECK(counted.counts(0).captured == 1);
  CHECK(counted.counts(0).lost == 0);
  CHECK(dump.counts().lost == all.lost);
}

TEST_CASE("c api: finalize writes the counts of operators with losses to the journal") {
  CountedDump counted;
  CHECK(counted.step(1, 16000) == OPDUMP_ERR_RING_FULL);
  REQUIRE(opdump_session_finalize(counted.dump.session) == OPDUMP_OK);
  const std::string journal = only(counted.dump.received.journals, "opdump.0.");
  CHECK(journal.find("\nop,1,0,0,1,0,0,1,0,1,0,0,0,0,0,1,net/Relu.relu1\n") != journal.npos);
  CHECK(counted.counts(1).lost == 1);
}

TEST_CASE("c api: operators are counted once per loading, between steps") {
  CDump dump;
  dump.start(kNet);
  opdump_op_counts counts;
  CHECK(opdump_model_op_counts(dump.model, 0, &counts, sizeof counts) == OPDUMP_ERR_INVALID_ARGUMENT);
  CHECK(opdump_model_restart_counts(dump.model) == OPDUMP_ERR_INVALID_ARGUMENT);
  const Room room(opdump_model_count_size(dump.model));
  REQUIRE(opdump_begin_step(dump.recorder, dump.model) == OPDUMP_OK);
  CHECK(opdump_model_count_ops(dump.model, room.at(), room.bytes()) == OPDUMP_ERR_STEP_OPEN);
  REQUIRE(opdump_end_step(dump.recorder) == OPDUMP_OK);
  CHECK(opdump_model_count_ops(dump.model, room.at(), room.bytes() / 2) == OPDUMP_ERR_NO_MEMORY);
  REQUIRE(opdump_model_count_ops(dump.model, room.at(), room.bytes()) == OPDUMP_OK);
  CHECK(opdump_model_count_ops(dump.model, room.at(), room.bytes()) == OPDUMP_ERR_INVALID_ARGUMENT);
  CHECK(opdump_model_op_counts(dump.model, 2, &counts, sizeof counts) == OPDUMP_ERR_NO_SUCH_OP);
  REQUIRE(opdump_begin_step(dump.recorder, dump.model) == OPDUMP_OK);
  CHECK(opdump_model_restart_counts(dump.model) == OPDUMP_ERR_STEP_OPEN);
  REQUIRE(opdump_end_step(dump.recorder) == OPDUMP_OK);
  REQUIRE(opdump_model_op_counts(dump.model, 0, &counts, sizeof counts) == OPDUMP_OK);
  CHECK(counts.seen == 1);  // since it is counted
  struct {
    opdump_op_counts counts;
    std::uint64_t added = 7;
  } newer;
  REQUIRE(opdump_model_op_counts(dump.model, 0, &newer.counts, sizeof newer) == OPDUMP_OK);
  CHECK(newer.added == 0);
  REQUIRE(opdump_model_unload(dump.model) == OPDUMP_OK);
  CHECK(opdump_model_count_size(dump.model) == 0);
  CHECK(opdump_model_count_ops(dump.model, room.at(), room.bytes()) == OPDUMP_ERR_MODEL_NOT_LOADED);
  CHECK(opdump_model_op_counts(dump.model, 0, &counts, sizeof counts) == OPDUMP_ERR_MODEL_NOT_LOADED);
  CHECK(opdump_model_restart_counts(dump.model) == OPDUMP_ERR_MODEL_NOT_LOADED);
}

TEST_CASE("c api: calls that count do nothing without a model") {
  opdump_op_counts counts;
  CHECK(opdump_model_count_size(nullptr) == 0);
  CHECK(opdump_model_count_ops(nullptr, &counts, sizeof counts) == OPDUMP_ERR_INVALID_ARGUMENT);
  CHECK(opdump_model_op_counts(nullptr, 0, &counts, sizeof counts) == OPDUMP_ERR_INVALID_ARGUMENT);
  CHECK(opdump_model_restart_counts(nullptr) == OPDUMP_ERR_INVALID_ARGUMENT);
  CountedDump counted;
  CHECK(opdump_model_op_counts(counted.dump.model, 0, nullptr, 0) == OPDUMP_ERR_INVALID_ARGUMENT);
}
