#pragma once

// For http_server.cpp alone, which is compiled in RESTinio's way of Asio.

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <restinio/all.hpp>

#include "core/time.h"
#include "serve/http_server.h"

namespace assay::serve {

/// An answer of RESTinio that goes on. One write is under way at a time; what comes meanwhile
/// waits, up to kStreamBuffer.
class StreamOut : public HttpStream, public std::enable_shared_from_this<StreamOut> {
 public:
  using Builder = restinio::response_builder_t<restinio::chunked_output_t>;

  StreamOut(Builder builder, HttpStreaming with, std::shared_ptr<void> counted)
      : builder_(std::move(builder)), with_(std::move(with)), counted_(std::move(counted)) {}

  bool write(std::string_view bytes) override {
    {
      const std::scoped_lock lock(lock_);
      if (gone_ || ending_) return false;
      if (waiting_.size() + bytes.size() > kStreamBuffer) {
        waiting_ = with_.last_words;
        ending_ = true;
      } else {
        waiting_ += bytes;
      }
    }
    go_on();
    const std::scoped_lock lock(lock_);
    return !gone_ && !ending_;
  }
  [[nodiscard]] std::size_t room() const override {
    const std::scoped_lock lock(lock_);
    return gone_ || ending_ ? 0 : kStreamBuffer - waiting_.size();
  }
  [[nodiscard]] bool gone() const override {
    const std::scoped_lock lock(lock_);
    return gone_ || ending_;
  }
  void end() override {
    {
      const std::scoped_lock lock(lock_);
      ending_ = true;
    }
    go_on();
  }
  void show_life(std::int64_t now_ns) {
    {
      const std::scoped_lock lock(lock_);
      if (now_ns - written_ns_ < kSilence || !waiting_.empty() || with_.when_idle.empty()) return;
    }
    (void)write(with_.when_idle);
  }
  void begin() {
    {
      const std::scoped_lock lock(lock_);
      writing_ = true;
      written_ns_ = mono_now_ns();
    }
    const std::scoped_lock lock(builder_lock_);
    if (builder_) builder_->flush(sent());
  }
  /// The server ends before who holds the stream.
  void abandon() {
    {
      const std::scoped_lock lock(lock_);
      gone_ = true;
      counted_.reset();
    }
    const std::scoped_lock lock(builder_lock_);
    builder_.reset();
  }

 private:
  static constexpr std::int64_t kSilence = Nanoseconds(std::chrono::seconds(15)).count();

  // Who has set writing_ is the only one that writes. Not called under lock_, because a failed
  // write may be told at once.
  void go_on() {
    std::string batch;
    bool last = false;
    {
      const std::scoped_lock lock(lock_);
      if (writing_ || gone_ || (waiting_.empty() && !ending_)) return;
      writing_ = true;
      written_ns_ = mono_now_ns();
      batch = std::exchange(waiting_, {});
      last = ending_;
      if (last) gone_ = true;
    }
    const std::scoped_lock lock(builder_lock_);
    if (!builder_) return;
    if (!batch.empty()) builder_->append_chunk(std::move(batch));
    if (last)
      builder_->done([self = shared_from_this()](const asio::error_code&) { self->let_go(); });
    else
      builder_->flush(sent());
  }
  restinio::write_status_cb_t sent() {
    return [self = shared_from_this()](const asio::error_code& ec) {
      {
        const std::scoped_lock lock(self->lock_);
        self->writing_ = false;
        if (ec) self->gone_ = true;
      }
      if (ec)
        self->let_go();
      else
        self->go_on();
    };
  }
  void let_go() {
    const std::scoped_lock lock(lock_);
    counted_.reset();
  }

  mutable std::mutex lock_;
  std::recursive_mutex builder_lock_;
  std::optional<Builder> builder_;
  HttpStreaming with_;
  std::shared_ptr<void> counted_;
  std::string waiting_;
  std::int64_t written_ns_ = 0;
  bool writing_ = false;
  bool ending_ = false;
  bool gone_ = false;
};

}  // namespace assay::serve
