#include <fmt/format.h>

#include "commands/base/commands.h"
#include "core/version.h"

namespace assay::commands {

void add_version(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("version", "Print version, revision and build");
  command->footer("");
  command->callback([&action] {
    action = [] {
      const BuildInfo& build = build_info();
      fmt::print("assay {}\nrevision {}{}\nbuilt with {} ({})\n", build.version, build.revision,
                 build.dirty ? " with uncommitted changes" : "", build.compiler, build.build_type);
      return 0;
    };
  });
}

}  // namespace assay::commands
