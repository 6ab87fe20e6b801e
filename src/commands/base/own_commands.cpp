#include "commands/base/known_commands.h"
#include "commands/base/program.h"

namespace assay::commands {

void add_own_commands(CLI::App& app, Action& action) {
#define ASSAY_COMMAND(name) add_##name(app, action);
#define ASSAY_FULL_COMMAND(name) add_known_of(app, action, #name);
#include "command_list.inc"
#undef ASSAY_COMMAND
#undef ASSAY_FULL_COMMAND
}

}  // namespace assay::commands
