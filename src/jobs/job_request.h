#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "jobs/job_state.h"

namespace assay::jobs {

using JobId = std::int64_t;

struct ClusterNode {
  std::string name{};
  std::string device_type{};  ///< "H200"; on a machine without devices "cpu", and a slot is one
  int devices = 0;
  bool available = true;  ///< false: drained or lost. What runs there goes on; nothing new begins
  bool drained = false;   ///< somebody has drained it
  std::string reason{};   ///< … for that; empty: it was not given
};

/// Nodes that from one moment to another belong to some teams only; to nobody where there are none
/// (maintenance).
struct Reservation {
  std::string name{};
  std::vector<std::string> nodes{};
  WallTime from_ns = 0;
  WallTime to_ns = 0;
  std::vector<std::string> teams{};

  static void fields(auto& self, auto&& field) {
    field("name", self.name);
    field("nodes", self.nodes);
    field("from_ns", self.from_ns);
    field("to_ns", self.to_ns);
    field.optional("teams", self.teams);
  }
};

struct Queue {
  std::string name{};
  int priority = 0;  ///< added to its jobs'
  bool closed = false;
  bool preempts = true;   ///< its jobs may take the place of preemptible ones of lower priority
  bool approval = false;  ///< its jobs wait until somebody approves them
  // Where jobs are Slurm's: where they are submitted there; empty: as the server says.
  std::string partition{};
  std::string account{};
  std::string qos{};

  static void fields(auto& self, auto&& field) {
    field("name", self.name);
    field.optional("priority", self.priority);
    field.optional("closed", self.closed);
    field.optional("preempts", self.preempts);
    field.optional("approval", self.approval);
    field.optional("partition", self.partition);
    field.optional("account", self.account);
    field.optional("qos", self.qos);
  }
};

/// A device type that a map does not name is not limited.
struct Team {
  std::string name{};
  double weight = 1;                        ///< its share of the cluster, relative to the others'
  std::map<std::string, int> quota{};       ///< devices of all its jobs at a time, by type
  std::map<std::string, int> user_quota{};  ///< of each of its users

  static void fields(auto& self, auto&& field) {
    field("name", self.name);
    field.optional("weight", self.weight);
    field.optional("quota", self.quota);
    field.optional("user_quota", self.user_quota);
  }
};

struct Dependency {
  JobId id = 0;
  State state = State::queued;
};

/// What a job asks of the cluster.
struct Request {
  JobId id = 0;
  std::string user{};
  std::string team{};
  std::string queue{};
  int priority = 0;
  WallTime waiting_since_ns = 0;
  WallTime not_before_ns = 0;
  int nodes = 1;
  int devices = 1;            ///< on each node
  std::string device_type{};  ///< empty: any, but the same on all nodes
  bool whole_nodes = false;   ///< nobody else on its nodes
  Nanoseconds time{0};        ///< that it may run
  bool preemptible = false;
  std::vector<Dependency> after{};  ///< jobs that must finish first
  JobId array = 0;                  ///< the array it belongs to; 0: none
  int array_limit = 0;              ///< elements of it at a time; 0: any number
};

/// A job that holds nodes.
struct Occupant {
  Request request{};
  Placement placement{};
  WallTime since_ns = 0;
  WallTime stopped_by_ns = 0;  ///< it is being stopped, and gone by then; 0: it is not
};

}  // namespace assay::jobs
