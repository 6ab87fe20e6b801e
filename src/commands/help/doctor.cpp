#include "commands/help/doctor.h"

#include <array>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/round_cgroup.h"
#include "catalog/catalog.h"
#include "commands/base/extras.h"
#include "commands/suites/find_devices.h"
#include "core/error.h"
#include "core/files.h"
#include "core/host.h"
#include "core/subprocess.h"
#include "core/text.h"
#include "core/time.h"
#include "core/version.h"
#include "evidence/key_store.h"
#include "telemetry/rapl.h"
#include "telemetry/resolve.h"

namespace assay::commands {

namespace {

namespace fs = std::filesystem;
using probe::Check;
using probe::Level;

constexpr std::chrono::seconds kAnswerWithin{20};

std::optional<std::string> program(const std::string& name) {
  return telemetry::resolve_program(name);
}

// One of Assay's programs, and what is unavailable without it.
Check own_program(const std::string& name, Level without, const std::string& advice) {
  if (const auto found = program(name)) return {name, Level::pass, *found, {}};
  return {name, without, "not found", advice};
}

CommandOptions answer_soon() {
  CommandOptions options;
  options.timeout = kAnswerWithin;
  return options;
}

std::string first_line(std::string_view text) {
  return printable(trim(text.substr(0, text.find('\n'))));
}

Check libtorch() {
  const auto train = program("assay-train");
  if (!train)
    return {"libtorch", Level::warn,
            "assay-train is not installed, so no built-in training can run",
            "install the package assay-train, or a libtorch and run ./bench.sh"};
  const CommandResult result = run_command({*train, "--version"}, answer_soon());
  // Its own version precedes "libtorch 1.13.0, Gloo".
  const std::size_t second = result.out.find("\nlibtorch ");
  if (result.ok())
    return {
        "libtorch",
        Level::pass,
        first_line(second == std::string::npos ? std::string_view(result.out)
                                               : std::string_view(result.out).substr(second + 10)),
        {}};
  return {"libtorch", Level::warn,
          fmt::format("assay-train does not start: {}", first_line(result.err)),
          "run 'assay-train --version' by hand"};
}

// Advice goes on its own line.
std::string without_advice(const Error& error) {
  return (error.where().empty() ? "" : error.where() + ": ") + error.message();
}

Check configuration(std::optional<catalog::Catalog>& catalog) {
  try {
    catalog = catalog::load_catalog(catalog::find_conf_dirs());
    std::vector<std::string> folders;
    for (const fs::path& folder : catalog->conf_dirs) folders.push_back(folder.string());
    return {"configuration",
            Level::pass,
            fmt::format("{}; {} workloads, {} vendors, {} rules", join(folders, ", "),
                        catalog->workloads.size(), catalog->vendors.size(), catalog->rules.size()),
            {}};
  } catch (const Error& error) {
    return {"configuration", Level::fail, without_advice(error), error.advice()};
  }
}

Check signing_key() {
  try {
    const evidence::KeyStore keys = evidence::KeyStore::of_user();
    if (const auto own = keys.own())
      return {"key", Level::pass, evidence::fingerprint(own->public_key()), {}};
    return {"key", Level::pass, "the first run makes one", {}};
  } catch (const Error& error) {
    return {"key", Level::warn, without_advice(error), error.advice()};
  }
}

DoctorSection installation(std::optional<catalog::Catalog>& catalog) {
  DoctorSection out{"This installation", {}};
  out.checks.push_back({"version", Level::pass, version_string(), {}});
  out.checks.push_back(own_program("assay-agent", Level::fail,
                                   "install Assay as a whole: without its agent nothing is run"));
  out.checks.push_back(
      own_program("assay-micro", Level::warn, "install Assay as a whole for null and matmul"));
  out.checks.push_back(own_program(
      kFullProgram, Level::warn,
      "install Assay as a whole for the other commands, such as compare, history and serve"));
  out.checks.push_back(libtorch());
  out.checks.push_back(configuration(catalog));
  out.checks.push_back(signing_key());
  return out;
}

DoctorSection machine(const fs::path& out_dir) {
  probe::CheckOptions options;
  options.out_dir = out_dir;
  return {"This machine", probe::check_machine(options)};
}

DoctorSection devices(const catalog::Catalog& catalog) {
  DoctorSection out{"Devices", {}};
  for (const plan::DeviceSearch& search : search_devices(catalog, "", true)) {
    const bool usable = search.problem.empty();
    out.checks.push_back({search.devices.vendor, usable ? Level::pass : Level::warn,
                          usable ? search.devices.text() : search.problem, search.advice});
    for (const std::string& note : search.notes)
      out.checks.push_back({search.devices.vendor, Level::warn, note, {}});
  }
  if (out.checks.empty())
    out.checks.push_back(
        {"devices", Level::pass, "none was found: 'assay run' measures the CPU", {}});
  return out;
}

Check processor_energy() {
  telemetry::Rapl rapl("/");
  if (rapl.problem())
    return {"rapl", Level::warn, *rapl.problem(),
            "let the user read /sys/class/powercap/*/energy_uj (docs/telemetry.md)"};
  const std::size_t counters = rapl.sample(mono_now_ns()).size();
  if (counters > 0) return {"rapl", Level::pass, counted(counters, "energy counter"), {}};
  return {"rapl",
          Level::warn,
          "the processor has no energy counters here, as in most virtual machines",
          {}};
}

Check node_power() {
  if (!program("ipmitool"))
    return {"ipmi", Level::warn, "ipmitool is not installed: no power of the whole node",
            "install the package 'ipmitool' on a machine with a BMC"};
  if (::access("/dev/ipmi0", R_OK | W_OK) == 0) return {"ipmi", Level::pass, "/dev/ipmi0", {}};
  return {"ipmi", Level::warn, fmt::format("/dev/ipmi0 cannot be used: {}", std::strerror(errno)),
          "there may be no BMC; else give the user access to the device"};
}

Check control_groups() {
  const agent::CgroupPlace place = agent::cgroup_place();
  if (place.problem.empty() && !place.mount.empty())
    return {
        "cgroup", Level::pass, fmt::format("groups can be made in {}", place.folder.string()), {}};
  return {"cgroup", Level::warn,
          place.mount.empty() ? "there are no control groups of version 2" : place.problem,
          "processes of a round are still found by session, parent and environment"};
}

Check page_caches() {
  if (::access("/proc/sys/vm/drop_caches", W_OK) == 0)
    return {"page-caches", Level::pass, "can be dropped before a round", {}};
  return {"page-caches", Level::warn, "cannot be dropped before a round",
          "run as root, or allow it by a sudo rule (docs/clusters.md)"};
}

Check loopback_port() {
  const UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (socket.get() >= 0 &&
      ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0 &&
      ::listen(socket.get(), 1) == 0)
    return {"ports", Level::pass, "a port of 127.0.0.1 can be opened", {}};
  return {"ports", Level::fail,
          fmt::format("no port of 127.0.0.1 can be opened: {}", std::strerror(errno)),
          "ranks find each other by one; look at the network of this container"};
}

DoctorSection measuring() {
  return {"What can be measured",
          {processor_energy(), node_power(), control_groups(), page_caches(), loopback_port()}};
}

struct Tool {
  const char* id;
  const char* program;
  const char* without;
  const char* advice;
};

constexpr std::array kTools{
    Tool{"ssh", "ssh", "no rounds on other hosts", "install the package 'openssh-client'"},
    Tool{"slurm", "srun", "no rounds on nodes of Slurm",
         "on a cluster with Slurm, run Assay where srun is"},
    Tool{"podman", "podman", "no rounds in containers of podman",
         "install the package 'podman', or use docker"},
    Tool{"docker", "docker", "no rounds in containers of docker",
         "podman does the same without a daemon"},
    Tool{"tar", "tar", "logs cannot be packed", "install the package 'tar'"},
};

DoctorSection clusters() {
  DoctorSection out{"Clusters and containers", {}};
  for (const Tool& tool : kTools) {
    const auto found = program(tool.program);
    out.checks.push_back(
        found ? Check{tool.id, Level::pass, *found, {}}
              : Check{tool.id, Level::warn,
                      fmt::format("{} is not installed: {}", tool.program, tool.without),
                      tool.advice});
  }
  return out;
}

}  // namespace

std::vector<DoctorSection> examine(const fs::path& out) {
  std::optional<catalog::Catalog> catalog;
  std::vector<DoctorSection> sections{installation(catalog), machine(out)};
  if (catalog) sections.push_back(devices(*catalog));
  sections.push_back(measuring());
  sections.push_back(clusters());
  return sections;
}

}  // namespace assay::commands
