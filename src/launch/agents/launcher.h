#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <asio/awaitable.hpp>

#include "agent/messages.h"
#include "core/node_part.h"
#include "launch/agents/bundle.h"
#include "plan/plan.h"
#include "store/run_dir.h"

namespace assay::launch {

/// A command whose stdin and stdout carry the protocol of one or more agents.
struct ChannelCommand {
  std::vector<std::string> argv;
  std::vector<int> nodes;  ///< the nodes whose agents speak on it
  std::string label;       ///< for messages: "host node1"
  /// Sent when the other side asks for it with a line kSendBundle; empty: it never does.
  std::filesystem::path bundle{};
  /// It holds something (an allocation) that it gives back when asked to end, not when killed.
  bool ask_to_end = false;
};

/// The line that a host without the programs prints before it can start its agent.
inline constexpr std::string_view kSendBundle = "ASSAY-SEND-BUNDLE";

/// The type of the message that says that a ChannelCommand which installs programs has done so.
inline constexpr std::string_view kInstalled = "installed";

/// Where a node's evidence of one round lies.
struct NodePlace {
  std::filesystem::path run_dir;
  std::string case_name;
  int round = 1;
  std::string host;
  int node = 0;
  int part = 1;  ///< of a node that has come back to the round

  /// Below a run directory.
  [[nodiscard]] std::filesystem::path folder() const {
    return layout::part_folder(store::node_folder(case_name, round, host, node).string(), part);
  }
  [[nodiscard]] std::filesystem::path local() const { return run_dir / folder(); }
};

/// How agents come to the nodes, and what they leave comes back. Public functions are not virtual;
/// a launcher implements the do_ functions.
class Launcher {
 public:
  explicit Launcher(const plan::Cluster& cluster) : traits_(cluster.traits) {}
  virtual ~Launcher() = default;
  Launcher(const Launcher&) = delete;
  Launcher& operator=(const Launcher&) = delete;

  [[nodiscard]] const plan::LauncherTraits& traits() const noexcept { return traits_; }

  /// Makes ready what the nodes will need (programs to copy, connections). Before the first
  /// start, not for a dry run. May take seconds. Throws Error.
  void prepare(const plan::Plan& plan) { do_prepare(plan); }

  /// Ends jobs of the scheduler in which earlier controllers of this run had their agents, as far
  /// as they were made for it: a stopped agent holds its job for ever. After prepare(), before the
  /// first start. Bounded; what cannot be ended is left.
  void end_jobs(const std::set<std::string>& jobs) const { do_end_jobs(jobs); }

  /// Ends what the scheduler still has of the jobs that were made for this run, after the agents
  /// have ended or did not come: a part of one may outlive the others, and so may a job whose
  /// command was killed. Bounded; gives what is to be said where that cannot be known or done.
  [[nodiscard]] std::string give_back() const { return do_give_back(); }

  /// The hosts of the plan's nodes, in node order. Where a scheduler chooses them, stand-ins that
  /// the agents' hellos replace.
  [[nodiscard]] std::vector<std::string> hosts(const plan::Plan& plan) const {
    return do_hosts(plan);
  }

  /// Pure: the commands that start the agents of `hosts` (node i runs on hosts[i]).
  [[nodiscard]] std::vector<ChannelCommand> render(const std::vector<std::string>& hosts) const {
    return do_render(hosts);
  }

  /// Pure: where the agent on the node writes its evidence; a leading "~" is the home of the user
  /// there. Without shared files another place than in the run directory, from which it is fetched.
  [[nodiscard]] std::filesystem::path remote_dir(const NodePlace& place) const {
    return do_remote_dir(place);
  }

  /// Pure: the command that runs `assay-agent ARGS` on a node beside the agent that serves there.
  /// `hello` is what that agent reported about itself.
  [[nodiscard]] std::vector<std::string> agent_command(const std::string& host,
                                                       const agent::Hello& hello,
                                                       const std::vector<std::string>& args) const {
    return do_agent_command(host, hello, args);
  }

  /// Pure: what runs a POSIX shell's `command` on a host, whether an agent serves there or not.
  /// Throws Error of kind environment where there is no way but through an agent.
  [[nodiscard]] std::vector<std::string> shell_command(const std::string& host,
                                                       const std::string& command) const {
    return do_shell_command(host, command);
  }

  /// The folder that {bindir} stands for on a node.
  [[nodiscard]] std::filesystem::path programs_dir(const agent::Hello& hello) const {
    return do_programs_dir(hello);
  }

