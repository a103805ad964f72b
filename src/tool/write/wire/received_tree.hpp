#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "platform/posix/tree_sink.hpp"
#include "src/tool/write/wire/wire_line.hpp"

namespace opdump::tool {

/// What was made of a wire's frames.
struct WireTally {
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;       ///< of those
  std::uint64_t lines = 0;       ///< pieces of journals and tables
  std::uint64_t aborted = 0;     ///< files that the device gave up
  std::uint64_t incomplete = 0;  ///< files and pieces that lack a frame, as far as one knows
  std::uint64_t gaps = 0;
  std::uint64_t lost_frames = 0;
};

/// Writes the entries of one boot as the tree that the tree sink would have written. Only what every frame
/// has arrived of is written; behind a gap nothing that was open before it is. Each gap gets a line
/// `unreceived` in the journal whose lines come next, or came last; in a sealed one at its end.
class ReceivedTree {
 public:
  using Report = std::function<void(const std::string& message)>;

  /// `root` exists. Each problem goes to `error`. What came is durable when `sink` is synced.
  ReceivedTree(std::string root, posix::TreeSink& sink, WireTally& tally, Report error);

  /// The frame `number`, which follows the one before or a gap.
  void take(const WireFrame& frame, std::uint64_t number);

  /// The frames `first` to `last` are lost for good.
  void lose(std::uint64_t first, std::uint64_t last);

  /// Once, behind all frames.
  void finish();

 private:
  struct Object {
    ObjectId id{};
    std::string path;
    std::uint64_t bytes = 0;
    bool failed = false;
  };
  struct Path {
    std::string directory;
    std::string file;
  };

  void drop_entry();
  void strange(std::uint64_t number);
  void end_entry(wire::Kind kind);
  void begin();
  void data();
  void commit();
  void abort();
  void lines();
  Object* object_at(std::size_t at);
  void fail(Object& object, Status status);
  Path split(std::string_view path) const;
  ObjectName name_of(const Path& path) const;
  bool add_lines(const Path& path, Bytes part);
  void tell_gaps(const Path& journal);

  const std::string root_;
  WireTally& tally_;
  const Report error_;
  posix::TreeSink* sink_;
  std::map<std::uint32_t, Object> objects_;
  bool in_entry_ = false;
  bool lacks_frames_ = false;       // so that what comes may belong to what is lost
  std::uint32_t entry_number_ = 0;  // of its first frame
  std::vector<std::byte> entry_;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> untold_gaps_;
  Path journal_;  // the latest
};

}  // namespace opdump::tool
