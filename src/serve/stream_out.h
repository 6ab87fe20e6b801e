#pragma once

// For http_server.cpp alone, which is compiled in RESTinio's way of Asio.

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <restinio/all.hpp>

#include "core/time.h"
#include "serve/http_server.h"

namespace assay::serve {

/// RESTinio's builder of chunked output, for a peer of HTTP/1.0, which knows no chunks: the bytes
/// as they are, until the connection ends.
class BareOutput {
 public:
  BareOutput(const restinio::request_handle_t& request, restinio::http_status_line_t status)
      : header_(std::move(status)),
        connection_(restinio::impl::access_req_connection(*request)),
        request_id_(request->request_id()) {
    header_.should_keep_alive(false);
  }

  void append_header(std::string name, std::string value) {
    header_.add_field(std::move(name), std::move(value));
  }
  void append_chunk(std::string bytes) {
    if (!bytes.empty()) parts_.emplace_back(std::move(bytes));
  }
  void flush(restinio::write_status_cb_t then) {
    write(restinio::response_parts_attr_t::not_final_parts, std::move(then));
  }
  void done(restinio::write_status_cb_t then) {
    write(restinio::response_parts_attr_t::final_parts, std::move(then));
  }

 private:
  void write(restinio::response_parts_attr_t last, restinio::write_status_cb_t then) {
    restinio::writable_items_container_t items;
    std::string head = std::exchange(head_sent_, true) ? std::string() : head_text();
    const std::size_t status_line = head.find("\r\n");
    if (!head.empty()) items.emplace_back(std::move(head));
    for (std::string& part : parts_) items.emplace_back(std::move(part));
    parts_.clear();
    restinio::write_group_t group(std::move(items));
    if (status_line != std::string::npos) group.status_line_size(status_line);
    group.after_write_notificator(std::move(then));
    connection_->write_response_parts(
        request_id_, {last, restinio::response_connection_attr(false)}, std::move(group));
  }
  [[nodiscard]] std::string head_text() const {
    return restinio::impl::create_header_string(
        header_, restinio::impl::content_length_field_presence_t::skip_content_length);
  }

  restinio::http_response_header_t header_;
  restinio::impl::connection_handle_t connection_;
  restinio::request_id_t request_id_;
  std::vector<std::string> parts_;
  bool head_sent_ = false;
};

/// An answer of RESTinio that goes on. One write is under way at a time; what comes meanwhile
/// waits, up to kStreamBuffer.
class StreamOut : public HttpStream, public std::enable_shared_from_this<StreamOut> {
 public:
  using Chunked = restinio::response_builder_t<restinio::chunked_output_t>;
  using Builder = std::variant<Chunked, BareOutput>;

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
    if (builder_) std::visit([&](auto& out) { out.flush(sent()); }, *builder_);
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
    std::visit(
        [&](auto& out) {
          if (!batch.empty()) out.append_chunk(std::move(batch));
          if (last)
            out.done([self = shared_from_this()](const asio::error_code&) { self->let_go(); });
          else
            out.flush(sent());
        },
        *builder_);
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
