#include "rendezvous/container.h"

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

#include "core/env_names.h"
#include "core/error.h"
#include "core/fnv1a.h"

namespace assay::rendezvous {

namespace {

using Arguments = std::vector<std::string>;

void append(Arguments& arguments, const Arguments& more) {
  arguments.insert(arguments.end(), more.begin(), more.end());
}

Arguments program(const plan::Container& container) {
  Arguments arguments{container.runtime};
  append(arguments, container.runtime_options);
  return arguments;
}

/// A folder needed by the rank has the same path inside.
struct Mount {
  std::string path;
  bool read_only = false;
  std::string target{path};
};

/// An image's PATH, and that of login shells and sudo, has this before the image's own ssh.
constexpr const char* kSshInside = "/usr/local/bin/ssh";

std::string target_of(const std::string& mount) {
  const auto first = mount.find(':');
  const auto second = mount.find(':', first + 1);
  return mount.substr(first + 1, second == std::string::npos ? second : second - first - 1);
}

// A path at which the suite mounts something belongs to the suite; one that is needed twice is
// writable if either use is.
std::vector<Mount> needed(const plan::Container& container, const ContainerPlace& place) {
  std::vector<Mount> out;
  const auto add = [&](const std::string& path, bool read_only) {
    if (!path.starts_with('/') || std::ranges::find(out, path, &Mount::path) != out.end() ||
        std::ranges::find(container.mounts, path, target_of) != container.mounts.end())
      return;
    out.push_back({path, read_only});
  };
  add(place.node_dir.string(), false);
  add(place.workdir, false);
  add(place.programs_dir.string(), true);
  add(place.data, true);
  if (place.ssh_folder.empty()) return out;
  add(place.ssh_folder.string(), true);
  // In a node folder that the suite mounts there, a file would have to be created.
  const bool covered = std::ranges::any_of(container.mounts, [](const std::string& mount) {
    const std::string target = target_of(mount);
    return std::string_view(kSshInside).starts_with(target + "/") || target == kSshInside;
  });
  if (!covered && !place.programs_dir.empty())
    out.push_back({(place.programs_dir / "assay-agent").string(), true, kSshInside});
  return out;
}

// Case names have colons, which `--volume` and `--bind` cannot express; commas and quotes follow
// CSV rules.
std::string as_mount(const Mount& mount, const char* target, const char* read_only) {
  const auto field = [](std::string text) {
    if (text.find_first_of(",\"") == std::string::npos) return text;
    for (auto at = text.find('"'); at != std::string::npos; at = text.find('"', at + 2))
      text.insert(at, 1, '"');
    return "\"" + text + "\"";
  };
  return "type=bind," + field("source=" + mount.path) + "," +
         field(std::string(target) + "=" + mount.target) +
         (mount.read_only ? "," + std::string(read_only) : "");
}

// enroot's mount is an fstab line with colons: its third field must contain all options, including
// the bind mount and creating the mount point.
std::string as_fstab(const std::string& mount) {
  const auto second = mount.find(':', mount.find(':') + 1);
  const std::string options = second == std::string::npos ? "" : "," + mount.substr(second + 1);
  return mount.substr(0, second) + ":x-create=auto,rbind" + options;
}

std::string as_fstab(const Mount& mount) {
  if (mount.path.find(':') != std::string::npos)
    throw Error(ErrorKind::config, "enroot cannot mount a path with a colon", mount.path,
                "give the case a name without one, and the run another place");
  return as_fstab(mount.path + ":" + mount.path + (mount.read_only ? ":ro" : ""));
}

Arguments docker_like(const plan::Container& container, const Arguments& vendor_options,
                      const ContainerPlace& place, const Arguments& env) {
  Arguments arguments = program(container);
  append(arguments, {"run", "--rm", "--name", place.name, "--network=host"});
  if (place.interactive) arguments.emplace_back("--interactive");
  // The ranks of a node share memory, unless a separate size is requested.
  arguments.push_back(container.shm_size.empty() ? "--ipc=host"
                                                 : "--shm-size=" + container.shm_size);
  if (!container.user.empty()) arguments.push_back("--user=" + container.user);
  arguments.emplace_back("--pull=never");  // the image was provided earlier
  if (!place.workdir.empty()) append(arguments, {"--workdir", place.workdir});
  for (const Mount& mount : needed(container, place))
    append(arguments, {"--mount", as_mount(mount, "target", "readonly")});
  for (const std::string& mount : container.mounts) append(arguments, {"--volume", mount});
  for (const std::string& name : env) append(arguments, {"--env", name});
  append(arguments, vendor_options);
  append(arguments, container.options);
  arguments.push_back(container.image);
  return arguments;
}

Arguments apptainer(const plan::Container& container, const ContainerPlace& place) {
  Arguments arguments = program(container);
  arguments.emplace_back("exec");
  if (!place.workdir.empty()) append(arguments, {"--pwd", place.workdir});
  for (const Mount& mount : needed(container, place))
    append(arguments, {"--mount", as_mount(mount, "destination", "ro")});
  for (const std::string& mount : container.mounts) append(arguments, {"--bind", mount});
  append(arguments, container.options);
  arguments.push_back(container.image);
  return arguments;
}

Arguments enroot(const plan::Container& container, const ContainerPlace& place,
                 const Arguments& env) {
  Arguments arguments = program(container);
  append(arguments, {"start", "--rw"});
  for (const Mount& mount : needed(container, place))
    append(arguments, {"--mount", as_fstab(mount)});
  for (const std::string& mount : container.mounts) append(arguments, {"--mount", as_fstab(mount)});
  for (const std::string& name : env) append(arguments, {"--env", name});
  append(arguments, container.options);
  arguments.push_back(container.image);
  return arguments;
}

bool docker_like(const plan::Container& container) {
  return container.runtime == "podman" || container.runtime == "docker";
}

}  // namespace

bool can_have_ssh(const plan::Container& container) {
  return docker_like(container);
}

std::string container_name(const std::string& run_id, const std::string& case_name, int round,
                           int rank) {
  // Hashed, because a case's name may contain what a container's may not.
  return fmt::format("assay-{}-{:08x}-r{}-{}", run_id, fnv1a<std::uint32_t>(case_name), round,
                     rank);
}

Arguments run_in_container(const plan::Container& container, const Arguments& vendor_options,
                           const ContainerPlace& place, const Arguments& argv,
                           const Arguments& env) {
  Arguments arguments = docker_like(container) ? docker_like(container, vendor_options, place, env)
                        : container.runtime == "enroot" ? enroot(container, place, env)
                                                        : apptainer(container, place);
  append(arguments, argv);
  return arguments;
}

std::map<std::string, std::string> mounted_folders(const plan::Container& container,
                                                   const ContainerPlace& place) {
  std::map<std::string, std::string> out;
  for (const Mount& mount : needed(container, place)) out[mount.target] = mount.path;
  for (const std::string& mount : container.mounts)
    if (mount.starts_with('/')) out[target_of(mount)] = mount.substr(0, mount.find(':'));
  return out;
}

Arguments exec_in_container(const plan::Container& container, const std::string& name) {
  Arguments arguments = program(container);
  if (docker_like(container))
    append(arguments, {"exec", "--interactive", "--env", std::string(kRoundVariable) + "=", name});
  else if (container.runtime == "enroot")
    append(arguments, {"exec", "{pid}"});
  else
    return {};
  return arguments;
}

Arguments remove_container(const plan::Container& container, const std::string& name) {
  if (!docker_like(container)) return {};
  Arguments arguments = program(container);
  append(arguments, {"rm", "--force"});
  if (container.runtime == "podman") append(arguments, {"--time", "0", "--ignore"});
  arguments.push_back(name);
  return arguments;
}

std::vector<std::string> image_query(const plan::Container& container) {
  Arguments arguments;
  if (container.runtime == "podman" || container.runtime == "docker") {
    arguments = program(container);
    append(arguments,
           {"image", "inspect", "--format", "{{.Id}} {{.RepoDigests}}", container.image});
  } else if (container.image.starts_with('/')) {  // apptainer, singularity, enroot: a file
    arguments = {"sha256sum", container.image};
  }
  return arguments;
}

std::vector<Arguments> image_commands(const plan::Container& container) {
  if (!docker_like(container)) return {};
  std::vector<Arguments> out;
  const auto add = [&](const Arguments& arguments) {
    out.push_back(program(container));
    append(out.back(), arguments);
  };
  if (container.pull != "always") add({"image", "inspect", "--format", " ", container.image});
  if (!container.load.empty())
    add({"load", "--input", container.load});
  else if (container.pull != "never")
    add({"pull", container.image});
  return out;
}

}  // namespace assay::rendezvous
