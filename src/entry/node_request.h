#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "core/enum_names.h"
#include "core/json_fields.h"

namespace assay::entry {

/// What is wanted on a node.
enum class Wanted {
  port,     ///< a connection to a port of this node's loopback address
  service,  ///< a connection to a program that the platform starts beside the job
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
  std::string round{};  ///< ASSAY_ROUND_ID of the round beside which it is
  int pid = 0;          ///< of the rank whose environment, folder and processors it gets
  Wanted wanted = Wanted::program;
  int port = 0;
  std::string service{};  ///< "jupyter"
  /// A service that does not run is started; else that is an error.
  bool start = false;
  /// The connection itself is handed over (SCM_RIGHTS) with the answer, and the agent ends.
  bool pass = false;
  std::string key{};  ///< of ssh: a line of authorized_keys

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

/// Why something cannot be had.
enum class Obstacle {
  none,
  no_round,       ///< the round has ended
  refused,        ///< nothing listens on the port
  not_started,    ///< the service
  ended,          ///< the service ran, and has ended
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

/// The first line that the agent writes, after kAnswerMark; what follows are bytes of what was
/// wanted. Before it there may be what a login shell prints.
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
