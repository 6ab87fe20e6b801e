#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "plan/plan.h"
#include "rendezvous/ranks.h"

namespace assay::rendezvous {

/// The parts of its node that a rank's container has to see.
struct ContainerPlace {
  std::string name;                    ///< unique on the node
  std::filesystem::path node_dir;      ///< the evidence folder, writable
  std::filesystem::path programs_dir;  ///< of {bindir}; empty: not needed
  std::string workdir;
  std::string data;
  /// Of the round's ssh (agent/round_ssh.h), as the node has it; empty: none.
  std::filesystem::path ssh_folder{};
  bool interactive = false;  ///< what runs inside reads the command's stdin
};

/// Whether programs in such containers can have the round's ssh: only of podman and docker is known
/// that a program can be put beside the image's own ones.
[[nodiscard]] bool can_have_ssh(const plan::Container& container);

/// "assay-run20261115T101500Z-3f2a-5c1d-r2-7": run, case (hashed), round, rank.
[[nodiscard]] std::string container_name(const std::string& run_id, const std::string& case_name,
                                         int round, int rank);

/// Pure: the command that runs `argv` in the container. Variables named in `env` are passed on by
/// name, so that no value appears in a process list. `vendor_options` are docker's and podman's.
/// Throws Error of kind config for a path that the runtime cannot mount.
[[nodiscard]] std::vector<std::string> run_in_container(
    const plan::Container& container, const std::vector<std::string>& vendor_options,
    const ContainerPlace& place, const std::vector<std::string>& argv,
    const std::vector<std::string>& env);

/// Pure: what of the node is inside of that container: path inside → path on the node. Without what
/// the runtime mounts by itself, and volumes that are no folders of the node.
[[nodiscard]] std::map<std::string, std::string> mounted_folders(const plan::Container& container,
                                                                 const ContainerPlace& place);

/// Pure: the words before a command that is to be run in the container while its rank runs; empty
/// where the runtime has no such thing. "{pid}" stands for the rank's process on the node. The
/// command does not count as one of the round.
[[nodiscard]] std::vector<std::string> exec_in_container(const plan::Container& container,
                                                         const std::string& name);

/// Pure: the command that removes the container in any state; empty where it ends with its process.
[[nodiscard]] std::vector<std::string> remove_container(const plan::Container& container,
                                                        const std::string& name);

/// Pure: the command that prints the image's id on a node; empty where the runtime has none.
[[nodiscard]] std::vector<std::string> image_query(const plan::Container& container);

/// Pure: commands that make the image available on a node, in order. The first one that succeeds
/// ends it; the last one's failure is the reason. Empty: nothing to do.
[[nodiscard]] std::vector<std::vector<std::string>> image_commands(
    const plan::Container& container);

}  // namespace assay::rendezvous
