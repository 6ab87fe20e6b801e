#include "agent/ssh_relay.h"

#include <array>
#include <deque>

#include <asio/buffer.hpp>
#include <asio/post.hpp>
#include <asio/write.hpp>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/contained_visitors.h"
#include "core/env_names.h"
#include "core/error.h"
#include "core/files.h"
#include "core/json.h"
#include "core/parse_number.h"
#include "core/process_tree.h"
#include "core/text.h"
#include "entry/rank_place.h"
#include "entry/round_ssh.h"

namespace assay::agent {

using entry::FrameKind;

namespace {

constexpr std::size_t kMaxCallers = 1024;

/// Whether the process carries the round's mark or has entered the round.
bool is_of_round(pid_t pid, const std::string& round) {
  const std::string environ =
      '\0' + read_file_or_empty("/proc/" + std::to_string(pid) + "/environ");
  for (const std::string_view name : {kRoundVariable, std::string_view(entry::kEnteredVariable)})
    if (environ.find('\0' + std::string(name) + "=" + round + '\0') != std::string::npos)
      return true;
  return false;
}

// Checks the caller by the kernel's credentials. Root may do anything anyway.
bool may_call(int socket, const std::string& round) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return false;
  if (peer.uid != ::geteuid()) return peer.uid == 0;
  return is_of_round(peer.pid, round);
}

}  // namespace

/// A process of the round on this node that called `ssh`.
class RoundSsh::Caller : public std::enable_shared_from_this<RoundSsh::Caller> {
 public:
  Caller(RoundSsh& owner, std::uint64_t channel, Protocol::socket socket)
      : owner_(owner), alive_(owner.alive_), channel_(channel), socket_(std::move(socket)) {}

  void hear() {
    if (hearing_ || !socket_.is_open() || on_the_way_ >= kRelayWindow) return;
    hearing_ = true;
    socket_.async_read_some(
        asio::buffer(buffer_),
        [this, self = shared_from_this()](const asio::error_code& ec, std::size_t size) {
          hearing_ = false;
          if (alive_.expired()) return;
          if (ec) return gone();
          try {
            reader_.feed({buffer_.data(), size});
            while (const auto frame = reader_.next()) take(*frame);
          } catch (const Error& error) {
            say(FrameKind::failure, error.message());
          }
          hear();
        });
  }

  void close() {
    asio::error_code ignored;
    socket_.close(ignored);
  }

  /// Handles a frame from the other node, or one made by this node.
  void say(FrameKind kind, std::string_view content) {
    if (kind == kTaken) {
      on_the_way_ -= std::min(on_the_way_, parse_number<std::size_t>(content).value_or(0));
      return hear();
    }
    const bool data = kind == FrameKind::output || kind == FrameKind::error;
    ended_ = ended_ || !data;
    outbox_.push_back({entry::frame_bytes(kind, content), data ? content.size() : 0});
    if (outbox_.size() == 1) write();
  }

 private:
  struct Piece {
    std::string bytes;
    std::size_t content = 0;  // of the program's output
  };

  void take(const entry::Frame& frame) {
    if (!called_) {
      if (frame.kind != FrameKind::command) throw Error(ErrorKind::config, "a command is expected");
      const auto command =
          fields_from_json<entry::RemoteCommand>(parse_json(frame.content, "command"), "command");
      const auto& nodes = owner_.setup_.request.nodes;
      const auto found = nodes.find(command.host);
      if (found == nodes.end())
        throw Error(ErrorKind::config,
                    fmt::format("not a host of this job: '{}'", printable(command.host)));
      node_ = found->second;
      called_ = true;
    } else if (frame.kind == FrameKind::input) {
      on_the_way_ += frame.content.size();
    } else if (frame.kind != FrameKind::end_of_input) {
      throw Error(ErrorKind::config, "unexpected frame");
    }
    if (!ended_)
      owner_.pass_on(
          relay_of(owner_.setup_.round, node_, channel_, false, frame.kind, frame.content));
  }

  void write() {
    asio::async_write(socket_, asio::buffer(outbox_.front().bytes),
                      [this, self = shared_from_this()](const asio::error_code& ec, std::size_t) {
                        if (alive_.expired()) return;
                        if (ec) return gone();
                        if (outbox_.front().content > 0)
                          owner_.pass_on(relay_of(owner_.setup_.round, node_, channel_, false,
                                                  kTaken, std::to_string(outbox_.front().content)));
                        outbox_.pop_front();
                        if (!outbox_.empty()) return write();
                        if (ended_) gone();
                      });
  }

