#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plan/plan.h"

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

/// What a host without the programs says before it can start its agent.
inline constexpr std::string_view kSendBundle = "ASSAY-SEND-BUNDLE";

/// How agents come to the nodes, and what they leave comes back. Public functions are not virtual;
/// a launcher implements the do_ functions.
class Launcher {
 public:
  virtual ~Launcher() = default;

  [[nodiscard]] std::string_view name() const { return do_name(); }

  /// Makes ready what the nodes will need (programs to copy, connections). Before the first
  /// start, not for a dry run. Throws Error.
  void prepare(const plan::Plan& plan) { do_prepare(plan); }

  /// The hosts of the plan's nodes, in node order. Where a scheduler chooses them, stand-ins that
  /// the agents' hellos replace.
  [[nodiscard]] std::vector<std::string> hosts(const plan::Plan& plan) const {
    return do_hosts(plan);
  }
  [[nodiscard]] bool hosts_are_chosen_elsewhere() const { return do_hosts_are_chosen_elsewhere(); }

  /// Pure: the commands that start the agents of `hosts` (node i runs on hosts[i]).
  [[nodiscard]] std::vector<ChannelCommand> render(const std::vector<std::string>& hosts) const {
    return do_render(hosts);
  }

  /// Where the agent on the node shall write what belongs into `node_dir` of the run directory; a
  /// leading "~" is the home of the user there.
  [[nodiscard]] std::filesystem::path remote_dir(const std::filesystem::path& node_dir) const {
    return do_remote_dir(node_dir);
  }
  /// Whether remote_dir is another place, from which the evidence has to be fetched.
  [[nodiscard]] bool collects() const { return do_collects(); }

  /// Pure: the command that runs `assay-agent ARGS` on a node beside the agent that serves there.
  /// `hello` is what that agent said of itself.
  [[nodiscard]] std::vector<std::string> agent_command(const std::string& host, const Json& hello,
                                                       const std::vector<std::string>& args) const {
    return do_agent_command(host, hello, args);
  }

  /// The folder that {bindir} stands for on a node.
  [[nodiscard]] std::filesystem::path programs_dir(const Json& hello) const {
    return do_programs_dir(hello);
  }

  /// Why the agents are not there yet, for people ("job 17 pending: Resources"); empty: not known.
  /// May ask the scheduler; bounded.
  [[nodiscard]] std::string waiting_for() const { return do_waiting_for(); }

  /// Why the agents' command ended, as far as the scheduler knows ("job 17 was cancelled from
  /// outside"); empty: it does not. Bounded.
  [[nodiscard]] std::string explain_end(const Json& hello) const { return do_explain_end(hello); }

  /// How long to wait before a start that ended with `reason` is tried again, `since` after its
  /// first attempt; nothing when another attempt would not help, or comes too late. Pure.
  [[nodiscard]] std::optional<Nanoseconds> retry_pause(const std::string& reason, int attempt,
                                                       Nanoseconds since) const {
    return do_retry_pause(reason, attempt, since);
  }

  /// How long starting may take before it counts as failed.
  [[nodiscard]] Nanoseconds start_limit() const { return do_start_limit(); }

 private:
  [[nodiscard]] virtual std::string_view do_name() const = 0;
  virtual void do_prepare(const plan::Plan& /*plan*/) {}
  [[nodiscard]] virtual std::vector<std::string> do_hosts(const plan::Plan& plan) const = 0;
  [[nodiscard]] virtual bool do_hosts_are_chosen_elsewhere() const { return false; }
  [[nodiscard]] virtual std::vector<ChannelCommand> do_render(
      const std::vector<std::string>& hosts) const = 0;
  [[nodiscard]] virtual std::filesystem::path do_remote_dir(
      const std::filesystem::path& node_dir) const = 0;
  [[nodiscard]] virtual bool do_collects() const = 0;
  [[nodiscard]] virtual std::vector<std::string> do_agent_command(
      const std::string& host, const Json& hello, const std::vector<std::string>& args) const = 0;
  [[nodiscard]] virtual std::filesystem::path do_programs_dir(const Json& hello) const {
    return hello.value("bindir", "");
  }
  [[nodiscard]] virtual std::string do_waiting_for() const { return {}; }
  [[nodiscard]] virtual std::string do_explain_end(const Json& /*hello*/) const { return {}; }
  [[nodiscard]] virtual std::optional<Nanoseconds> do_retry_pause(const std::string& /*reason*/,
                                                                  int /*attempt*/,
                                                                  Nanoseconds /*since*/) const {
    return std::nullopt;
  }
  [[nodiscard]] virtual Nanoseconds do_start_limit() const { return std::chrono::seconds(30); }
};

struct LauncherInfo {
  std::string name;
  std::string description;
};
[[nodiscard]] const std::vector<LauncherInfo>& launcher_catalogue();

/// `bindir` holds assay-agent. Throws Error of kind environment when it does not.
[[nodiscard]] std::unique_ptr<Launcher> make_launcher(const plan::Cluster& cluster,
                                                      const std::filesystem::path& bindir);

/// A leading "~/" replaced by the home of the user on the node, which its agent's `hello` tells.
[[nodiscard]] std::filesystem::path at_home(const std::filesystem::path& path, const Json& hello);

/// Throws Error of kind config when the case wants more nodes than there are hosts.
void require_hosts(const plan::CasePlan& plan_case, const std::vector<std::string>& hosts,
                   const std::string& suite_file);

}  // namespace assay::launch
