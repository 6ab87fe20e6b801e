#pragma once

#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cloud/service_error.h"
#include "launch/cloud/job_machine.h"
#include "store/journal_records.h"

namespace assay::launch {

/// A round on two instances; what an earlier process left is a job "7" of the name "n".
class JobMachineTest : public ::testing::Test {
 public:
  using Actions = JobMachine::Actions;
  using Do = JobMachine::Do;
  using Sizes = std::map<int, std::uint64_t>;

  static JobMachine::Setup setup() {
    JobMachine::Setup setup;
    setup.nodes = 2;
    setup.procs = 4;
    setup.limits.time = std::chrono::seconds(100);
    setup.limits.stall = std::chrono::seconds(30);
    setup.section = "cluster.http";
    setup.started_field = "ran_at";
    setup.service.endpoint = "https://jobs";
    setup.service.start = std::chrono::seconds(40);
    setup.service.wait = std::chrono::seconds(50);
    setup.service.poll = std::chrono::seconds(1);
    return setup;
  }
  explicit JobMachineTest(const JobMachine::Setup& with = setup()) : machine_(with) {}

  /// Of an instance's log.
  static std::string step_line(int step, double loss) {
    return R"([PerfLog] {"event": "STEP_END", "value": {"loss": )" + std::to_string(loss) +
           R"(}, "step": )" + std::to_string(step) + "}\n";
  }

  static JobMachine::Now at(double second) {
    const std::int64_t ns = from_seconds(second).count();
    return {ns, 1'000'000'000'000 + ns, 2'000'000'000'000 + ns};
  }
  static ServiceJob job(cloud::JobPhase phase, std::int64_t started_ms = 0) {
    ServiceJob job;
    job.id = "7";
    job.phase = phase;
    job.phase_text = "Phase";
    job.started_ms = started_ms;
    return job;
  }
  static ServiceJob running() { return job(cloud::JobPhase::running, 5000); }
  static ServiceJob completed() {
    ServiceJob done = job(cloud::JobPhase::completed, 5000);
    done.duration_ms = 3000;
    return done;
  }
  static JobState state(const std::string& id = {}) {
    JobState state;
    state.name = "n";
    state.id = id;
    state.mirrored = {{0, 0}, {1, 0}};
    state.sync_start_ns = at(0).wall_ns;
    return state;
  }
  static Error error() { return {ErrorKind::environment, "broken", "here", "mend it"}; }
  static cloud::ServiceError refusal(int status) {
    return {status, "Code", ErrorKind::environment, "refused", "https://jobs", ""};
  }
  static OutOfTime silence() { return {"asking", error()}; }

  // Ways to a state; each gives the actions of its last event.
  Actions checking() { return machine_.prepared(at(0), state("7"), true); }
  Actions finding_whether_gone() {
    (void)checking();
    return machine_.failed(at(1), refusal(404));
  }
  Actions finding() { return machine_.prepared(at(0), state(), false); }
  Actions listing() {
    (void)finding();
    return machine_.found(at(1), {});
  }
  Actions uploading() {
    (void)listing();
    return machine_.listed("hash", 2, 0);
  }
  Actions creating() {
    (void)uploading();
    return machine_.uploaded(at(2), "hash", {2, 0, 0, 100});
  }
  Actions following() {
    (void)creating();
    return machine_.created(at(3), job(cloud::JobPhase::waiting));
  }
  Actions finding_again() {
    (void)following();
    return machine_.failed(at(4), refusal(404));
  }
  Actions sizing() {
    (void)following();
    return machine_.told(at(4), running());
  }
  Actions reading() {
    (void)sizing();
    return machine_.log_sizes(at(4), {{0, 9}});
  }
  Actions pausing() {
    (void)following();
    return look(4, running());
  }
  Actions settling() {
    (void)following();
    return look(4, completed());
  }
  Actions fetching() { return settled(completed()); }
  Actions measuring() {
    (void)fetching();
    return machine_.fetched(1, 1, {});
  }
  Actions stopping() {
    (void)pausing();
    (void)machine_.tick(at(105));
    return look(105, running());
  }
  Actions ending() {
    (void)stopping();
    return machine_.stopped(at(106));
  }
  Actions leaving() {
    (void)creating();
    return machine_.interrupted(at(5));
  }
  /// The answer to the question, with no logs or those; all of them are handed out.
  Actions look(double second, const ServiceJob& told, const Sizes& sizes = {}) {
    (void)machine_.told(at(second), told);
    return logs(second, sizes);
  }
  Actions logs(double second, const Sizes& sizes) {
    Actions todo = machine_.log_sizes(at(second), sizes);
    while (todo.next == Do::read_log) todo = machine_.read(at(second), todo.piece.size);
    return todo;
  }
  Actions settled(const ServiceJob& ended, const Sizes& sizes = {}) {
    (void)pausing();
    (void)machine_.tick(at(5));
    (void)look(5, ended, sizes);
    return logs(6, sizes);
  }

  static std::vector<store::JournalEvent> events(const Actions& todo) {
    std::vector<store::JournalEvent> out;
    for (const JobMachine::JournalEntry& entry : todo.journal) out.push_back(entry.event);
    return out;
  }
  /// What comes next, or how it ended.
  static std::string summary(const Actions& todo) {
    static const std::map<Do, std::string> kNames{
        {Do::prepare, "prepare"}, {Do::find, "find"},     {Do::list_code, "list"},
        {Do::upload, "upload"},   {Do::create, "create"}, {Do::ask, "ask"},
        {Do::size_logs, "size"},  {Do::read_log, "read"}, {Do::compare, "compare"},
        {Do::pause, "pause"},     {Do::fetch, "fetch"},   {Do::measure, "measure"},
        {Do::stop, "stop"}};
    if (todo.error) return "throws";
    if (todo.next == Do::end) return std::string(to_text(todo.outcome.status));
    return kNames.at(todo.next);
  }
  static std::string error_of(const Actions& todo) {
    return todo.error ? todo.error->message() : "none";
  }
  static store::RankExit exit_of(const Actions& todo, int node) {
    for (const JobMachine::JournalEntry& entry : todo.journal)
      if (entry.event == store::JournalEvent::rank_exit && entry.node == node)
        return fields_from_any<store::RankExit>(entry.fields);
    ADD_FAILURE() << "no end of " << node;
    return {};
  }

  JobMachine machine_;
};

}  // namespace assay::launch
