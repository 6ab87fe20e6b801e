#include <cstdio>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "commands/base/byte_progress.h"
#include "commands/base/commands.h"
#include "commands/base/interrupt.h"
#include "commands/base/known_commands.h"
#include "commands/base/terminal.h"
#include "commands/runs/push.h"
#include "core/address.h"
#include "core/error.h"
#include "core/json_access.h"
#include "core/text.h"
#include "http/url.h"
#include "lang/language.h"
#include "push/tester_client.h"
#include "tester/challenges.h"

namespace assay::commands {

namespace {

std::string shown(const Json& value) {
  return value.is_null() ? "nothing" : dump_line(value);
}

void say_refusal(const push::PushOutcome& outcome) {
  tell("Refused: what the run claims does not follow from its evidence\n");
  const auto reasons = outcome.answer.find("reasons");
  if (reasons == outcome.answer.end() || !reasons->is_array()) return;
  int left = 20;
  for (const Json& reason : *reasons) {
    if (left-- == 0) {
      tell(fmt::format("  and {} more\n", reasons->size() - 20));
      break;
    }
    const std::string message = text_at(reason, "message");
    const std::string where = text_at(reason, "case");
    tell(message.empty() ? fmt::format("  {}: claimed {}, the evidence gives {}\n",
                                       lang::name((where.empty() ? "" : printable(where) + ", ") +
                                                  printable(text_at(reason, "metric"))),
                                       printable(shown(member_at(reason, "claimed"))),
                                       printable(shown(member_at(reason, "recomputed"))))
                         : "  " + printable(message) + "\n");
  }
  tell("'assay report RUN' computes the result again from the evidence that is here.\n");
}

void say_comparison(const Json& answer) {
  tell("Challenge answered: " + tester::comparison_text(answer) + "\n");
  for (const Json& text : list_at(answer, "differs"))
    if (text.is_string()) tell("  not as then: " + printable(text.get<std::string>()) + "\n");
}

}  // namespace

int push(const PushRequest& given) {
  push::Tester tester{given.url, push::find_token(given.token_file), given.ca};
  const http::Url url = http::parse_url(given.url, "--to");
  if (url.origin.starts_with("http://") && !is_this_machine(url.host))
    tell_error(fmt::format("assay: warning: {} has no TLS: the token can be read on the way\n",
                           url.origin));
  const Interrupt interrupt;  // an interrupted push can be resumed
  ByteProgress progress("Sent");
  push::PushOptions options;
  options.name = given.name;
  options.ais = given.ais;
  options.test_id = given.test_id;
  options.stop = interrupt.token();
  options.progress = [&](std::uint64_t done, std::uint64_t total) { progress.show(done, total); };
  const push::PushOutcome outcome = push::push_run(given.run, tester, options);
  tell("Test: " + outcome.test_id + "\n");
  const std::string verdict = text_at(outcome.answer, "verdict");
  const Json& relaxed = list_at(outcome.answer, "relaxed");
  if (outcome.accepted)
    tell("Accepted: " + printable(verdict) + (relaxed.empty() ? "" : " under relaxed rules") +
         "\n");
  else
    say_refusal(outcome);
  if (const Json& answer = member_at(outcome.answer, "challenge"); answer.is_object())
    say_comparison(answer);
  tell("Page: " + outcome.page_url + "\n");
  if (!outcome.accepted) return exit_code(ErrorKind::round_failed);
  if (verdict == "INVALID") return exit_code(ErrorKind::invalid);
  return verdict == "VALID" ? 0 : exit_code(ErrorKind::round_failed);
}

void add_tester_options(CLI::App& command, std::string& url, std::string& token_file,
                        std::string& ca) {
  command.add_option("--to", url, "Address of the tester")->required()->type_name("URL");
  command
      .add_option("--token-file", token_file,
                  "File with the token, that only you can read; else ASSAY_TESTER_TOKEN")
      ->type_name("FILE");
  command.add_option("--ca", ca, "Certificate to trust, PEM; else the system's")->type_name("FILE");
}

void add_push(CLI::App& app, Action& action) {
  const auto given = std::make_shared<PushRequest>();
  CLI::App* command = add_known(app, "push");
  command->add_option("run", given->run, "Folder of a run")->required()->type_name("RUN");
  add_tester_options(*command, given->url, given->token_file, given->ca);
  command->add_option("--test", given->test_id, "Id that the tester's operator reserved for it")
      ->type_name("ID");
  command->add_option("--name", given->name, "How the tester's list is to call it")
      ->type_name("NAME");
  command->footer(
      "Examples:\n"
      "  ASSAY_TESTER_TOKEN=assay-… assay push results/latest --to http://127.0.0.1:8480\n"
      "  assay push results/latest --to https://tester:8480 --token-file ~/.assay-token --ca "
      "tester.crt\n"
      "\n"
      "Exit codes: 0 accepted; 6 accepted, but INVALID; 5 refused, or INCOMPLETE; 4 the tester "
      "cannot be reached;\n"
      "3 it does not let us in. A push that was cut off goes on where it was when it is repeated.");
  command->callback([given, &action] { action = [given] { return push(*given); }; });
}

}  // namespace assay::commands