  // The last frame was sent, or nobody listens any more.
  void gone() {
    if (!socket_.is_open()) return;
    close();
    if (called_ && !ended_)
      owner_.pass_on(relay_of(owner_.setup_.round, node_, channel_, false, kHangUp, ""));
    ended_ = true;
    owner_.callers_.erase(channel_);
  }

  RoundSsh& owner_;
  std::weak_ptr<bool> alive_;
  std::uint64_t channel_;
  Protocol::socket socket_;
  std::array<char, kRelayPiece> buffer_{};
  entry::FrameReader reader_;
  std::deque<Piece> outbox_;
  int node_ = 0;
  bool called_ = false;
  bool ended_ = false;
  bool hearing_ = false;
  std::size_t on_the_way_ = 0;
};

RoundSsh::RoundSsh(asio::io_context& loop, Setup setup, Send send)
    : loop_(loop), setup_(std::move(setup)), send_(std::move(send)), acceptor_(loop) {
  make_folder();
  const std::string path = (setup_.request.folder / entry::kSshSocket).string();
  asio::error_code ec;
  acceptor_.open(Protocol(), ec);
  if (!ec) acceptor_.bind(Protocol::endpoint(path), ec);
  if (!ec) acceptor_.listen(asio::socket_base::max_listen_connections, ec);
  if (ec) throw Error(ErrorKind::environment, "cannot listen: " + ec.message(), path);
  const auto answer = [this](const Relay& relay) { pass_on(relay); };
  if (setup_.program.argv.empty())
    visitors_ = std::make_unique<NodeVisitors>(loop, setup_.round, setup_.program, answer);
  else
    visitors_ = std::make_unique<ContainedVisitors>(loop, setup_.round, setup_.program, answer);
  accept();
}

RoundSsh::~RoundSsh() {
  visitors_->turn_callers_away();
  // Their pending operations end and keep nothing of this object.
  for (const auto& [channel, caller] : callers_) caller->close();
  asio::error_code ignored;
  acceptor_.close(ignored);
  std::error_code gone;
  std::filesystem::remove_all(setup_.request.folder, gone);
}

// Uses only a folder that nobody else can have made.
void RoundSsh::make_folder() {
  const std::filesystem::path& folder = setup_.request.folder;
  if (::mkdir(folder.c_str(), 0700) != 0)
    throw system_error(ErrorKind::environment, "cannot make the folder", folder.string(), errno);
  write_file_atomic(folder / entry::kSshHosts, dump_line(Json(setup_.request.nodes)),
                    /*sync=*/false);
  std::error_code ec;
  std::filesystem::create_symlink(std::filesystem::read_symlink("/proc/self/exe", ec),
                                  folder / "ssh", ec);
  if (ec) throw Error(ErrorKind::environment, ec.message(), (folder / "ssh").string());
}

void RoundSsh::accept() {
  acceptor_.async_accept([this, alive = std::weak_ptr<bool>(alive_)](const asio::error_code& ec,
                                                                     Protocol::socket socket) {
    if (ec || alive.expired()) return;
    if (callers_.size() < kMaxCallers && may_call(socket.native_handle(), setup_.round)) {
      const std::uint64_t channel = next_channel_++;
      const auto caller = std::make_shared<Caller>(*this, channel, std::move(socket));
      callers_[channel] = caller;
      caller->hear();
    }
    accept();
  });
}

// Messages for this node itself do not go through the controller.
void RoundSsh::pass_on(Relay relay) {
  if (relay.peer != setup_.node) return send_(relay);
  asio::post(loop_, [this, relay = std::move(relay), alive = std::weak_ptr<bool>(alive_)] {
    if (!alive.expired()) receive(relay);
  });
}

void RoundSsh::receive(const Relay& relay) {
  if (!relay.back) return visitors_->receive(relay);
  const auto content = content_of(relay);
  if (relay.id != setup_.round || !content) return;
  if (const auto caller = callers_.find(relay.channel); caller != callers_.end())
    std::shared_ptr(caller->second)->say(static_cast<FrameKind>(relay.kind.front()), *content);
}

}  // namespace assay::agent
