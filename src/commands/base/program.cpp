#include "commands/base/program.h"

#include <cctype>
#include <cstdio>
#include <exception>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <malloc.h>

#include "commands/base/outcome.h"
#include "commands/base/speak.h"
#include "core/error.h"
#include "core/json_error.h"
#include "core/standard_output.h"
#include "core/text.h"
#include "core/version.h"
#include "lang/language.h"

namespace assay::commands {

namespace {

constexpr const char* kProgramExamples =
    "Examples:\n"
    "  assay run                           benchmark this machine, its devices if it has any\n"
    "  assay run my-suite.yaml --dry-run   show every command, file and environment, run nothing\n"
    "  assay top results/latest            watch a run from another terminal\n"
    "  assay report results/latest         compute the result again from the evidence\n"
    "  assay history                       how cases went over all runs, and what changed\n"
    "  assay push results/latest --to URL  send a run to a tester ('assay serve'), which judges "
    "it\n"
    "  assay submit suite.yaml --follow    have the platform's server run it, and watch\n";

int fail(const Error& error) {
  // Unlike fmt::print it does not throw where standard error cannot be written either.
  (void)std::fputs(fmt::format("assay: {}{}\n", lang::tr("error: "), error_text(error)).c_str(),
                   stderr);
  return exit_code(error.kind());
}

// CLI11's message in the form of all other errors.
Error usage_error(const CLI::App& app, const CLI::ParseError& error) {
  std::string message = error.what();
  if (message.size() > 1 && std::isupper(static_cast<unsigned char>(message[0])) != 0 &&
      std::isupper(static_cast<unsigned char>(message[1])) == 0)
    message[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(message[0])));
  std::string command = "assay";
  const CLI::App* used = &app;
  while (!used->get_subcommands().empty()) {
    used = used->get_subcommands().front();
    command += " " + used->get_name();
  }
  // The parser lists them in reverse.
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr && used->remaining_size() > 0)
    message = message.substr(0, message.find(": ") + 2) + join(used->remaining(), " ");
  return {ErrorKind::usage, printable(message), {}, "see '" + command + " --help'"};
}

int close_output(int code) {
  const auto error = flush_standard_output();
  if (!error) return code;
  const int full = fail(*error);
  return code == 0 ? full : code;
}

// CLI11 reports only that a subcommand is missing.
void require_known_command(const CLI::App& app, int argc, const char* const* argv) {
  std::string path;
  const CLI::App* within = &app;
  for (int i = 1; i < argc && within->get_require_subcommand_min() > 0; ++i) {
    const std::string word = argv[i];
    // The one option of every command.
    if (word == "--lang") ++i;
    if (word.starts_with("--lang")) continue;
    if (word.starts_with('-')) return;
    const CLI::App* known = nullptr;
    std::vector<std::string> names;
    for (const CLI::App* command : within->get_subcommands({})) {
      if (command->check_name(word)) known = command;
      if (!command->get_group().empty())
        names.push_back(command->get_name());  // hidden ones have no name
    }
    const std::string named = path + printable(word);
    if (known == nullptr)
      throw Error(ErrorKind::usage,
                  "there is no command '" + named + "'" + did_you_mean(word, names), {},
                  "commands: " + join(names, ", "));
    path += word + " ";
    within = known;
  }
}

}  // namespace

int run_program(int argc, char** argv, AddCommands add_commands) {
  open_standard_streams();
  // Otherwise every free of a large buffer goes through all small chunks ever freed, which takes a
  // fifth of the time of judging a large run.
  ::mallopt(M_MXFAST, 0);
  CLI::App app{"Assay measures how fast, how accurately and at what energy an AI cluster trains."};
  app.name("assay");
  app.footer("Exit codes:\n" + exit_codes() +
             fmt::format("  {}  a comparison exceeds its bound\n\n", kExceededExit) +
             kProgramExamples);
  app.set_version_flag("--version", [] { return "assay " + version_string(); });
  app.require_subcommand(1);
  app.fallthrough(false);
  Action action;
  add_commands(app, action);
  try {
    choose_language(argc, argv);
    speak(app);
    require_known_command(app, argc, argv);
    app.parse(argc, argv);
    return close_output(action ? action() : 0);
  } catch (const CLI::Success& done) {
    return close_output(app.exit(done));  // --help and --version
  } catch (const CLI::ParseError& error) {
    return fail(usage_error(app, error));
  } catch (const Error& error) {
    return fail(error);
  } catch (const std::system_error& error) {
    // Thrown by fmt::print.
    if (std::ferror(stdout) != 0)
      return fail(
          system_error(ErrorKind::environment, "cannot write", "stdout", error.code().value()));
    return fail({ErrorKind::internal, error.what()});
  } catch (const std::bad_alloc&) {
    return fail({ErrorKind::environment, "out of memory"});
  } catch (const std::exception& error) {
    return fail({ErrorKind::internal,
                 plain_error(error),
                 {},
                 "this is a defect in assay; please report it with the command you used"});
  }
}

}  // namespace assay::commands
