#pragma once

#include <functional>

#include <CLI/CLI.hpp>

namespace assay::app {

/// Set by the subcommand that was chosen; gives the exit code. Errors are thrown.
using Action = std::function<int()>;

// Each adds one subcommand with its options, help and examples.
void add_run(CLI::App& app, Action& action);
void add_ais(CLI::App& app, Action& action);
void add_check(CLI::App& app, Action& action);
void add_list(CLI::App& app, Action& action);
void add_import(CLI::App& app, Action& action);
void add_ranktable(CLI::App& app, Action& action);
void add_hostfile(CLI::App& app, Action& action);
void add_prometheus(CLI::App& app, Action& action);
void add_report(CLI::App& app, Action& action);
void add_compare(CLI::App& app, Action& action);
void add_history(CLI::App& app, Action& action);
void add_find(CLI::App& app, Action& action);
void add_tag(CLI::App& app, Action& action);
void add_note(CLI::App& app, Action& action);
void add_rm(CLI::App& app, Action& action);
void add_baseline(CLI::App& app, Action& action);
void add_pack(CLI::App& app, Action& action);
void add_unpack(CLI::App& app, Action& action);
void add_top(CLI::App& app, Action& action);
void add_stop(CLI::App& app, Action& action);
void add_logs(CLI::App& app, Action& action);
void add_push(CLI::App& app, Action& action);
void add_challenge(CLI::App& app, Action& action);
void add_serve(CLI::App& app, Action& action);
/// What an operator does with a tester's folder: 'assay serve list', 'verify', 'backup' …
void add_tester_admin(CLI::App& serve, Action& action);
void add_serve_users(CLI::App& serve, Action& action);
/// Hidden: the process in which `assay serve` judges.
void add_judge_evidence(CLI::App& app, Action& action);
/// Hidden: the process that runs a job of `assay serve`.
void add_job_controller(CLI::App& app, Action& action);
void add_key(CLI::App& app, Action& action);
// Clients of the platform ('assay serve').
void add_submit(CLI::App& app, Action& action);
void add_jobs(CLI::App& app, Action& action);
void add_job(CLI::App& app, Action& action);
/// 'assay cancel', 'pause' and 'resume'.
void add_job_deeds(CLI::App& app, Action& action);
void add_queue(CLI::App& app, Action& action);
void add_nodes(CLI::App& app, Action& action);
void add_usage(CLI::App& app, Action& action);
void add_login(CLI::App& app, Action& action);
void add_version(CLI::App& app, Action& action);
#define ASSAY_COMMAND(name) void add_##name(CLI::App& app, Action& action);
#include "command_list.inc"
#undef ASSAY_COMMAND

}  // namespace assay::app
