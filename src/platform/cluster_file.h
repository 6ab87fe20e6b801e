#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "platform/platform.h"

namespace assay::platform {

/// A node that gets nothing new.
struct Drain {
  std::string who{};
  std::string reason{};

  static void fields(auto& self, auto&& field) {
    field.optional("who", self.who);
    field.optional("reason", self.reason);
  }
};

/// What an administrator decided, on the disk.
struct ClusterState {
  Settings settings{};
  std::map<std::string, Drain> drains{};  ///< by node
};

/// A queue that every cluster has.
inline constexpr const char* kDefaultQueue = "default";

/// Settings with the default queue. Throws Error of kind usage for what contradicts itself: names
/// that are none (accounts::check_name) or there twice, weights and quotas below 0, reservations
/// that end before they begin.
[[nodiscard]] Settings checked(Settings settings);

/// Of a new folder, the defaults. Throws Error of kind environment that names the file, for one
/// that cannot be read, is not a regular file (or a link to one), says what contradicts itself or
/// has a key that there is not: an administrator's limits are never dropped in silence.
[[nodiscard]] ClusterState read_cluster_file(const std::filesystem::path& file);
void write_cluster_file(const std::filesystem::path& file, const ClusterState& state);

}  // namespace assay::platform
