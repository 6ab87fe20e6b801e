#include "e2e/door/door_test.h"

#include <cstdlib>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/json_access.h"
#include "core/text.h"

namespace assay::e2e {

void DoorTest::SetUp() {
  AssayTest::SetUp();
  fs::create_directories(folder_ / "home");
  ::setenv("HOME", (folder_ / "home").c_str(), 1);
  for (const char* name : {"XDG_CONFIG_HOME", "ASSAY_SERVER", "ASSAY_TOKEN"}) ::unsetenv(name);
}

void DoorTest::TearDown() {
  const Json listed = parse_json_or_null(assay({"jobs", "--format", "json"}).out);
  std::vector<std::string> words{"cancel"};
  for (const Json& job : list_at(listed, "jobs"))
    words.push_back(std::to_string(integer_at(job, "id", 0)));
  if (words.size() > 1) (void)assay(words);
  EXPECT_TRUE(
      eventually([&] { return processes_with("job-controller " + folder_.string()).empty(); },
                 std::chrono::seconds(60)));
  server_.reset();
  AssayTest::TearDown();
}

void DoorTest::serve(const std::vector<std::string>& more) {
  server_.emplace(folder_, more);
}

std::string DoorTest::state(long id) {
  return text_at(parse_json_or_null(assay({"job", std::to_string(id), "--format", "json"}).out),
                 "state");
}

long DoorTest::running(const std::string& command, std::vector<std::string> more) {
  const std::string ready = (folder_ / "ready").string();
  fs::remove(ready);
  std::vector<std::string> words{
      "submit", "--no-code", "--format",
      "json",   "--command", command.empty() ? "touch " + ready + "; exec sleep 1000" : command};
  words.insert(words.end(), more.begin(), more.end());
  const CommandResult result = assay(std::move(words));
  EXPECT_EQ(result.status.code, 0) << result.err;
  const Json answer = parse_json_or_null(result.out);
  const Json& jobs = list_at(answer, "jobs");
  const long id = jobs.empty() ? 0 : static_cast<long>(integer_at(jobs[0], "id", 0));
  // Not when the state says so, but when somebody can come in.
  EXPECT_TRUE(eventually(
      [&] {
        return assay({"ssh", "-T", std::to_string(id), "--", "true"}).status.code == 0;
      },
      std::chrono::seconds(120)));
  return id;
}

CommandResult DoorTest::shell(const std::string& text, std::chrono::seconds limit) const {
  CommandOptions options;
  options.timeout = limit;
  return run_command({"/bin/sh", "-c",
                      "cd " + shell_quote(folder_.string()) +
                          " && assay() { " ASSAY_BIN_DIR "/assay \"$@\"; }; " + text},
                     options);
}

std::string DoorTest::Reply::header(const std::string& name) const {
  for (const std::string_view line : split(head, '\n'))
    if (const auto colon = line.find(':'); to_lower(line.substr(0, colon)) == to_lower(name))
      return std::string(trim(line.substr(colon + 1)));
  return {};
}

UniqueFd DoorTest::connect() const {
  UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<std::uint16_t>(server_->port()));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
  return fd;
}

std::string DoorTest::read_until(int fd, const std::string& text, std::chrono::seconds limit) {
  std::string out;
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (out.find(text) == std::string::npos && std::chrono::steady_clock::now() < deadline) {
    pollfd ready{fd, POLLIN, 0};
    if (::poll(&ready, 1, 200) <= 0) continue;
    char buffer[16384];
    const ssize_t n = ::read(fd, buffer, sizeof buffer);
    if (n <= 0) break;
    out.append(buffer, static_cast<std::size_t>(n));
  }
  return out;
}

DoorTest::Reply DoorTest::ask(const std::string& host, const std::string& method,
                              const std::string& path, const Headers& headers,
                              const std::string& body) const {
  const UniqueFd fd = connect();
  std::string request = fmt::format("{} {} HTTP/1.1\r\nHost: {}\r\n", method, path, host);
  for (const auto& [name, value] : headers) request += name + ": " + value + "\r\n";
  if (!headers.contains("Connection")) request += "Connection: close\r\n";
  request += fmt::format("Content-Length: {}\r\n\r\n", body.size()) + body;
  write_all(fd.get(), request, "server");
  const std::string all =
      read_until(fd.get(), std::string("\0never", 6), std::chrono::seconds(100));
  const auto end = all.find("\r\n\r\n");
  Reply reply;
  reply.head = all.substr(0, end);
  if (reply.head.size() > 12) reply.status = std::atoi(reply.head.substr(9, 3).c_str());
  if (end != std::string::npos) reply.body = all.substr(end + 4);
  return reply;
}

std::string DoorTest::admin_token() const {
  return std::string(trim(read_file(folder_ / "tester/admin.token")));
}

DoorTest::Reply DoorTest::api(const std::string& method, const std::string& path,
                              const std::string& body, const std::string& token) const {
  return ask(fmt::format("127.0.0.1:{}", server_->port()), method, "/api/v1" + path,
             {{"Authorization", "Bearer " + (token.empty() ? admin_token() : token)},
              {"Content-Type", "application/json"}},
             body);
}

std::string DoorTest::make_member(const std::string& name) const {
  EXPECT_LT(
      api("PUT", "/users/" + name, R"({"role":"member","password":"correct horse 7"})").status,
      300);
  const CommandResult made = run_command({ASSAY_BIN_DIR "/assay", "serve", "user", "token", name,
                                          "--data", (folder_ / "tester").string()});
  if (made.ok()) return std::string(trim(made.out));
  // Signed in as they would.
  const Reply session = ask(fmt::format("127.0.0.1:{}", server_->port()), "POST", "/api/v1/session",
                            {{"Content-Type", "application/json"}},
                            fmt::format(R"({{"name":"{}","password":"correct horse 7"}})", name));
  EXPECT_EQ(session.status, 200) << session.body;
  const std::string cookie = session.header("Set-Cookie");
  const Reply token = ask(fmt::format("127.0.0.1:{}", server_->port()), "POST", "/api/v1/tokens",
                          {{"Content-Type", "application/json"},
                           {"Cookie", cookie.substr(0, cookie.find(';'))},
                           {"X-CSRF-Token", text_at(parse_json_or_null(session.body), "csrf")}},
                          R"({"name":"test"})");
  return text_at(parse_json_or_null(token.body), "token");
}

DoorTest::Guest DoorTest::open(long id, const std::string& endpoint, const std::string& token) {
  const Reply opened =
      api("POST", fmt::format("/jobs/{}/endpoints/{}/open", id, endpoint), "", token);
  EXPECT_EQ(opened.status, 200) << opened.body;
  const std::string url = text_at(parse_json_or_null(opened.body), "url");
  const std::string rest = url.substr(url.find("//") + 2);
  Guest guest{.host = rest.substr(0, rest.find('/'))};
  const Reply inside = ask(guest.host, "GET", rest.substr(rest.find('/')));
  EXPECT_EQ(inside.status, 303) << inside.head << inside.body;
  const std::string cookie = inside.header("Set-Cookie");
  EXPECT_NE(cookie.find("HttpOnly"), std::string::npos) << cookie;
  guest.cookie = cookie.substr(0, cookie.find(';'));
  return guest;
}

}  // namespace assay::e2e
