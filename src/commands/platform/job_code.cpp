#include "commands/platform/job_code.h"

#include "core/error.h"
#include "core/host.h"
#include "core/subprocess.h"
#include "core/text.h"
#include "launch/agents/launcher.h"
#include "rendezvous/ranks.h"

namespace assay::commands {

namespace {

// A folder may be large and a line slow.
constexpr Nanoseconds kCopyLimit = std::chrono::minutes(30);
constexpr Nanoseconds kRemoveLimit = std::chrono::minutes(1);

std::vector<std::string> on_host(const plan::Plan& plan, const plan::Host& host,
                                 const std::string& command) {
  return launch::make_launcher(plan.cluster, program_folder())->shell_command(host.name, command);
}

// As the ranks of the host find it.
std::string folder_on(const plan::Host& host, const std::string& workdir) {
  plan::CasePlan any;
  any.workdir = workdir;
  return rendezvous::workdir_on(any, host.name);
}

}  // namespace

RemoteCode::RemoteCode(const plan::Plan& plan, const std::filesystem::path& from, std::string to)
    : plan_(plan), to_(std::move(to)) {
  CommandOptions options;
  options.timeout = kCopyLimit;
  for (const plan::Host& host : plan_.cluster.hosts) {
    const std::string folder = shell_quote(folder_on(host, to_));
    // Creates the folder, because somebody else may be waiting in an existing one.
    const std::string unpack = "mkdir -m 700 " + folder + " && exec tar -xf - -C " + folder;
    const std::string pipeline = "tar -C " + shell_quote(from.string()) + " -cf - . | " +
                                 shell_join(on_host(plan_, host, unpack));
    const CommandResult result = run_command({"/bin/sh", "-c", pipeline}, options);
    if (result.ok()) continue;
    remove_remote_code(plan_, to_);
    throw Error(
        ErrorKind::launch,
        "the job's code cannot be brought there: " +
            (result.timed_out ? "it takes too long" : ellipsize(printable(trim(result.err)), 300)),
        "host " + host.name);
  }
}

RemoteCode::~RemoteCode() {
  remove_remote_code(plan_, to_);
}

void remove_remote_code(const plan::Plan& plan, const std::string& folder) {
  if (!folder.starts_with("/tmp/assay-job-")) return;
  CommandOptions options;
  options.timeout = kRemoveLimit;
  for (const plan::Host& host : plan.cluster.hosts) {
    try {
      const std::string remove = "rm -rf -- " + shell_quote(folder_on(host, folder));
      (void)run_command(on_host(plan, host, remove), options);
    } catch (const Error&) {
      // Stays on an unreachable host.
    }
  }
}

}  // namespace assay::commands
