#include "client/entry_stream.h"

#include <algorithm>

#include <fmt/format.h>
#include <poll.h>

#include "core/parse_number.h"
#include "core/text.h"
#include "core/time.h"

namespace assay::client {

namespace {

// The server has the node answer, which may take a while over ssh.
constexpr Nanoseconds kAnswerLimit = std::chrono::seconds(60);
constexpr std::size_t kMaxAnswer = 1U << 20;

http::Response parse_head(std::string_view head) {
  http::Response out;
  if (head.starts_with("HTTP/1.1 ") && head.size() >= 12)
    out.status = parse_number<int>(head.substr(9, 3)).value_or(0);
  for (const std::string_view line : split(head, '\n'))
    if (const auto colon = line.find(':'); colon != std::string_view::npos)
      out.headers.emplace_back(to_lower(line.substr(0, colon)), trim(line.substr(colon + 1)));
  return out;
}

Error cut(const Connection& connection, const char* what) {
  return {ErrorKind::launch, what, connection.server().url};
}

}  // namespace

EntryStream::EntryStream(const Connection& connection, jobs::JobId job, std::optional<int> rank,
                         const std::string& public_key) {
  const Server& server = connection.server();
  try {
    tunnel_ = std::make_unique<http::Tunnel>(server.url, server.ca_file);
  } catch (const Error& error) {
    throw Error(ErrorKind::launch, "the server cannot be reached: " + error.message(), server.url,
                "is 'assay serve' running there, and is the address right?");
  }
  std::string request = fmt::format(
      "GET /api/v1/jobs/{}/enter{} HTTP/1.1\r\nHost: {}\r\nConnection: Upgrade\r\n"
      "Upgrade: assay-entry\r\n",
      job, rank ? fmt::format("?rank={}", *rank) : "", http::parse_url(server.url, "server").host);
  if (!server.token.empty()) request += "Authorization: Bearer " + server.token + "\r\n";
  if (!public_key.empty()) request += "X-Assay-Key: " + public_key + "\r\n";
  shake_hands(connection, request + "\r\n");
}

std::string EntryStream::wait_for_bytes(std::int64_t deadline_ns) {
  while (mono_now_ns() < deadline_ns) {
    if (auto bytes = tunnel_->read()) return *bytes;
    pollfd ready{tunnel_->descriptor(), POLLIN, 0};
    ::poll(&ready, 1, 200);
  }
  return {};
}

void EntryStream::shake_hands(const Connection& connection, const std::string& request) {
  tunnel_->write(request);
  const std::int64_t deadline = mono_now_ns() + kAnswerLimit.count();
  std::string bytes;
  auto end = std::string::npos;
  while ((end = bytes.find("\r\n\r\n")) == std::string::npos) {
    const std::string more = wait_for_bytes(deadline);
    if (more.empty() || bytes.size() > kMaxAnswer)
      throw cut(connection, "the server has not answered");
    bytes += more;
  }
  http::Response response = parse_head(std::string_view(bytes).substr(0, end));
  bytes.erase(0, end + 4);
  if (response.status == 101) {
    first_ = std::move(bytes);
    return;
  }
  const auto length = parse_number<std::size_t>(response.header("content-length")).value_or(0);
  while (bytes.size() < std::min(length, kMaxAnswer)) {
    const std::string more = wait_for_bytes(deadline);
    if (more.empty()) break;
    bytes += more;
  }
  response.body = std::move(bytes);
  connection.refuse(response);
}

std::optional<std::string> EntryStream::read() {
  if (!first_.empty()) return std::exchange(first_, {});
  return tunnel_->read();
}

}  // namespace assay::client
