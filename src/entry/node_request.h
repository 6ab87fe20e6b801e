#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "core/enum_names.h"
#include "core/json_fields.h"

namespace assay::entry {

/// The thing requested on a node.
enum class Wanted {
  port,     ///< a connection to a port of this node's loopback address
  service,  ///< a connection to a program that the platform runs beside the job
  program,  ///< a program with its streams, in frames (frame.h)
  ssh,      ///< the protocol of SSH
  /// That a folder of curves is taken, which comes as a stream of transfer/stream.h: a service that
  /// shows curves finds them beside the job's own.
  curves,
};

constexpr auto enum_names(Wanted) {
  using enum Wanted;
  return std::to_array<EnumName<Wanted>>({{port, "port"},
                                          {service, "service"},
                                          {program, "program"},
                                          {ssh, "ssh"},
                                          {curves, "curves"}});
}

/// The service that shows curves.
inline constexpr const char* kShowsCurves = "tensorboard";

/// The argument of `assay-agent --enter`. There is no secret in it: arguments can be seen.
struct NodeRequest {
  std::string round{};  ///< ASSAY_ROUND_ID of the neighboring round
  int pid = 0;          ///< the rank that provides environment, folder and processors
  Wanted wanted = Wanted::program;
  int port = 0;
  std::string service{};  ///< "jupyter"
  /// Starts a service that is not running; otherwise that is an error.
  bool start = false;
  /// Hands over the connection itself (SCM_RIGHTS) with the answer, after which the agent ends.
  bool pass = false;
  std::string key{};  ///< for ssh: a line of authorized_keys

  static void fields(auto& self, auto&& field) {
    field("round", self.round);
    field("pid", self.pid);
    field("wanted", self.wanted);
    field.optional("port", self.port);
    field.optional("service", self.service);
    field.optional("start", self.start);
    field.optional("pass", self.pass);
    field.optional("key", self.key);
  }
};

/// Why a request cannot be met.
enum class Obstacle {
  none,
  no_round,       ///< the round has ended
  refused,        ///< nothing listens on the port
  not_started,    ///< the service is not running
  ended,          ///< the service has ended
  not_installed,  ///< on the node
  failed,
};

constexpr auto enum_names(Obstacle) {
  using enum Obstacle;
  return std::to_array<EnumName<Obstacle>>({{none, "none"},
                                            {no_round, "no_round"},
                                            {refused, "refused"},
                                            {not_started, "not_started"},
                                            {ended, "ended"},
                                            {not_installed, "not_installed"},
                                            {failed, "failed"}});
}

/// The agent's first line, after kAnswerMark; the requested stream follows. Output of a login shell
/// may precede it.
struct NodeAnswer {
  Obstacle obstacle = Obstacle::none;
  std::string words{};                          ///< what is in the way
  std::string detail{};                         ///< the end of a service's log
  std::map<std::string, std::uint64_t> have{};  ///< bytes of curves that are there, by file

  static void fields(auto& self, auto&& field) {
    field("obstacle", self.obstacle);
    field.optional("words", self.words);
    field.optional("detail", self.detail);
    field.optional("have", self.have);
  }
};

inline constexpr std::string_view kAnswerMark = "ASSAY-ENTRY ";

}  // namespace assay::entry
