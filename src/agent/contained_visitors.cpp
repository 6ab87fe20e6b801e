#include "agent/contained_visitors.h"

#include <asio/write.hpp>
#include <fmt/format.h>

#include "agent/adopt_pipe.h"
#include "core/error.h"
#include "core/text.h"
#include "core/time.h"

namespace assay::agent {

using entry::FrameKind;

namespace {

constexpr std::size_t kLastWords = 2000;
// How long a runtime may take to end a container before it is removed by force.
constexpr Nanoseconds kLeaveLimit = std::chrono::seconds(10);

}  // namespace

ContainedVisitors::ContainedVisitors(asio::io_context& loop, std::string round,
                                     SpawnOptions container, SendRelay answer)
    : loop_(loop),
      round_(std::move(round)),
      container_(std::move(container)),
      answer_(std::move(answer)),
      input_(loop),
      output_(loop),
      error_(loop),
      decoder_([this](int /*node*/, const Json& message) { heard(message); }) {}

void ContainedVisitors::start() {
  SpawnOptions options = container_;
  options.in = Stream::pipe();
  options.out = Stream::pipe();
  options.err = Stream::pipe();
  child_ = spawn(options);
  adopt(input_, child_.in);
  adopt(output_, child_.out);
  adopt(error_, child_.err);
  hear(output_);
  hear(error_);
}

void ContainedVisitors::hear(Pipe& pipe) {
  const bool words = &pipe == &error_;
  auto& buffer = words ? err_bytes_ : out_bytes_;
  pipe.async_read_some(asio::buffer(buffer),
                       [this, words, &pipe, &buffer, alive = std::weak_ptr<bool>(alive_)](
                           const asio::error_code& ec, std::size_t size) {
                         if (ec || alive.expired()) return;
                         if (words) {
                           last_words_.append(buffer.data(), size);
                           if (last_words_.size() > kLastWords)
                             last_words_.erase(0, last_words_.size() - kLastWords);
                         } else {
                           decoder_.feed({buffer.data(), size});
                         }
                         hear(pipe);
                       });
}

void ContainedVisitors::heard(const Json& message) {
  // An image's programs could also write such lines, which reach nobody but their own callers.
  try {
    const Report report = report_from_json(message);
    const auto* relay = std::get_if<Relay>(&report);
    const Channel channel = relay == nullptr ? Channel{} : Channel{relay->peer, relay->channel};
    if (relay == nullptr || relay->id != round_ || !relay->back || !open_.contains(channel)) return;
    if (relay->kind.size() == 1) {
      const auto kind = static_cast<FrameKind>(relay->kind.front());
      if (kind == FrameKind::exit || kind == FrameKind::failure) open_.erase(channel);
    }
    answer_(*relay);
  } catch (const Error&) {
    return;  // noise
  }
}

void ContainedVisitors::receive(const Relay& relay) {
  const auto content = content_of(relay);
  if (relay.id != round_ || relay.back || !content) return;
  const Channel channel{relay.peer, relay.channel};
  if (static_cast<FrameKind>(relay.kind.front()) == FrameKind::command) {
    try {
      if (!child_.running()) start();
    } catch (const Error& error) {
      return answer_(relay_of(round_, relay.peer, relay.channel, /*back=*/true, FrameKind::failure,
                              error.message()));
    }
    open_.insert(channel);
    ++started_;
  }
  if (!open_.contains(channel) || !input_.is_open()) return;
  outbox_.push_back(encoder_.encode(0, to_json(Request(relay))));
  if (outbox_.size() == 1) write();
}

void ContainedVisitors::write() {
  asio::async_write(input_, asio::buffer(outbox_.front()),
                    [this, alive = std::weak_ptr<bool>(alive_)](const asio::error_code& ec,
                                                                std::size_t /*size*/) {
                      if (ec || alive.expired()) return;
                      outbox_.pop_front();
                      if (!outbox_.empty()) write();
                    });
}

void ContainedVisitors::children_changed() {
  if (!child_.running() || !child_.poll()) return;
  ended();
}

void ContainedVisitors::ended() {
  asio::error_code ignored;
  for (Pipe* pipe : {&input_, &output_, &error_}) pipe->close(ignored);
  outbox_.clear();
  const std::string words = printable(ellipsize(std::string(trim(last_words_)), kLastWords));
  const std::string said =
      words.empty() ? "the job's container on this node has ended"
                    : fmt::format("the job's container on this node has ended: {}", words);
  for (const auto& [peer, channel] : open_)
    answer_(relay_of(round_, peer, channel, /*back=*/true, FrameKind::failure, said));
  open_.clear();
}

void ContainedVisitors::turn_callers_away() const {
  for (const auto& [peer, channel] : open_)
    answer_(answer_of_nobody({.id = round_, .peer = peer, .channel = channel}));
}

void ContainedVisitors::signal(int number) const {
  if (busy()) child_.signal(number);
}

bool ContainedVisitors::finish() {
  if (!child_.running()) return true;
  if (leave_by_ns_ == 0) {
    leave_by_ns_ = mono_now_ns() + kLeaveLimit.count();
    asio::error_code ignored;
    input_.close(ignored);  // ends the container
  }
  return mono_now_ns() >= leave_by_ns_;
}

}  // namespace assay::agent
