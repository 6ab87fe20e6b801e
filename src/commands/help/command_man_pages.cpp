#include <filesystem>
#include <memory>
#include <string>

#include "commands/base/commands.h"
#include "commands/help/man_pages.h"
#include "core/files.h"

namespace assay::commands {

void add_man_pages(CLI::App& app, Action& action) {
  const auto folder = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("man-pages", "Write manual pages into a folder");
  command->group("");  // for the build
  command->add_option("folder", *folder)->required();
  command->callback([folder, &app, &action] {
    action = [folder, &app] {
      make_directories(*folder);
      for (const auto& [name, text] : man_pages(app))
        write_file_atomic(std::filesystem::path(*folder) / name, text, false);
      return 0;
    };
  });
}

}  // namespace assay::commands
