#include <doctest/doctest.h>

#include <map>
#include <string>

#include "opdump/parts/callback_sink.hpp"

using namespace opdump;

namespace {

/// Stores the pieces as a receiver would.
struct Receiver {
  static Status take(void* receiver, const SinkPiece& piece) {
    return static_cast<Receiver*>(receiver)->take(piece);
  }

  Status take(const SinkPiece& piece) {
    if (calls++ == fail_at) return Status::io_error;
    const std::string path(piece.path);
    if (piece.kind == SinkPiece::Kind::data) open[path] += as_text(piece.bytes);
    if (piece.kind == SinkPiece::Kind::committed) committed.insert(open.extract(path));
    if (piece.kind == SinkPiece::Kind::aborted) {
      open.erase(path);
      committed.erase(path);
    }
    return Status::ok;
  }

  std::map<std::string, std::string> open;
  std::map<std::string, std::string> committed;
  int calls = 0;
  int fail_at = -1;
};

}  // namespace

#if OPDUMP_FAULTS == 2
TEST_CASE("callback sink: of a pair the receiver has both or neither, whichever call it refuses") {
  for (int call = 0;; ++call) {
    CAPTURE(call);
    Receiver receiver;
    std::byte paths[1024];
    CallbackSink sink(Receiver::take, &receiver, paths);
    const ObjectId op = sink.begin({"/dump", "d", "op"}).value();
    const ObjectId blob = sink.begin({"/dump", "d", "blob"}).value();
    const Bytes part = as_bytes("bytes");
    REQUIRE(sink.append(op, {&part, 1}) == Status::ok);
    REQUIRE(sink.append(blob, {&part, 1}) == Status::ok);
    const int before = receiver.calls;
    receiver.fail_at = before + call;
    const Status status = sink.commit(op, blob);
    CHECK(receiver.committed.size() == (status == Status::ok ? 2u : 0u));
    CHECK(receiver.open.empty());
    CHECK(sink.commit(op) == Status::invalid_argument);
    CHECK(sink.commit(blob) == Status::invalid_argument);
    if (receiver.calls <= receiver.fail_at) {
      CHECK(status == Status::ok);
      CHECK(call == 2);
      break;
    }
  }
}

TEST_CASE("callback sink: a pair needs two objects that are open") {
  Receiver receiver;
  std::byte paths[1024];
  CallbackSink sink(Receiver::take, &receiver, paths);
  const ObjectId op = sink.begin({"/dump", "d", "op"}).value();
  CHECK(sink.commit(op, ObjectId{CallbackSink::kMaxOpenObjects}) == Status::invalid_argument);
  CHECK(sink.commit(op) == Status::invalid_argument);
  CHECK(receiver.committed.empty());
}
#endif
