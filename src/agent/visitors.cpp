#include "agent/visitors.h"

#include <array>
#include <cstdlib>

#include <asio/posix/stream_descriptor.hpp>
#include <asio/signal_set.hpp>
#include <asio/steady_timer.hpp>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "agent/protocol.h"
#include "core/env_names.h"
#include "core/error.h"
#include "core/hex.h"
#include "core/json.h"
#include "entry/login_shell.h"
#include "entry/round_ssh.h"

namespace assay::agent {

using entry::FrameKind;

namespace {

constexpr auto kHostGrace = std::chrono::seconds(2);
constexpr const char* kNobodyIsLeft = "the job's programs have ended on that node";

/// The process that keeps a container open for visitors.
class VisitorHost {
 public:
  explicit VisitorHost(std::string round)
      : visitors_(loop_, std::move(round), {}, [this](const Relay& relay) { say(relay); }),
        input_(loop_, ::dup(STDIN_FILENO)),
        signals_(loop_, SIGCHLD, SIGTERM),
        end_(loop_),
        decoder_([this](int /*node*/, const Json& message) { take(message); }) {
    ::fcntl(input_.native_handle(), F_SETFD, FD_CLOEXEC);
    ::signal(SIGPIPE, SIG_IGN);
  }

  int run() {
    hear();
    wait_for_signals();
    loop_.run();
    return 0;
  }

 private:
  void hear() {
    input_.async_read_some(asio::buffer(buffer_),
                           [this](const asio::error_code& ec, std::size_t size) {
                             if (ec) return leave();
                             decoder_.feed({buffer_.data(), size});
                             hear();
                           });
  }
  void take(const Json& message) {
    const Request request = request_from_json(message);
    if (const auto* relay = std::get_if<Relay>(&request)) visitors_.receive(*relay);
  }
  // Its reader never waits for this process: agent and runtime carry both directions at once.
  void say(const Relay& relay) {
    const std::string lines = encoder_.encode(0, to_json(Report(relay)));
    for (std::string_view left = lines; !left.empty();) {
      const ssize_t n = ::write(STDOUT_FILENO, left.data(), left.size());
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return;
      left.remove_prefix(static_cast<std::size_t>(n));
    }
  }
  void wait_for_signals() {
    signals_.async_wait([this](const asio::error_code& ec, int number) {
      if (ec) return;
      if (number == SIGCHLD)
        visitors_.children_changed();
      else
        visitors_.signal(number);
      if (leaving_ && !visitors_.busy()) return loop_.stop();
      wait_for_signals();
    });
  }
  void leave() {
    leaving_ = true;
    if (!visitors_.busy()) return loop_.stop();
    visitors_.signal(SIGHUP);
    visitors_.signal(SIGCONT);
    end_.expires_after(kHostGrace);
    end_.async_wait([this](const asio::error_code& ec) {
      if (ec) return;
      visitors_.signal(SIGKILL);
      loop_.stop();
    });
  }

  asio::io_context loop_{1};
  NodeVisitors visitors_;
  asio::posix::stream_descriptor input_;
  asio::signal_set signals_;
  asio::steady_timer end_;
  Encoder encoder_;
  Decoder decoder_;
  std::array<char, kRelayPiece> buffer_{};
  bool leaving_ = false;
};

std::optional<std::string> from_hex(std::string_view text) {
  const auto digit = [](char c) {
    if (c >= '0' && c <= '9') return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
  };
  if (text.size() % 2 != 0) return std::nullopt;
  std::string out;
  out.reserve(text.size() / 2);
  for (std::size_t i = 0; i < text.size(); i += 2) {
    const int high = digit(text[i]);
    const int low = digit(text[i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    out += static_cast<char>(high * 16 + low);
  }
  return out;
}

}  // namespace

Relay relay_of(const std::string& round, int peer, std::uint64_t channel, bool back, FrameKind kind,
               std::string_view content) {
  return {round, peer, channel, back, std::string(1, static_cast<char>(kind)), to_hex(content)};
}

Relay answer_of_nobody(const Relay& relay) {
  return relay_of(relay.id, relay.peer, relay.channel, /*back=*/true, FrameKind::failure,
                  kNobodyIsLeft);
}

std::optional<std::string> content_of(const Relay& relay) {
  return relay.kind.size() == 1 ? from_hex(relay.data) : std::nullopt;
}

NodeVisitors::NodeVisitors(asio::io_context& loop, std::string round, SpawnOptions program,
                           SendRelay answer)
    : loop_(loop),
      round_(std::move(round)),
      program_(std::move(program)),
      answer_(std::move(answer)) {}

NodeVisitors::~NodeVisitors() {
  for (const auto& [channel, program] : served_) program->close();
}

void NodeVisitors::receive(const Relay& relay) {
  const auto content = content_of(relay);
  if (relay.id != round_ || relay.back || !content) return;
  const auto kind = static_cast<FrameKind>(relay.kind.front());
  if (kind == FrameKind::command) return serve(relay, *content);
  if (const auto program = served_.find({relay.peer, relay.channel}); program != served_.end())
    program->second->take(kind, *content);
}

void NodeVisitors::serve(const Relay& relay, const std::string& content) {
  const auto answer = [this, peer = relay.peer, channel = relay.channel](FrameKind kind,
                                                                         std::string_view words) {
    answer_(relay_of(round_, peer, channel, /*back=*/true, kind, words));
  };
  try {
    const auto command =
        fields_from_json<entry::RemoteCommand>(parse_json(content, "command"), "command");
    SpawnOptions options = program_;
    const char* const shell = std::getenv("SHELL");
    options.argv.push_back(entry::login_shell(shell == nullptr ? "" : shell));
    if (!command.command.empty()) options.argv.insert(options.argv.end(), {"-c", command.command});
    const auto program = std::make_shared<ServedProgram>(loop_, std::move(options), answer);
    served_[{relay.peer, relay.channel}] = program;
    ++started_;
    program->listen();
  } catch (const Error& error) {
    answer(FrameKind::failure, error.message());
  }
}

void NodeVisitors::children_changed() {
  std::erase_if(served_, [](const auto& entry) { return entry.second->reap(); });
}

void NodeVisitors::signal(int number) const {
  for (const auto& [channel, program] : served_) program->signal(number);
}

void NodeVisitors::turn_callers_away() const {
  for (const auto& [caller, program] : served_)
    answer_(answer_of_nobody({.id = round_, .peer = caller.first, .channel = caller.second}));
}

int host_visitors() {
  const char* round = std::getenv(std::string(kRoundVariable).c_str());
  if (round == nullptr) throw Error(ErrorKind::usage, "this process is not of a round");
  return VisitorHost(round).run();
}

}  // namespace assay::agent
