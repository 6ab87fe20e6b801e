#pragma once

#include <array>
#include <chrono>
#include <string>
#include <vector>

#include "config/mapping.h"
#include "core/enum_names.h"
#include "plan/launchers/launcher_traits.h"

namespace assay::plan {

/// How ssh reaches a host; set for a host or for the whole cluster. Empty or 0: as in the user's
/// ssh_config.
struct SshAccess {
  std::string address;  ///< passed to ssh instead of the host's name; only for a host
  std::string user;
  int port = 0;
  std::string identity;
  std::string jump;

  bool operator==(const SshAccess&) const = default;

  static void fields(auto& self, auto&& field) {
    field.optional("address", self.address);
    field.optional("user", self.user);
    field.optional("port", self.port);
    field.optional("identity", self.identity);
    field.optional("jump", self.jump);
  }
};

/// How large programs reach many hosts.
enum class SshBundles {
  automatic,  ///< a tree, if worthwhile and the hosts' ranks communicate anyway
  tree,       ///< hosts that have them pass them on, through a port that their agents open
  direct,     ///< the controller sends them to each host
};

constexpr auto enum_names(SshBundles) {
  using enum SshBundles;
  return std::to_array<EnumName<SshBundles>>(
      {{automatic, "auto"}, {tree, "tree"}, {direct, "direct"}});
}

/// `cluster.ssh` of a suite. Every argument for ssh's command line has been checked.
struct SshOptions : SshAccess {
  static constexpr const char* kName = "ssh";
  static constexpr const char* kDescription =
      "hosts that OpenSSH reaches; nothing has to be installed there";

  std::string config;       ///< ssh_config to use instead of the user's
  std::string known_hosts;  ///< instead of the user's
  bool accept_new_keys = false;
  bool user_control = false;  ///< the user's own ControlMaster is used
  int connect_timeout_s = 10;
  std::vector<std::string> options{};    ///< further ones, "Name=value"; Assay's take precedence
  std::string cache = "~/.cache/assay";  ///< on the node; {host} is its name

  SshBundles bundles = SshBundles::automatic;

  [[nodiscard]] static const std::vector<std::string>& keys();
  [[nodiscard]] static SshOptions read(const config::Node& node);
  [[nodiscard]] LauncherTraits traits() const { return {}; }
  [[nodiscard]] std::unique_ptr<launch::Launcher> make_launcher(
      const Cluster& cluster, const std::filesystem::path& bindir) const;
  bool operator==(const SshOptions&) const = default;

  static void fields(auto& self, auto&& field) {
    SshAccess::fields(self, field);
    field.optional("config", self.config);
    field.optional("known_hosts", self.known_hosts);
    field.optional("accept_new_keys", self.accept_new_keys);
    field.optional("user_control", self.user_control);
    field.optional("connect_timeout_s", self.connect_timeout_s);
    field.optional("options", self.options);
    field.optional("cache", self.cache);
    field.optional("bundles", self.bundles);
  }
};

/// Reads the keys of SshAccess from `map`, except `address`.
void read_ssh_access(const config::Mapping& map, SshAccess& access);

}  // namespace assay::plan
