#include "launch/hook_runner.h"

#include <fmt/format.h>

#include "core/files.h"
#include "core/process_tree.h"
#include "core/run_layout.h"
#include "core/text.h"
#include "core/time.h"
#include "plan/dependencies.h"
#include "store/open_rounds.h"

namespace assay::launch {

using plan::Hook;
using plan::HookTime;

namespace {

struct Owner {
  std::string case_name;
  bool last = false;  // the last of the hooks after it
};

// Whose hook a folder is.
std::map<std::string, Owner> owners_of(const plan::Plan& plan) {
  std::map<std::string, Owner> out;
  const auto add = [&](const std::vector<Hook>& hooks, const std::string& case_name) {
    std::string last;
    for (const Hook& hook : hooks) {
      const std::string folder = plan::hook_folder(hook, case_name);
      out[folder] = {case_name, false};
      if (hook.when == HookTime::after) last = folder;
    }
    if (!last.empty()) out[last].last = true;
  };
  add(plan.hooks, "");
  for (const plan::CasePlan& plan_case : plan.cases) add(plan_case.hooks, plan_case.name);
  return out;
}

}  // namespace

HookRunner::HookRunner(const BackendContext& context, Rounds rounds,
                       const std::vector<Json>& events)
    : context_(context), rounds_(std::move(rounds)) {
  const std::map<std::string, Owner> owners = owners_of(context_.run.plan());
  for (const Json& event : events) {
    const auto kind = store::event_of(event);
    const auto [name, number] = store::round_of(event);
    const auto owner = owners.find(name);
    if (kind == store::JournalEvent::round_start) {
      if (owner == owners.end()) {
        round_started(name);
      } else {
        runs_[name] = std::max(runs_[name], number);
        owed_.insert(owner->second.case_name);
      }
    }
    if (kind != store::JournalEvent::round_end || owner == owners.end() || !owner->second.last)
      continue;
    const auto status = fields_from_any<store::RoundEnd>(event).status.value;
    if (status && is_result(*status)) owed_.erase(owner->second.case_name);
  }
  // What is left of hooks whose controller was killed.
  for (const store::OpenRound& round : store::open_rounds(events))
    if (round.hook) sweep_round(round.id);
}

void HookRunner::round_started(const std::string& case_name) {
  owed_.insert(case_name);
  owed_.insert("");
}

void HookRunner::interrupt(int times) {
  interrupted_ = true;
  if (current_ != nullptr) current_->interrupt(times);
}

asio::awaitable<RoundOutcome> HookRunner::run_here(const Hook& hook, const std::string& case_name,
                                                   int number) {
  const std::string folder = plan::hook_folder(hook, case_name);
  const std::filesystem::path path = context_.run.round_dir(folder, number);
  make_directories(path);
  const std::string id =
      fmt::format("{}/{}/{}/{:x}", context_.run.plan().run_id, folder, number, mono_now_ns());
  Json start = fields_to_json(store::RoundName{folder, number});
  start.update(fields_to_json(
      store::RoundStart{.hook = hook.name, .command = hook.command, .processes = id}));
  context_.journal.append(store::JournalEvent::round_start, start);
  std::map<std::string, std::string> env{{"ASSAY_CASE", case_name},
                                         {"ASSAY_RUN_DIR", context_.run.path().string()}};
  ControllerHook command(hook, id, std::move(env), path / layout::kHookLog);
  current_ = &command;
  RoundOutcome outcome;
  std::exception_ptr failure;
  try {
    outcome = co_await command.run();
  } catch (const SpawnError& error) {
    outcome = {RoundStatus::failed, error.message()};
  } catch (...) {
    failure = std::current_exception();
  }
  current_ = nullptr;
  if (failure) std::rethrow_exception(failure);
  co_await rounds_.end(folder, number, outcome);
  co_return outcome;
}

asio::awaitable<std::optional<std::string>> HookRunner::run(const std::vector<Hook>& hooks,
                                                            HookTime when,
                                                            const std::string& case_name,
                                                            int nodes) {
  std::optional<std::string> failed;
  for (const Hook& hook : hooks) {
    if (hook.when != when || interrupted_) continue;
    const std::string what =
        fmt::format("hook '{}' {} {}", hook.name, to_text(when),
                    case_name.empty() ? std::string("all cases") : "'" + case_name + "'");
    context_.observer.waiting(what);
    const plan::CasePlan on_nodes = plan::hook_case(hook, case_name, nodes);
    const int number = ++runs_[on_nodes.name];
    owed_.insert(case_name);
    RoundOutcome outcome;
    if (hook.on == plan::HookPlace::nodes)
      outcome = co_await rounds_.on_nodes(on_nodes, number);
    else
      outcome = co_await run_here(hook, case_name, number);
    if (outcome.status == RoundStatus::completed || outcome.status == RoundStatus::interrupted)
      continue;
    const std::string reason =
        outcome.reason.empty() ? std::string(to_text(outcome.status)) : outcome.reason;
    context_.observer.warning(printable(what + " failed: " + reason));
    if (hook.required && !failed) failed = fmt::format("the {} failed: {}", what, reason);
    if (failed && when == HookTime::before) break;
  }
  if (when == HookTime::after && !interrupted_) owed_.erase(case_name);
  co_return failed;
}

}  // namespace assay::launch
