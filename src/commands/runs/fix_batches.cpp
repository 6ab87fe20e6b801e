#include "commands/runs/fix_batches.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>

#include "commands/base/terminal.h"
#include "core/error.h"
#include "core/files.h"
#include "core/json_access.h"
#include "core/processors.h"
#include "core/scratch_folder.h"
#include "core/subprocess.h"
#include "core/text.h"
#include "lang/language.h"

namespace assay::commands {

namespace {

constexpr const char* kKey = "batch_size";
constexpr Nanoseconds kSearchTimeout = std::chrono::minutes(2);

bool searches(const plan::Plan& plan, const plan::CasePlan& plan_case) {
  return plan.cluster.traits.one_machine && !plan_case.container &&
         !are_processors(plan_case.hardware) && plan_case.command.size() > 1 &&
         std::filesystem::path(plan_case.command[0]).filename() == "assay-train" &&
         plan_case.config.value(kKey, Json()) == "auto";
}

// FINISHED from an assay-train that was asked for the batch size; null if it did not report one.
Json ask(const plan::CasePlan& plan_case) {
  const ScratchFolder folder("assay-batch");
  const std::string file = folder.path() / "config.json";
  write_file_atomic(file, dump_pretty(plan_case.config));
  CommandOptions options;
  options.timeout = kSearchTimeout;
  const CommandResult result = run_command(
      {plan_case.command[0], plan_case.command[1], "--config", file, "--find-batch"}, options);
  for (const std::string_view line : split(result.out, '\n')) {
    constexpr std::string_view kMark = "[PerfLog] ";
    if (!result.ok() || !line.starts_with(kMark)) continue;
    const Json event = parse_json_or_null(std::string(line.substr(kMark.size())));
    if (event.is_object() && text_at(event, "event") == "FINISHED") return event["value"];
  }
  return {};
}

}  // namespace

void fix_batches(plan::Plan& plan) {
  for (plan::CasePlan& plan_case : plan.cases) {
    if (!searches(plan, plan_case)) continue;
    tell_error(fmt::format("{}: looking for the batch size that is best here\n",
                           lang::name(plan_case.name)));
    const Json found = ask(plan_case);
    const Json size = found.is_object() ? found.value(kKey, Json()) : Json();
    if (!size.is_number_integer() || size <= 0) {
      tell_error(fmt::format("{}: it was not found; every round looks for it\n",
                             lang::name(plan_case.name)));
      continue;
    }
    tell_error(fmt::format("{}: {} ({})\n", lang::name(plan_case.name), size.get<std::int64_t>(),
                           printable(text_at(found, "why"))));
    plan_case.config[kKey] = size;
    plan_case.config_origin[kKey] = "auto, found on this machine: " + text_at(found, "why");
  }
  std::fflush(stderr);
}

}  // namespace assay::commands
