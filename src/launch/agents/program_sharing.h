#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <asio/awaitable.hpp>
#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>

#include "launch/agents/channel.h"
#include "launch/agents/launcher.h"
#include "launch/agents/sharing_plan.h"

namespace assay::launch {

class Fleet;

/// How the programs came to the hosts that lacked them.
struct SharingRecord {
  struct Host {
    std::string host{};
    std::string from{};  ///< a host; empty: the controller
    std::uint64_t bytes = 0;

    static void fields(auto& self, auto&& field) {
      field("host", self.host);
      field.optional("from", self.from);
      field("bytes", self.bytes);
    }
  };
  std::uint64_t size = 0;              ///< of the packed programs
  std::uint64_t controller_bytes = 0;  ///< that left the controller
  std::uint64_t host_bytes = 0;        ///< that hosts sent to each other
  std::vector<Host> hosts{};           ///< every transfer, also those that failed
  std::vector<std::string> notices{};  ///< for people: hosts that could not pass the programs on

  static void fields(auto& self, auto&& field) {
    field("size", self.size);
    field("controller_bytes", self.controller_bytes);
    field("host_bytes", self.host_bytes);
    field("hosts", self.hosts);
    field.optional("notices", self.notices);
  }
};

/// The SHA-256 of a file's pieces, read once. Throws Error of kind environment.
[[nodiscard]] agent::FileContent content_of(const std::filesystem::path& file,
                                            std::uint64_t piece_bytes);

/// Brings the launcher's programs to hosts whose agents run but which lack them: SharingPlan
/// decides who sends to whom, agents and ssh do it. Used once.
class ProgramSharing {
 public:
  /// `progress` is called now and then with what is going on.
  ProgramSharing(asio::io_context& loop, Fleet& fleet,
                 std::map<int, Launcher::MissingPrograms> missing,
                 std::function<void(const std::string&)> progress);
  ~ProgramSharing();
  ProgramSharing(const ProgramSharing&) = delete;
  ProgramSharing& operator=(const ProgramSharing&) = delete;

  /// Node → why it did not get them. Bounded: every attempt has a limit that grows with the size,
  /// and there are few for each node. Returns early once `abandoned` is true.
  asio::awaitable<std::map<int, std::string>> run(const bool& abandoned);
  [[nodiscard]] const SharingRecord& record() const noexcept { return record_; }
  /// Events of the fleet.
  void report(int node, const agent::Report& report);
  void lost(int node, const std::string& reason);
  void wake() { changed_.cancel(); }

 private:
  struct Place {
    std::string address{};
    int port = 0;
    std::string token{};
  };
  struct Step {
    std::int64_t deadline_ns = 0;
    std::uint64_t have = 0;              // of a fetch
    std::shared_ptr<Channel> channel{};  // of an upload or an installation
    bool installed = false;
  };

  void begin(const SharingPlan::Order& order);
  void fetch(int node, int from);
  void install(int node);
  void installed(int node, const std::string& how);
  void offer(int node);
  void on_fetched(int node, const agent::FileFetched& fetched);
  void on_offered(int node, const agent::FileOffered& offered);
  void check_deadlines();
  void fail(int node, agent::FetchFault fault, const std::string& reason);
  void keep_notices();
  void end_step(int node);
  [[nodiscard]] Nanoseconds transfer_limit() const;
  [[nodiscard]] std::string describe() const;
  [[nodiscard]] const Bundle& bundle() const { return missing_.begin()->second.bundle; }
  [[nodiscard]] bool over() const;

  asio::io_context& loop_;
  Fleet& fleet_;
  std::map<int, Launcher::MissingPrograms> missing_;
  std::function<void(const std::string&)> progress_;
  SharingPlan plan_;
  agent::FileContent content_;
  std::map<int, Step> fetches_;
  std::map<int, Step> installs_;        // with the upload, where the file is not there
  std::map<int, std::int64_t> offers_;  // asked for, until the answer: deadlines
  std::map<int, Place> places_;         // of those that offer
  std::set<int> ready_;
  std::map<int, std::string> problems_;
  SharingRecord record_;
  asio::steady_timer changed_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace assay::launch
