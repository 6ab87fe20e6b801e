#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace assay::client {

/// An event of a stream of server-sent events.
struct StreamEvent {
  std::string name = "message";
  std::string data{};  ///< its lines joined by newlines
  std::string id{};    ///< the last one that the stream has named; empty: none yet

  bool operator==(const StreamEvent&) const = default;
};

/// Reads a stream of server-sent events (the format of the HTML standard) from pieces that may be
/// cut anywhere. An event that the stream ends in is not one.
class EventStream {
 public:
  /// Of one event, in bytes: a server that sends more is not ours.
  static constexpr std::size_t kMaxEvent = 4U << 20;

  explicit EventStream(std::function<void(const StreamEvent&)> listener);

  /// Throws Error of kind launch when an event is too long; what the listener throws passes.
  void feed(std::string_view piece);

 private:
  void take_line(std::string_view line);
  void end_event();

  std::function<void(const StreamEvent&)> listener_;
  std::string line_;
  bool after_return_ = false;  ///< a newline now belongs to the line before
  bool at_start_ = true;
  bool has_data_ = false;
  StreamEvent event_;
};

}  // namespace assay::client
