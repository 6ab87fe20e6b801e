#include "commands/full/full_program.h"

#include "commands/help/candidates.h"
#include "commands/runs/push.h"
#include "commands/runs/web_view.h"
#include "push/challenge_request.h"
#include "push/tester_client.h"

namespace assay::commands {

void add_all_commands(CLI::App& app, Action& action) {
#define ASSAY_COMMAND(name) add_##name(app, action);
#define ASSAY_FULL_COMMAND(name) add_##name(app, action);
#include "command_list.inc"
#undef ASSAY_COMMAND
#undef ASSAY_FULL_COMMAND
}

const Extras& all_extras() {
  static constexpr Extras kExtras{
      .show_run = [](const std::filesystem::path& run, std::uint16_t port)
          -> std::unique_ptr<LivePages> { return std::make_unique<WebView>(run, port); },
      .push = push,
      .check_token = [](const std::string& token_file) { (void)push::find_token(token_file); },
      .read_challenge =
          [](const std::string& text, const std::string& token_file, const std::string& ca) {
            return push::read_challenge({text, token_file, ca});
          },
      .print_candidates = print_candidates};
  return kExtras;
}

}  // namespace assay::commands