  /// Programs that come to a host when its agent runs already, and what brings them there.
  struct MissingPrograms {
    Bundle bundle;
    std::filesystem::path part;  ///< where the packed programs lie on the host until all have them
    /// Gets what is not there of them over the host's own connection, puts them in place, and says
    /// so with a message kInstalled.
    ChannelCommand install;
  };
  /// Pure: what the host of an agent that said `hello` as `node` lacks; nothing: it has all.
  [[nodiscard]] std::optional<MissingPrograms> missing_programs(const std::string& host, int node,
                                                                const agent::Hello& hello) const {
    return do_missing_programs(host, node, hello);
  }

  /// Why the agents are not there yet, for people ("job 17 pending: Resources"); empty: not known.
  /// May ask the scheduler; bounded.
  [[nodiscard]] asio::awaitable<std::string> waiting_for() const { return do_waiting_for(); }

  /// Why the agents' command ended, as far as the scheduler knows ("job 17 was cancelled from
  /// outside"); empty: it does not. Bounded.
  [[nodiscard]] asio::awaitable<std::string> explain_end(agent::Hello hello) const {
    return do_explain_end(std::move(hello));
  }

  /// How long to wait before a start that ended with `reason` is tried again, `since` after its
  /// first attempt; nothing when another attempt would not help, or comes too late. Pure.
  [[nodiscard]] std::optional<Nanoseconds> retry_pause(const std::string& reason, int attempt,
                                                       Nanoseconds since) const {
    return do_retry_pause(reason, attempt, since);
  }

  /// How long starting may take before it counts as failed.
  [[nodiscard]] Nanoseconds start_limit() const { return do_start_limit(); }

 private:
  virtual void do_prepare(const plan::Plan& /*plan*/) {}
  virtual void do_end_jobs(const std::set<std::string>& /*jobs*/) const {}
  [[nodiscard]] virtual std::string do_give_back() const { return {}; }
  [[nodiscard]] virtual std::vector<std::string> do_hosts(const plan::Plan& plan) const = 0;
  [[nodiscard]] virtual std::vector<ChannelCommand> do_render(
      const std::vector<std::string>& hosts) const = 0;
  [[nodiscard]] virtual std::filesystem::path do_remote_dir(const NodePlace& place) const {
    return place.local();
  }
  [[nodiscard]] virtual std::vector<std::string> do_agent_command(
      const std::string& host, const agent::Hello& hello,
      const std::vector<std::string>& args) const = 0;
  [[nodiscard]] virtual std::vector<std::string> do_shell_command(const std::string& host,
                                                                  const std::string& command) const;
  [[nodiscard]] virtual std::filesystem::path do_programs_dir(const agent::Hello& hello) const {
    return hello.bindir;
  }
  [[nodiscard]] virtual std::optional<MissingPrograms> do_missing_programs(
      const std::string& /*host*/, int /*node*/, const agent::Hello& /*hello*/) const {
    return std::nullopt;
  }
  [[nodiscard]] virtual asio::awaitable<std::string> do_waiting_for() const { co_return ""; }
  [[nodiscard]] virtual asio::awaitable<std::string> do_explain_end(agent::Hello /*hello*/) const {
    co_return "";
  }
  [[nodiscard]] virtual std::optional<Nanoseconds> do_retry_pause(const std::string& /*reason*/,
                                                                  int /*attempt*/,
                                                                  Nanoseconds /*since*/) const {
    return std::nullopt;
  }
  [[nodiscard]] virtual Nanoseconds do_start_limit() const { return std::chrono::seconds(30); }

  plan::LauncherTraits traits_;
};

/// `bindir` holds assay-agent. Throws Error of kind environment when it does not, and of kind usage
/// when the cluster's launcher starts no agents.
[[nodiscard]] std::unique_ptr<Launcher> make_launcher(const plan::Cluster& cluster,
                                                      const std::filesystem::path& bindir);

/// A leading "~/" replaced by the home of the user on the node, which its agent's `hello` names.
[[nodiscard]] std::filesystem::path at_home(const std::filesystem::path& path,
                                            const agent::Hello& hello);

/// The hosts of the largest case, in node order, and behind them as many as `min_nodes` counts.
/// Throws Error of kind config when a case wants more nodes than there are hosts.
[[nodiscard]] std::vector<std::string> used_hosts(const plan::Plan& plan, const Launcher& launcher);

/// The plan's vendor's command for the state of devices; empty: it has none.
[[nodiscard]] std::vector<std::string> device_state_command(const plan::Plan& plan);

}  // namespace assay::launch
