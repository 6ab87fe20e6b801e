#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <future>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>

#include "automl/start_models.h"
#include "automl/worker_protocol.h"
#include "core/files.h"
#include "core/json.h"
#include "core/subprocess.h"
#include "core/text.h"
#include "temporary_folder.h"

namespace assay::train {

using automl::CoordinatorMessage;
using automl::Done;
using automl::Epoch;
using automl::Graph;
using automl::Trial;
using automl::WorkerMessage;

inline constexpr const char* kToken = "not-to-be-seen";
inline constexpr std::chrono::seconds kPatience{100};

/// A real automl-worker process, driven by a small coordinator that lives in the test.
class WorkerTest : public ::testing::Test {
 protected:
  WorkerTest() : listener_(bound()) {
    if (::listen(listener_.get(), 1) != 0) throw std::runtime_error("cannot listen");
  }

  // A socket with a port of its own, which address_ then names.
  UniqueFd bound() {
    UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), size) != 0 ||
        ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0)
      throw std::runtime_error("no port");
    address_ = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
    return fd;
  }

  // memory_kb: the address space that the process may have; 0: any.
  void start(const std::string& config = "threads: 1\ndevice: cpu\n", int memory_kb = 0) {
    worker_ = start_rank({{"RANK", "3"}, {"WORLD_SIZE", "4"}, {"LOCAL_RANK", "1"}}, pid_file(),
                         config, memory_kb);
  }
  [[nodiscard]] std::future<CommandResult> start_rank(
      const std::map<std::string, std::string>& env, const std::filesystem::path& pid_file,
      const std::string& config = "threads: 1\ndevice: cpu\n", int memory_kb = 0) {
    const auto path = folder_.path() / "worker.yaml";
    std::ofstream(path) << config;
    return std::async(std::launch::async, [this, path, memory_kb, env, pid_file] {
      CommandOptions options;
      options.timeout = kPatience;
      options.max_output = 8 << 20;
      options.env = {{automl::kAddressVariable, address_}, {automl::kTokenVariable, kToken}};
      for (const auto& [name, value] : env) options.env[name] = value;
      const std::string limit =
          memory_kb > 0 ? "ulimit -v " + std::to_string(memory_kb) + " && " : "";
      return run_command(
          {"sh", "-c",
           limit + "echo $$ >" + shell_quote(pid_file.string()) + " && exec " + ASSAY_BIN_DIR +
               "/assay-train automl-worker --config " + shell_quote(path.string())},
          options);
    });
  }

  [[nodiscard]] std::filesystem::path pid_file() const { return folder_.path() / "pid"; }

  void accept() {
    wait_for(listener_.get());
    peer_ = UniqueFd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    ASSERT_TRUE(peer_);
  }
  // Up to the moment where a trial is expected.
  void welcome() {
    accept();
    EXPECT_EQ(expect<automl::Hello>().token, kToken);
    expect<automl::Ready>();
  }

  static void wait_for(int fd) {
    pollfd readable{fd, POLLIN, 0};
    if (::poll(&readable, 1, static_cast<int>(kPatience.count() * 1000)) != 1)
      throw std::runtime_error("the worker says nothing");
  }
  void fill() {
    wait_for(peer_.get());
    std::string buffer(65536, 0);
    const ssize_t n = ::recv(peer_.get(), buffer.data(), buffer.size(), 0);
    if (n <= 0) throw std::runtime_error("the worker has closed the connection");
    framing_.feed(std::string_view(buffer).substr(0, static_cast<std::size_t>(n)));
  }
  // The next message that is not `alive`.
  WorkerMessage receive() {
    for (;;) {
      std::optional<std::string> line = framing_.line("worker");
      if (!line) {
        fill();
        continue;
      }
      WorkerMessage message = automl::decode_worker_message(*line, "worker");
      const auto* alive = std::get_if<automl::Alive>(&message);
      if (alive == nullptr) return message;
      ++alive_;
      progress_ = alive->progress;
    }
  }
  template <typename T>
  T expect() {
    WorkerMessage message = receive();
    if (!std::holds_alternative<T>(message))
      throw std::runtime_error("another message: " + automl::encode(message));
    return std::get<T>(message);
  }
  std::string bytes(std::int64_t count) {
    for (;;) {
      if (auto raw = framing_.raw(count)) return *raw;
      fill();
    }
  }
  void send(const CoordinatorMessage& message) { send_raw(automl::encode(message)); }
  void send_raw(const std::string& text) {
    for (std::size_t sent = 0; sent < text.size();) {
      const ssize_t n = ::send(peer_.get(), text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
      if (n <= 0) throw std::runtime_error("the worker does not read");
      sent += static_cast<std::size_t>(n);
    }
  }

  // A trial that has been trained to its end.
  struct Finished {
    std::optional<automl::Inherited> inherited;
    std::vector<Epoch> epochs;
    std::string weights;
    Done done;
  };
  Finished finish() {
    Finished finished;
    WorkerMessage message = receive();
    if (const auto* inherited = std::get_if<automl::Inherited>(&message)) {
      finished.inherited = *inherited;
      message = receive();
    }
    for (; std::holds_alternative<Epoch>(message); message = receive())
      finished.epochs.push_back(std::get<Epoch>(message));
    EXPECT_TRUE(std::holds_alternative<automl::Ready>(message)) << automl::encode(message);
    message = receive();
    if (const auto* weights = std::get_if<automl::Weights>(&message)) {
      finished.weights = bytes(weights->bytes);
      message = receive();
    }
    finished.done = std::get<Done>(message);
    return finished;
  }
  Finished run(const Trial& trial) {
    send(trial);
    return finish();
  }

  CommandResult end() {
    CommandResult result = worker_.get();
    EXPECT_FALSE(result.timed_out);
    EXPECT_THAT(result.out + result.err, ::testing::Not(::testing::HasSubstr(kToken)));
    return result;
  }
  CommandResult stop() {
    send(automl::Stop{});
    return end();
  }

  static Graph small() { return automl::basic_resnet({32, 32, 3, false}, 2, 1, 4, 10); }
  static Trial trial(std::int64_t id, const Graph& graph = small()) {
    Trial trial;
    trial.trial = id;
    trial.graph = automl::to_json(graph);
    trial.hyper = {32, 0.05, 5e-4, 0, 0, 0};
    trial.epochs = 2;
    trial.data = {
        {"data", "glyphs"}, {"train_size", 128}, {"eval_size", 40}, {"loader_threads", 1}};
    return trial;
  }
  // One that ends only when it is told to.
  static Trial endless(std::int64_t id) {
    Trial endless = trial(id);
    endless.epochs = 1'000'000;
    endless.patience.epochs = 0;
    return endless;
  }
  static Json last_event(const std::string& out, const std::string& name) {
    Json found;
    for (const std::string_view line : split(out, '\n')) {
      if (!line.starts_with("[PerfLog] ")) continue;
      Json json = parse_json(line.substr(10), "log");
      if (json["event"] == name) found = std::move(json);
    }
    return found;
  }
  static Json header_of(const std::string& weights) {
    const std::size_t first = weights.find('\n');
    return parse_json(weights.substr(first + 1, weights.find('\n', first + 1) - first - 1), "file");
  }

  assay::testing::TemporaryFolder folder_;
  std::string address_;
  UniqueFd listener_;
  UniqueFd peer_;
  automl::Framing framing_;
  int alive_ = 0;
  std::int64_t progress_ = 0;
  std::future<CommandResult> worker_;
};

}  // namespace assay::train
