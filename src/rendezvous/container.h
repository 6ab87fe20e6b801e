#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "plan/plan.h"
#include "rendezvous/ranks.h"

namespace assay::rendezvous {

/// The parts of its node that a rank's container must see.
struct ContainerPlace {
  std::string name;                    ///< unique on the node
  std::filesystem::path node_dir;      ///< the writable evidence folder
  std::filesystem::path programs_dir;  ///< for {bindir}; empty: not needed
  std::string workdir;
  std::string data;
  /// The node's folder of the round's ssh (agent/round_ssh.h); empty: none.
  std::filesystem::path ssh_folder{};
  bool interactive = false;  ///< the contained program reads the command's stdin
};

/// Whether programs in such containers can have the round's ssh: only podman and docker are known
/// to allow adding a program beside the image's own.
[[nodiscard]] bool can_have_ssh(const plan::Container& container);

/// "assay-run20261115T101500Z-3f2a-5c1d-r2-7": run, case (hashed), round, rank.
[[nodiscard]] std::string container_name(const std::string& run_id, const std::string& case_name,
                                         int round, int rank);

/// The command that runs `argv` in the container. Variables named in `env` are passed by name, so
/// that no value appears in a process list. `vendor_options` are for docker and podman. Pure.
/// Throws Error of kind config for a path that the runtime cannot mount.
[[nodiscard]] std::vector<std::string> run_in_container(
    const plan::Container& container, const std::vector<std::string>& vendor_options,
    const ContainerPlace& place, const std::vector<std::string>& argv,
    const std::vector<std::string>& env);

/// The node's folders in that container: path inside → path on the node. Excludes what the runtime
/// mounts itself, and volumes that are not folders of the node. Pure.
[[nodiscard]] std::map<std::string, std::string> mounted_folders(const plan::Container& container,
                                                                 const ContainerPlace& place);

/// The words to put before a command so that it runs in the rank's running container; empty if the
/// runtime cannot do that. "{pid}" stands for the rank's process on the node. The command does not
/// count as part of the round. Pure.
[[nodiscard]] std::vector<std::string> exec_in_container(const plan::Container& container,
                                                         const std::string& name);

/// The command that removes the container in any state; empty if it ends with its process. Pure.
[[nodiscard]] std::vector<std::string> remove_container(const plan::Container& container,
                                                        const std::string& name);

/// The command that prints the image's id on a node; empty if the runtime has none. Pure.
[[nodiscard]] std::vector<std::string> image_query(const plan::Container& container);

/// Commands that make the image available on a node, to be tried in order. The first success ends
/// it; if all fail, the last failure is the reason. Empty: nothing to do. Pure.
[[nodiscard]] std::vector<std::vector<std::string>> image_commands(
    const plan::Container& container);

}  // namespace assay::rendezvous
