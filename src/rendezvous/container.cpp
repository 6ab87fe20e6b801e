#include "rendezvous/container.h"

#include <cstdint>

#include <fmt/format.h>

namespace assay::rendezvous {

namespace {

using Words = std::vector<std::string>;

void append(Words& words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
}

Words program(const plan::Container& container) {
  Words words{container.runtime};
  append(words, container.runtime_options);
  return words;
}

// Mounts as "source:target[:ro]"; what the rank needs has the same path inside.
Words mounts(const plan::Container& container, const ContainerPlace& place) {
  Words out{place.node_dir.string() + ":" + place.node_dir.string()};
  if (!place.programs_dir.empty())
    out.push_back(place.programs_dir.string() + ":" + place.programs_dir.string() + ":ro");
  if (place.data.starts_with('/')) out.push_back(place.data + ":" + place.data + ":ro");
  if (!place.workdir.empty()) out.push_back(place.workdir + ":" + place.workdir);
  append(out, container.mounts);
  return out;
}

Words docker_like(const plan::Container& container, const Words& vendor_options,
                  const ContainerPlace& place, const Words& env) {
  Words words = program(container);
  append(words, {"run", "--rm", "--name", place.name, "--network=host"});
  // Ranks of a node share memory with each other, unless a size of their own is asked for.
  words.push_back(container.shm_size.empty() ? "--ipc=host" : "--shm-size=" + container.shm_size);
  if (!container.user.empty()) words.push_back("--user=" + container.user);
  words.emplace_back("--pull=never");  // the image was made available before
  if (!place.workdir.empty()) append(words, {"--workdir", place.workdir});
  for (const std::string& mount : mounts(container, place)) append(words, {"--volume", mount});
  for (const std::string& name : env) append(words, {"--env", name});
  append(words, vendor_options);
  append(words, container.options);
  words.push_back(container.image);
  return words;
}

Words apptainer(const plan::Container& container, const ContainerPlace& place) {
  Words words = program(container);
  words.emplace_back("exec");
  if (!place.workdir.empty()) append(words, {"--pwd", place.workdir});
  for (const std::string& mount : mounts(container, place)) append(words, {"--bind", mount});
  append(words, container.options);
  words.push_back(container.image);
  return words;
}

Words enroot(const plan::Container& container, const ContainerPlace& place, const Words& env) {
  Words words = program(container);
  append(words, {"start", "--rw"});
  for (const std::string& mount : mounts(container, place)) append(words, {"--mount", mount});
  for (const std::string& name : env) append(words, {"--env", name});
  append(words, container.options);
  words.push_back(container.image);
  return words;
}

bool docker_like(const plan::Container& container) {
  return container.runtime == "podman" || container.runtime == "docker";
}

}  // namespace

std::string container_name(const std::string& run_id, const std::string& case_name, int round,
                           int rank) {
  // FNV-1a: a case's name may hold what a container's may not.
  std::uint32_t hash = 2166136261U;
  for (const char c : case_name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return fmt::format("assay-{}-{:08x}-r{}-{}", run_id, hash, round, rank);
}

Words run_in_container(const plan::Container& container, const Words& vendor_options,
                       const ContainerPlace& place, const Words& argv, const Words& env) {
  Words words = docker_like(container)          ? docker_like(container, vendor_options, place, env)
                : container.runtime == "enroot" ? enroot(container, place, env)
                                                : apptainer(container, place);
  append(words, argv);
  return words;
}

Words remove_container(const plan::Container& container, const std::string& name) {
  if (!docker_like(container)) return {};
  Words words = program(container);
  append(words, {"rm", "--force"});
  if (container.runtime == "podman") append(words, {"--time", "0", "--ignore"});
  words.push_back(name);
  return words;
}

std::vector<Words> image_commands(const plan::Container& container) {
  if (!docker_like(container)) return {};
  std::vector<Words> out;
  const auto add = [&](const Words& words) {
    out.push_back(program(container));
    append(out.back(), words);
  };
  if (container.pull != "always") add({"image", "inspect", "--format", " ", container.image});
  if (!container.load.empty())
    add({"load", "--input", container.load});
  else if (container.pull != "never")
    add({"pull", container.image});
  return out;
}

}  // namespace assay::rendezvous
