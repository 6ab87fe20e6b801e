#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "agent/connectivity.h"
#include "core/json_fields.h"
#include "core/time.h"
#include "probe/check.h"
#include "probe/execution.h"
#include "probe/listing.h"
#include "telemetry/device_source.h"

namespace assay::agent {

// An agent's answers to requests outside a round (agent/messages.h).

struct SystemReport {
  static constexpr const char* kType = "system";
  Json system;  ///< in the form of system.json

  template <class Self, class F>
  static void fields(Self& self, F&& field) {
    field("system", self.system);
  }
};

struct Checks {
  static constexpr const char* kType = "checks";
  std::vector<probe::Check> checks;

  template <class Self, class F>
  static void fields(Self& self, F&& field) {
    field("checks", self.checks);
  }
};

struct ClockReading {
  static constexpr const char* kType = "clock";
  std::int64_t wall_ns = 0;

  template <class Self, class F>
  static void fields(Self& self, F&& field) {
    field("wall_ns", self.wall_ns);
  }
};

struct DataListings {
  static constexpr const char* kType = "data";
  std::vector<probe::Listing> listings;

  template <class Self, class F>
  static void fields(Self& self, F&& field) {
    field("listings", self.listings);
  }
};

struct ListeningOn {
  static constexpr const char* kType = "listening";
  int port = 0;
  std::string problem;  ///< empty while it listens

  template <class Self, class F>
  static void fields(Self& self, F&& field) {
    field("port", self.port);
    field("problem", self.problem);
  }
};

struct Connections {
  static constexpr const char* kType = "connected";
  std::vector<Reached> results;

  template <class Self, class F>
  static void fields(Self& self, F&& field) {
    field("results", self.results);
  }
};

/// The programs that the node's ranks would execute.
struct Executions {
  static constexpr const char* kType = "execution";
  probe::Execution execution;

  template <class Self, class F>
  static void fields(Self& self, F&& field) {
    field("execution", self.execution);
  }
};

struct CachesDropped {
  static constexpr const char* kType = "caches";
  bool done = false;
  std::string how;  ///< or why not

  template <class Self, class F>
  static void fields(Self& self, F&& field) {
    field("done", self.done);
    field("how", self.how);
  }
};

/// A port that has no listener at the moment.
struct FreePort {
  static constexpr const char* kType = "port";
  int port = 0;

  template <class Self, class F>
  static void fields(Self& self, F&& field) {
    field("port", self.port);
  }
};

/// Answers a request that the agent does not know, cannot read or cannot carry out.
struct Refusal {
  static constexpr const char* kType = "error";
  std::string reason;

  template <class Self, class F>
  static void fields(Self& self, F&& field) {
    field("reason", self.reason);
  }
};

}  // namespace assay::agent
