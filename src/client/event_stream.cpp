#include "client/event_stream.h"

#include <utility>

#include "core/error.h"

namespace assay::client {

namespace {
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
}

EventStream::EventStream(std::function<void(const StreamEvent&)> listener)
    : listener_(std::move(listener)) {}

void EventStream::feed(std::string_view piece) {
  for (const char c : piece) {
    const bool second_half = std::exchange(after_return_, c == '\r') && c == '\n';
    if (second_half) continue;
    if (c != '\n' && c != '\r') {
      line_ += c;
      if (line_.size() + event_.data.size() > kMaxEvent)
        throw Error(ErrorKind::launch, "the server sent an event that is too long");
      continue;
    }
    const std::string line = std::exchange(line_, {});
    std::string_view text = line;
    if (std::exchange(at_start_, false) && text.starts_with(kByteOrderMark))
      text.remove_prefix(kByteOrderMark.size());
    take_line(text);
  }
}

void EventStream::take_line(std::string_view line) {
  if (line.empty()) return end_event();
  const std::size_t colon = line.find(':');
  if (colon == 0) return;  // a comment
  const std::string_view field = line.substr(0, colon);
  std::string_view value = colon == std::string_view::npos ? "" : line.substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (field == "event") event_.name = value;
  if (field == "id" && value.find('\0') == std::string_view::npos) event_.id = value;
  if (field != "data") return;
  if (std::exchange(has_data_, true)) event_.data += '\n';
  event_.data += value;
}

void EventStream::end_event() {
  StreamEvent event{{}, {}, event_.id};
  event.name = "message";
  std::swap(event, event_);
  if (!std::exchange(has_data_, false)) return;
  if (event.name.empty()) event.name = "message";
  listener_(event);
}

}  // namespace assay::client
