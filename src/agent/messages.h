#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <variant>
#include <vector>

#include "agent/node_answers.h"
#include "agent/requests.h"
#include "agent/round_reports.h"
#include "agent/shared_file.h"
#include "core/json_fields.h"

namespace assay::agent {

// The messages between controller and agent, one struct each (docs/dev/agent-protocol.md). kType is
// the message's "type".

/// Sent before anything that could hang: names the processes to end if no hello follows.
struct Begun {
  static constexpr const char* kType = "begun";
  std::vector<std::string> processes{};  ///< the guardian's (core/process_name.h)

  template <class Self, class F>
  static void fields(Self& self, F&& field) {
    field("processes", self.processes);
  }
};

/// The agent's identity; the agent is ready. Values that it could not find out are empty.
struct Hello {
  static constexpr const char* kType = "hello";
  int protocol = 0;
  std::string version;
  int pid = 0;
  std::string host;
  std::string home;
  std::string bindir;   ///< its program's folder
  std::string address;  ///< where other nodes reach it
  std::string boot_id;
  std::string job;  ///< the scheduler's job; "17+1" for a component of a heterogeneous one
  /// Names of the agent and its guardian (core/process_name.h), so that a sweep finds them whatever
  /// became of them.
  std::vector<std::string> processes;

  template <class Self, class F>
  static void fields(Self& self, F&& field) {
    field("protocol", self.protocol);
    field("version", self.version);
    field("pid", self.pid);
    field.optional("host", self.host);
    field.optional("home", self.home);
    field.optional("bindir", self.bindir);
    field.optional("address", self.address);
    field.optional("boot_id", self.boot_id);
    field.optional("job", self.job);
    field.optional("processes", self.processes);
  }
};

/// A piece of the conversation between a program of the round that called `ssh HOST` and the
/// program that runs for it on another node (agent/ssh_relay.h). The controller passes it to the
/// agent of `peer` and puts the sender's number there: it is both a report and a request.
struct Relay {
  static constexpr const char* kType = "relay";
  std::string id;             ///< the round's
  int peer = 0;               ///< the node at the other end
  std::uint64_t channel = 0;  ///< numbered by the caller's node
  bool back = false;          ///< from the program to its caller
  std::string kind{};         ///< letter of an entry::FrameKind
  std::string data{};         ///< arbitrary bytes, in hex

  template <class Self, class F>
  static void fields(Self& self, F&& field) {
    field("id", self.id);
    field("peer", self.peer);
    field("channel", self.channel);
    field.optional("back", self.back);
    field("kind", self.kind);
    field.optional("data", self.data);
  }
};

/// Agent → controller.
using Report = std::variant<Begun, Hello, RankStart, RankExit, StartFailed, LimitReached, Heartbeat,
                            Output, Gap, Unkillable, RoundEnd, SystemReport, Checks, ClockReading,
                            DataListings, ListeningOn, Connections, Executions, CachesDropped,
                            FreePort, FileOffered, FileFetched, FetchProgress, Relay, Refusal>;

/// Controller → agent.
using Request = std::variant<RoundRequest, StopRequest, DescribeRequest, ProbeRequest, ClockRequest,
                             ListDataRequest, ListenRequest, ConnectRequest, IdentifyRequest,
                             DropCachesRequest, FreePortRequest, ForgetRequest, OfferFileRequest,
                             FetchFileRequest, WithdrawFileRequest, Relay, Ping, Bye>;

/// The folder of a node's `ssh` for a round. Several nodes may share a machine.
[[nodiscard]] std::filesystem::path round_ssh_folder(const std::string& round_id, int node);
/// Removes the folders that a round's lost agents left on this machine.
void remove_round_ssh_folders(const std::string& round_id);

[[nodiscard]] Json to_json(const Report& report);
[[nodiscard]] Json to_json(const Request& request);
/// Throws Error of kind internal for an unknown type, or a missing or wrongly typed field.
[[nodiscard]] Report report_from_json(const Json& json);
[[nodiscard]] Request request_from_json(const Json& json);

}  // namespace assay::agent
