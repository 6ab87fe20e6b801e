#include "e2e/tester/tester_process.h"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <stdexcept>

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/files.h"
#include "core/process.h"
#include "core/text.h"
#include "core/time.h"
#include "send_signal.h"

namespace assay::serve {

namespace fs = std::filesystem;

TesterProcess::TesterProcess(const fs::path& folder, const std::vector<std::string>& more) {
  std::vector<std::string> words{ASSAY_BIN_DIR "/assay", "serve", "--data",
                                 (folder / "tester").string()};
  if (std::ranges::find(more, "--listen") == more.end())
    words.insert(words.end(), {"--listen", "127.0.0.1:0"});
  words.insert(words.end(), more.begin(), more.end());
  const std::string errors = (folder / "tester.err").string();
  Child child = spawn({.argv = std::move(words),
                       .out = Stream::pipe(),
                       .err = Stream::append(errors, 0600),
                       .group = Group::shared});
  pid_ = child.release();
  const std::string mark = "listening on ";
  std::string line;
  std::string all;
  char c = 0;
  while (url_.empty() && ::read(child.out.get(), &c, 1) == 1) {
    all += c;
    if (c != '\n') {
      line += c;
      continue;
    }
    if (line.starts_with(mark)) url_ = line.substr(mark.size());
    line.clear();
  }
  said_ = all;
  out_ = std::move(child.out);
  if (url_.empty()) {
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
    throw std::runtime_error(all + read_file_or_empty(errors));
  }
}

const std::string& TesterProcess::said_later() {
  pollfd wait{out_.get(), POLLIN, 0};
  std::string piece(4096, '\0');
  while (::poll(&wait, 1, 0) > 0) {
    const ssize_t n = ::read(out_.get(), piece.data(), piece.size());
    if (n <= 0) break;
    said_later_.append(piece, 0, static_cast<std::size_t>(n));
  }
  return said_later_;
}

TesterProcess::~TesterProcess() {
  if (pid_ < 0) return;
  EXPECT_TRUE(end().ok()) << "the tester did not end by itself";
}

int TesterProcess::port() const {
  return std::atoi(url_.substr(url_.rfind(':') + 1).c_str());
}

void TesterProcess::kill() {
  send_signal(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

ExitStatus TesterProcess::end() {
  send_signal(pid_, SIGTERM);
  int status = 0;
  ::waitpid(pid_, &status, 0);
  pid_ = -1;
  return ExitStatus::from_wait(status);
}

void TesterTest::SetUp() {
  AssayTest::SetUp();
  alice_ = add_token("alice");
}

void TesterTest::start_tester(std::vector<std::string> more) {
  tester_.emplace(folder_, more);
}

void TesterTest::kill_tester() {
  tester_->kill();
  tester_.reset();
}

std::string TesterTest::add_token(const std::string& name) {
  const CommandResult made = assay({"serve", "token", "add", name, "--data", data_.string()});
  EXPECT_TRUE(made.status.ok()) << made.err;
  return std::string(trim(made.out));
}

fs::path TesterTest::make_run() {
  write("suite.yaml",
        "name: short\n"
        "telemetry: {interval: 100ms}\n"
        "cases:\n"
        "  - case: null:native:cpu:1:2:2\n"
        "    config: {steps: 120, step_ms: 5.0}\n");
  const CommandResult run = assay({"run", (folder_ / "suite.yaml").string()});
  EXPECT_TRUE(fs::exists(folder_ / "results/latest/result.json")) << run.out << run.err;
  return latest();
}

CommandResult TesterTest::push(const fs::path& run, const std::vector<std::string>& more) {
  const fs::path file = write("token", alice_ + "\n");
  ::chmod(file.c_str(), 0600);
  std::vector<std::string> words{"push",         run.string(),   "--to",
                                 tester_->url(), "--token-file", file.string()};
  words.insert(words.end(), more.begin(), more.end());
  return assay(words, std::chrono::seconds(120));
}

TesterTest::Reply TesterTest::ask(const std::string& method, const std::string& path,
                                  const std::string& body, const http::Headers& headers,
                                  std::optional<std::string> token) {
  http::ClientOptions options;
  options.retry.attempts = 1;
  http::Client client(options);
  http::Request request;
  request.method = method;
  request.origin = tester_->url();
  const auto mark = path.find('?');
  request.path = path.substr(0, mark);
  if (mark != std::string::npos) request.query = http::parse_query(path.substr(mark + 1));
  request.headers = headers;
  request.body = body;
  const std::string bearer = token.value_or(alice_);
  if (!bearer.empty()) request.set_header("Authorization", "Bearer " + bearer);
  Reply reply;
  reply.response = client.send(request);
  reply.status = reply.response.status;
  reply.json = parse_json_or_null(reply.response.body);
  return reply;
}

std::string TesterTest::raw(const std::string& bytes, std::chrono::seconds limit) {
  const UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<std::uint16_t>(tester_->port()));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) return "refused";
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t n = ::send(fd.get(), bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL);
    if (n <= 0) break;
    done += static_cast<std::size_t>(n);
  }
  std::string out;
  const std::int64_t deadline = mono_now_ns() + Nanoseconds(limit).count();
  while (true) {
    pollfd wait{fd.get(), POLLIN, 0};
    const std::int64_t left = (deadline - mono_now_ns()) / 1'000'000;
    if (left <= 0 || ::poll(&wait, 1, static_cast<int>(left)) <= 0) return out + "[open]";
    std::string piece(65536, '\0');
    const ssize_t n = ::recv(fd.get(), piece.data(), piece.size(), 0);
    if (n <= 0) return out + "[closed]";
    out.append(piece, 0, static_cast<std::size_t>(n));
  }
}

}  // namespace assay::serve
