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

// The messages between controller and agent, one struct each; docs/dev/agent-protocol.md
// describes them. kType is the message's "type".

/// Before anything that could hang: whom to end where no hello follows.
struct Begun {
  static constexpr const char* kType = "begun";
  std::vector<std::string> processes{};  ///< the guardian's name (core/process_name.h)

  template <class Self, class F>
  static void fields(Self& self, F&& field) {
    field("processes", self.processes);
  }
};

/// The agent's identity: it serves. What it could not find out is empty.
struct Hello {
  static constexpr const char* kType = "hello";
  int protocol = 0;
  std::string version;
  int pid = 0;
  std::string host;
  std::string home;
  std::string bindir;   ///< the folder of its program
  std::string address;  ///< under which other nodes reach it
  std::string boot_id;
  std::string job;  ///< the scheduler's; "17+1" for a component of a heterogeneous one
  /// The agent and its guardian by name (core/process_name.h), so that a sweep finds them whatever
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

/// A piece of the conversation between a program of the round that said `ssh HOST` and what runs
/// for it on another node (agent/ssh_relay.h). The controller passes it on to the agent of `peer`,
/// with the sender's number in its place: it is a report and a request.
struct Relay {
  static constexpr const char* kType = "relay";
  std::string id;             ///< of the round
  int peer = 0;               ///< the node at the other end
  std::uint64_t channel = 0;  ///< of those that the caller's node opened
  bool back = false;          ///< from the program to its caller
  std::string kind{};         ///< the letter of an entry::FrameKind
  std::string data{};         ///< in hex: what is said may be any bytes

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

/// Where the `ssh` of a round's node lies. Several nodes may be on one machine.
[[nodiscard]] std::filesystem::path round_ssh_folder(const std::string& round_id, int node);
/// Removes what a lost agent of the round left of it on this machine.
void remove_round_ssh_folders(const std::string& round_id);

[[nodiscard]] Json to_json(const Report& report);
[[nodiscard]] Json to_json(const Request& request);
/// Throws Error of kind internal for an unknown type, a missing field or one of the wrong type.
[[nodiscard]] Report report_from_json(const Json& json);
[[nodiscard]] Request request_from_json(const Json& json);

}  // namespace assay::agent
