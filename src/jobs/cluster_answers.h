#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "jobs/job_request.h"

/// The server's answers about the cluster. Each list of fields serves the server, which writes the
/// answer, the description of the interface, where kSchema names its schema, and the client, which
/// reads it.
namespace assay::jobs {

struct NodeUse {
  static constexpr const char* kSchema = "NodeUse";
  JobId job = 0;
  std::string owner{};
  std::int64_t devices = 0;
  std::vector<int> indices{};

  static void fields(auto& self, auto&& field) {
    field("job", self.job);
    field("owner", self.owner);
    field("devices", self.devices);
    field("indices", self.indices);
  }
};

/// What a device does, or the whole node; nothing where it is not known.
struct Readings {
  static constexpr const char* kSchema = "Readings";
  std::optional<double> util{};
  std::optional<double> mem_used_bytes{};
  std::optional<double> mem_total_bytes{};
  std::optional<double> power_w{};
  std::optional<double> temp_c{};

  static void fields(auto& self, auto&& field) {
    field("util", self.util);
    field("mem_used_bytes", self.mem_used_bytes);
    field("mem_total_bytes", self.mem_total_bytes);
    field("power_w", self.power_w);
    field("temp_c", self.temp_c);
  }
};

struct NodeReadings {
  static constexpr const char* kSchema = "NodeReadings";
  double age_s = 0;
  Readings node{};
  std::vector<Readings> devices{};

  static void fields(auto& self, auto&& field) {
    field("age_s", self.age_s);
    field("node", self.node);
    field("devices", self.devices);
  }
};

struct NodeAnswer {
  static constexpr const char* kSchema = "Node";
  std::string name{};
  std::string device_type{};
  std::int64_t devices = 0;
  bool available = false;
  bool drained = false;
  std::string drained_by{};
  std::string reason{};
  bool lost = false;
  std::string state{};  ///< in the word of the engine's scheduler; empty: it has none
  std::vector<NodeUse> uses{};
  std::optional<NodeReadings> readings{};

  [[nodiscard]] std::int64_t used() const {
    std::int64_t sum = 0;
    for (const NodeUse& use : uses) sum += use.devices;
    return sum;
  }
  static void fields(auto& self, auto&& field) {
    field("name", self.name);
    field("device_type", self.device_type);
    field("devices", self.devices);
    field("available", self.available);
    field("drained", self.drained);
    field("drained_by", self.drained_by);
    field("reason", self.reason);
    field("lost", self.lost);
    field("state", self.state);
    field("uses", self.uses);
    field("readings", self.readings);
  }
};

struct NodesAnswer {
  static constexpr const char* kSchema = "Nodes";
  std::vector<NodeAnswer> nodes{};
  std::string trouble{};  ///< why it may be out of date; empty: it is not

  static void fields(auto& self, auto&& field) {
    field("nodes", self.nodes);
    field("trouble", self.trouble);
  }
};

struct UsageAnswerRow {
  static constexpr const char* kSchema = "UsageRow";
  std::string user{};
  std::string team{};
  std::string month{};
  std::string device_type{};
  std::int64_t jobs = 0;
  double device_hours = 0;
  std::optional<double> idle_device_hours{};  ///< nothing: not known
  std::optional<double> energy_kwh{};         ///< nothing: not known
  double unmetered_device_hours = 0;          ///< whose energy is not known
  double unwatched_device_hours = 0;          ///< that may have been idle or not

  static void fields(auto& self, auto&& field) {
    field("user", self.user);
    field("team", self.team);
    field("month", self.month);
    field("device_type", self.device_type);
    field("jobs", self.jobs);
    field("device_hours", self.device_hours);
    field("idle_device_hours", self.idle_device_hours);
    field("energy_kwh", self.energy_kwh);
    field("unmetered_device_hours", self.unmetered_device_hours);
    field("unwatched_device_hours", self.unwatched_device_hours);
  }
};

struct UsageAnswer {
  static constexpr const char* kSchema = "Usage";
  std::vector<UsageAnswerRow> usage{};

  static void fields(auto& self, auto&& field) { field("usage", self.usage); }
};

}  // namespace assay::jobs
