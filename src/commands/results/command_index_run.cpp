#include <memory>
#include <string>

#include "commands/base/commands.h"
#include "commands/base/known_commands.h"
#include "history/run_index.h"

namespace assay::commands {

void add_index_run(CLI::App& app, Action& action) {
  const auto run = std::make_shared<std::string>();
  const auto create = std::make_shared<bool>(false);
  CLI::App* command = add_known(app, "index-run");
  command->add_option("run", *run)->required();
  command->add_flag("--create", *create);
  command->callback([run, create, &action] {
    action = [run, create] {
      history::index_run(*run, *create);
      return 0;
    };
  });
}

}  // namespace assay::commands
