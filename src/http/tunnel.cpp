#include "http/tunnel.h"

#include <array>
#include <deque>

#include <curl/curl.h>
#include <poll.h>

#include "core/error.h"

namespace assay::http {

struct Tunnel::State {
  CURL* handle = nullptr;
  int fd = -1;
  std::string origin;
  std::array<char, CURL_ERROR_SIZE> words{};
  std::deque<std::string> kept;  // for later calls of read()
  std::size_t kept_bytes = 0;
  bool ended = false;
};

namespace {

constexpr std::size_t kMaxKept = 64U << 20;

}  // namespace

Tunnel::Tunnel(const std::string& origin, const std::filesystem::path& ca_file,
               Nanoseconds connect_timeout)
    : state_(std::make_unique<State>()) {
  static const bool ready = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
  CURL* handle = ready ? curl_easy_init() : nullptr;
  if (handle == nullptr) throw Error(ErrorKind::environment, "libcurl cannot be used", origin);
  state_->handle = handle;
  state_->origin = origin;
  curl_easy_setopt(handle, CURLOPT_URL, origin.c_str());
  curl_easy_setopt(handle, CURLOPT_CONNECT_ONLY, 1L);
  curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(handle, CURLOPT_TCP_NODELAY, 1L);
  curl_easy_setopt(handle, CURLOPT_HTTPPROXYTUNNEL, 1L);
  curl_easy_setopt(handle, CURLOPT_SSL_ENABLE_ALPN, 0L);
  curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, state_->words.data());
  curl_easy_setopt(
      handle, CURLOPT_CONNECTTIMEOUT_MS,
      static_cast<long>(
          std::chrono::duration_cast<std::chrono::milliseconds>(connect_timeout).count()));
  const std::string file = ca_file.string();
  if (!file.empty()) curl_easy_setopt(handle, CURLOPT_CAINFO, file.c_str());
  const CURLcode code = curl_easy_perform(handle);
  curl_socket_t socket = CURL_SOCKET_BAD;
  if (code == CURLE_OK) curl_easy_getinfo(handle, CURLINFO_ACTIVESOCKET, &socket);
  if (code != CURLE_OK || socket == CURL_SOCKET_BAD) {
    const std::string why =
        state_->words[0] != '\0' ? std::string(state_->words.data()) : curl_easy_strerror(code);
    curl_easy_cleanup(std::exchange(state_->handle, nullptr));
    throw Error(ErrorKind::environment, why, origin);
  }
  state_->fd = static_cast<int>(socket);
}

Tunnel::~Tunnel() {
  if (state_->handle != nullptr) curl_easy_cleanup(state_->handle);
}

int Tunnel::descriptor() const noexcept {
  return state_->fd;
}

void Tunnel::write(std::string_view bytes) {
  while (!bytes.empty()) {
    std::size_t sent = 0;
    const CURLcode code = curl_easy_send(state_->handle, bytes.data(), bytes.size(), &sent);
    if (code == CURLE_AGAIN) {
      // The other side may not read before this side has.
      const bool reads = state_->kept_bytes < kMaxKept && !state_->ended;
      pollfd ready{state_->fd, static_cast<short>(reads ? POLLIN | POLLOUT : POLLOUT), 0};
      ::poll(&ready, 1, 1000);
      if (reads && (ready.revents & POLLIN) != 0) keep();
      continue;
    }
    if (code != CURLE_OK)
      throw Error(ErrorKind::environment, "the connection is gone", state_->origin);
    bytes.remove_prefix(sent);
  }
}

void Tunnel::keep() {
  auto bytes = receive();
  if (!bytes) return;
  state_->ended = bytes->empty();
  state_->kept_bytes += bytes->size();
  state_->kept.push_back(std::move(*bytes));
}

std::optional<std::string> Tunnel::read() {
  if (state_->kept.empty()) return receive();
  std::string out = std::move(state_->kept.front());
  state_->kept.pop_front();
  state_->kept_bytes -= out.size();
  return out;
}

std::optional<std::string> Tunnel::receive() {
  std::string out(64U << 10, '\0');
  std::size_t got = 0;
  const CURLcode code = curl_easy_recv(state_->handle, out.data(), out.size(), &got);
  if (code == CURLE_AGAIN) return std::nullopt;
  out.resize(code == CURLE_OK ? got : 0);
  return out;
}

}  // namespace assay::http
