#include "agent/running_rounds.h"

#include <algorithm>
#include <array>
#include <random>

#include <asio/buffer.hpp>
#include <asio/write.hpp>
#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/files.h"
#include "core/text.h"
#include "core/time.h"
#include "telemetry/process_times.h"

namespace assay::agent {

namespace {

// "assay-round/RUN/PID-RANDOM", within the 107 bytes of sockaddr_un.
constexpr std::string_view kName = "assay-round/";
constexpr std::size_t kMaxRun = 64;
constexpr std::size_t kMaxPeers = 64;  // further connections are ignored

// The user at the other end, as the kernel reports it.
std::string peer_user(int socket) {
  ucred credentials{};
  socklen_t size = sizeof credentials;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) return "unknown";
  return telemetry::user_name(credentials.uid);
}

}  // namespace

struct RunningRounds::Peer {
  explicit Peer(asio::io_context& loop) : socket(loop) {}
  Protocol::socket socket;
  std::array<char, 128> buffer{};
  std::string text;  // its run id, until the newline
  std::string run;   // empty until the peer has sent it
  std::string user;
  std::int64_t since_ns = 0;
  std::optional<std::int64_t> until_ns;
};

std::optional<std::string> round_of_socket(std::string_view line) {
  // "Num: RefCount Protocol Flags Type St Inode Path"; this flag means that it listens.
  constexpr std::string_view kListens = "00010000";
  const auto at = line.rfind(" @" + std::string(kName));
  if (at == std::string_view::npos || line.find(" " + std::string(kListens) + " ") > at)
    return std::nullopt;
  std::string_view rest = line.substr(at + 2 + kName.size());
  const auto end = rest.find('/');
  if (end == 0 || end == std::string_view::npos || end > kMaxRun) return std::nullopt;
  return std::string(rest.substr(0, end));
}

RunningRounds::RunningRounds(asio::io_context& loop, const std::string& run)
    : loop_(loop), run_(printable(run).substr(0, kMaxRun)), acceptor_(loop) {
  std::ranges::replace(run_, '/', '-');
  std::random_device entropy;
  const std::string name =
      std::string(1, '\0') + fmt::format("{}{}/{}-{:08x}", kName, run_, ::getpid(), entropy());
  asio::error_code ec;
  acceptor_.open(Protocol(), ec);
  if (!ec) acceptor_.bind(Protocol::endpoint(name), ec);
  if (!ec) acceptor_.listen(static_cast<int>(kMaxPeers), ec);
  if (ec) {
    acceptor_.close(ec);
    return;
  }
  accept();
  // Done after listening, so that of two rounds that begin together at least one sees the other.
  connect_to_others();
}

RunningRounds::~RunningRounds() {
  asio::error_code ignored;
  acceptor_.close(ignored);
  for (const auto& peer : peers_) peer->socket.close(ignored);
}

void RunningRounds::accept() {
  auto peer = std::make_shared<Peer>(loop_);
  acceptor_.async_accept(
      peer->socket, [this, peer, alive = std::weak_ptr<bool>(alive_)](const asio::error_code& ec) {
        if (ec || alive.expired()) return;
        if (peers_.size() < kMaxPeers) {
          peers_.push_back(peer);
          hear(peer);
        }
        accept();
      });
}

void RunningRounds::connect_to_others() {
  const std::string table = read_file_or_empty("/proc/net/unix");
  for (const std::string_view line : split(table, '\n')) {
    const auto run = round_of_socket(line);
    if (!run || *run == run_ || peers_.size() >= kMaxPeers) continue;
    const std::string name = std::string(1, '\0') + std::string(line.substr(line.rfind(" @") + 2));
    auto peer = std::make_shared<Peer>(loop_);
    asio::error_code ec;
    peer->socket.open(Protocol(), ec);
    if (!ec) peer->socket.non_blocking(true, ec);
    if (!ec) peer->socket.connect(Protocol::endpoint(name), ec);
    if (ec) continue;  // it has just ended
    peers_.push_back(peer);
    meet(peer, *run);
    const std::string hello = run_ + "\n";
    peer->socket.write_some(asio::buffer(hello), ec);
    hear(peer);
  }
}

void RunningRounds::meet(const std::shared_ptr<Peer>& peer, std::string run) {
  peer->run = std::move(run);
  peer->user = peer_user(peer->socket.native_handle());
  peer->since_ns = mono_now_ns();
}

// Reads until the connection ends, which is when the other round does.
void RunningRounds::hear(const std::shared_ptr<Peer>& peer) {
  peer->socket.async_read_some(
      asio::buffer(peer->buffer), [this, peer, alive = std::weak_ptr<bool>(alive_)](
                                      const asio::error_code& ec, std::size_t size) {
        if (alive.expired() || ec == asio::error::operation_aborted) return;
        if (ec) {
          peer->until_ns = mono_now_ns();
          asio::error_code ignored;
          peer->socket.close(ignored);
          return;
        }
        if (peer->run.empty()) {
          peer->text.append(peer->buffer.data(), size);
          const auto end = peer->text.find('\n');
          if (end <= kMaxRun)  // false without a newline
            meet(peer, printable(std::string_view(peer->text).substr(0, end)));
          else if (peer->text.size() > kMaxRun)
            return;  // not a round
        }
        hear(peer);
      });
}

std::optional<std::vector<telemetry::MachineUse::OtherRun>> RunningRounds::finish(
    std::int64_t mono_ns) const {
  if (!acceptor_.is_open()) return std::nullopt;
  std::map<std::string, telemetry::MachineUse::OtherRun> runs;
  for (const auto& peer : peers_) {
    if (peer->run.empty() || peer->run == run_) continue;
    const double seconds =
        static_cast<double>(peer->until_ns.value_or(mono_ns) - peer->since_ns) / 1e9;
    const auto known = runs.try_emplace(peer->run, peer->run, peer->user, 0.0).first;
    known->second.seconds = std::max(known->second.seconds, seconds);
  }
  std::vector<telemetry::MachineUse::OtherRun> out;
  for (auto& [run, other] : runs) out.push_back(std::move(other));
  return out;
}

}  // namespace assay::agent
