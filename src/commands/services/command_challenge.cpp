#include <memory>
#include <string>

#include <fmt/format.h>

#include "commands/base/commands.h"
#include "commands/base/known_commands.h"
#include "commands/base/output_file.h"
#include "commands/runs/push.h"
#include "core/error.h"
#include "core/files.h"
#include "core/json_fields.h"
#include "core/units.h"
#include "push/challenge_request.h"

namespace assay::commands {

namespace {

struct ChallengeRequest {
  std::string test;
  std::string url;
  std::string case_name;
  std::string valid = "24h";
  std::string token_file;
  std::string ca;
  std::string out;
};

int challenge(const ChallengeRequest& given) {
  const auto valid = parse_duration(given.valid);
  if (!valid || *valid < std::chrono::seconds(1))
    throw Error(ErrorKind::usage, "not a valid duration: '" + given.valid + "'", "--valid",
                "for example: --valid 24h");
  const Challenge issued = push::request_challenge(
      {given.url, push::find_token(given.token_file), given.ca}, given.test, given.case_name,
      std::chrono::duration_cast<std::chrono::seconds>(*valid));
  const std::string text = dump_pretty(fields_to_json(issued));
  if (given.out.empty())
    fmt::print("{}", text);
  else
    write_output_file(given.out, text);
  return 0;
}

}  // namespace

void add_challenge(CLI::App& app, Action& action) {
  const auto given = std::make_shared<ChallengeRequest>();
  CLI::App* command = add_known(app, "challenge");
  command->add_option("test", given->test, "Id of an accepted test")->required()->type_name("TEST");
  add_tester_options(*command, given->url, given->token_file, given->ca);
  command
      ->add_option("--case", given->case_name,
                   "The case; else one that takes a seed, by the tester's chance")
      ->type_name("CASE");
  command->add_option("--valid", given->valid, "How long there is time to answer (default: 24h)")
      ->type_name("DURATION");
  command->add_option("--out", given->out, "Write it to this file instead of the terminal")
      ->type_name("FILE");
  command->footer(
      "Examples:\n"
      "  assay challenge 20261115-ab3dE9 --to https://tester:8480 --out challenge.json\n"
      "  assay run suite.yaml --challenge challenge.json --push https://tester:8480\n");
  command->callback([given, &action] { action = [given] { return challenge(*given); }; });
}

}  // namespace assay::commands
