#include "unit/launch/cloud/job_machine_test.h"

namespace assay::launch {
namespace {

using namespace std::chrono_literals;
using cloud::JobPhase;
using store::JournalEvent;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// The same for a suite that wants its job stopped when the user asks to end.
class StoppedOnInterrupt : public JobMachineTest {
 protected:
  static JobMachine::Setup stops() {
    JobMachine::Setup with = setup();
    with.service.stop_on_interrupt = true;
    return with;
  }
  StoppedOnInterrupt() : JobMachineTest(stops()) {}
};

TEST_F(JobMachineTest, HasAnAnswerInEveryStateToWhatGoesWrong) {
  const struct Row {
    const char* state;
    Actions (JobMachineTest::*enter)();
    std::string gone;         // the service refuses as it does for what does not exist
    std::string refused;      // … for another reason
    std::string silent;       // the time is over
    std::string interrupted;  // the user asks to end
  } table[] = {
      {"asking before the round", &JobMachineTest::checking,  //
       "find", "throws", "throws", "interrupted"},
      {"finding before the round", &JobMachineTest::finding_whether_gone,  //
       "throws", "throws", "throws", "interrupted"},
      {"finding", &JobMachineTest::finding, "throws", "throws", "throws", "find"},
      {"listing the code", &JobMachineTest::listing, "throws", "throws", "throws", "find"},
      {"uploading", &JobMachineTest::uploading, "throws", "throws", "throws", "find"},
      {"creating", &JobMachineTest::creating, "throws", "throws", "throws", "find"},
      {"asking", &JobMachineTest::following, "find", "throws", "stop", "interrupted"},
      {"finding again", &JobMachineTest::finding_again, "throws", "throws", "stop", "interrupted"},
      {"sizing logs", &JobMachineTest::sizing, "throws", "throws", "stop", "interrupted"},
      {"reading a log", &JobMachineTest::reading, "throws", "throws", "stop", "interrupted"},
      {"pausing", &JobMachineTest::pausing, "throws", "throws", "stop", "interrupted"},
      {"sizing the last logs", &JobMachineTest::settling,  //
       "throws", "throws", "throws", "interrupted"},
      {"fetching", &JobMachineTest::fetching, "throws", "throws", "throws", "interrupted"},
      {"measuring", &JobMachineTest::measuring,  //
       "completed", "completed", "completed", "interrupted"},
      {"stopping", &JobMachineTest::stopping, "timed_out", "timed_out", "timed_out", ""},
      {"asking whether it was stopped", &JobMachineTest::ending,  //
       "timed_out", "timed_out", "timed_out", ""},
      {"leaving", &JobMachineTest::leaving, "interrupted", "interrupted", "interrupted", ""},
  };
  for (const Row& row : table) {
    const auto enter = [&] {
      machine_ = JobMachine(setup());
      (void)(this->*row.enter)();
    };
    const auto fails = [&](const Error& error) {
      enter();
      return summary(machine_.failed(at(200), error));
    };
    for (const int status : {200, 400, 404})
      EXPECT_EQ(fails(refusal(status)), row.gone) << row.state << status;
    for (const int status : {401, 403, 409})
      EXPECT_EQ(fails(refusal(status)), row.refused) << row.state << status;
    EXPECT_EQ(fails(silence()), row.silent) << row.state;
    if (row.interrupted.empty()) continue;  // the wish was heard before
    enter();
    EXPECT_EQ(summary(machine_.interrupted(at(200))), row.interrupted) << row.state;
  }
}

TEST_F(JobMachineTest, MakesAJobAndFollowsItToItsResults) {
  Actions todo = finding();
  EXPECT_THAT(events(todo), ElementsAre(JournalEvent::round_start));
  EXPECT_EQ(todo.journal[0].fields["job"], "n");
  EXPECT_TRUE(todo.save);
  EXPECT_EQ(summary(todo), "find");
  EXPECT_EQ(summary(machine_.found(at(1), {})), "list");
  EXPECT_EQ(summary(machine_.listed("hash", 2, 0)), "upload");
  todo = machine_.uploaded(at(2), "hash", {2, 1, 0, 100});
  EXPECT_THAT(events(todo), ElementsAre(JournalEvent::uploaded));
  EXPECT_EQ(todo.journal[0].fields["sha256"], "hash");
  EXPECT_EQ(summary(todo), "create");
  todo = machine_.created(at(3), job(JobPhase::waiting));
  EXPECT_THAT(events(todo), ElementsAre(JournalEvent::job_created));
  EXPECT_TRUE(todo.save && todo.executed);
  EXPECT_EQ(summary(todo), "ask");
  todo = machine_.told(at(4), job(JobPhase::waiting));
  EXPECT_EQ(todo.waiting, "job n: Phase");
  EXPECT_EQ(summary(todo), "size");
  EXPECT_EQ(summary(logs(4, {})), "pause");
  EXPECT_EQ(summary(machine_.tick(at(5))), "ask");
  todo = look(5, running());
  EXPECT_THAT(events(todo), ElementsAre(JournalEvent::rank_start, JournalEvent::rank_start));
  EXPECT_EQ(todo.progress->started, 2);
  (void)machine_.tick(at(7));
  EXPECT_EQ(summary(look(7, completed(), {{0, 9}, {1, 9}})), "size");
  todo = logs(8, {{0, 9}, {1, 9}});
  EXPECT_THAT(events(todo), ElementsAre(JournalEvent::rank_exit, JournalEvent::rank_exit));
  EXPECT_EQ(summary(todo), "fetch");
  todo = machine_.fetched(2, 3, {});
  EXPECT_THAT(events(todo), ElementsAre(JournalEvent::fetched));
  EXPECT_EQ(todo.journal[0].fields["of"], 3);
  EXPECT_EQ(summary(todo), "measure");
  todo = machine_.measured(97.5);
  EXPECT_THAT(events(todo), ElementsAre(JournalEvent::job_ended));
  EXPECT_EQ(todo.journal[0].fields["device_util_percent"], 97.5);
  EXPECT_EQ(todo.journal[0].fields["duration_ms"], 3000);
  EXPECT_EQ(summary(todo), "completed");
  EXPECT_FALSE(machine_.state().over);
}

TEST_F(JobMachineTest, AsksMoreSeldomUntilSomethingChanges) {
  (void)following();
  std::vector<double> pauses;
  const auto pause_after = [&](JobPhase phase, const Sizes& sizes) {
    pauses.push_back(seconds(look(4, job(phase), sizes).pause));
    (void)machine_.tick(at(4));
  };
  for (int again = 0; again < 9; ++again) pause_after(JobPhase::waiting, {});
  EXPECT_THAT(pauses, ElementsAre(1, 1.5, 2.25, 3.375, 5.0625, 7.59375, 11.390625, 15, 15));
  pauses.clear();
  pause_after(JobPhase::running, {});
  pause_after(JobPhase::running, {});
  pause_after(JobPhase::running, {{0, 9}});
  EXPECT_THAT(pauses, ElementsAre(1, 1.5, 1));
}

TEST_F(JobMachineTest, TheTimeOfTheStartHoldsUntilTheJobIsThere) {
  EXPECT_EQ(finding().end_ns, at(40).mono_ns);
  (void)machine_.found(at(1), {});
  EXPECT_EQ(machine_.listed("hash", 4, 0).end_ns, at(41).mono_ns);
  EXPECT_THAT(error_of(machine_.failed(at(41), silence())),
              HasSubstr("within 41.00 s (cluster.http.start: 40.00 s, and what 4 files of 0 B"));
  EXPECT_EQ(machine_.uploaded(at(2), "hash", {}).end_ns, at(41).mono_ns);
}

TEST_F(JobMachineTest, AQuestionBeforeTheJobHasTheTimeLimitWhereThatIsLess) {
  JobMachine::Setup with = setup();
  with.limits.time = 4s;
  machine_ = JobMachine(with);
  EXPECT_EQ(finding().end_ns, at(4).mono_ns);
  EXPECT_THAT(error_of(machine_.failed(at(4), silence())),
              HasSubstr("within 4.00 s (limits.time)"));
  (void)machine_.found(at(1), {});
  EXPECT_EQ(machine_.listed("hash", 0, 0).end_ns, at(40).mono_ns) << "bytes are no question";
  EXPECT_EQ(machine_.uploaded(at(30), "hash", {}).end_ns, at(34).mono_ns);
}

TEST_F(JobMachineTest, TheServiceMayBeSilentAsLongAsTheJobMayTakeAndTenSeconds) {
  EXPECT_EQ(following().end_ns, at(3 + 50 + 10).mono_ns);
  (void)look(20, job(JobPhase::waiting));
  EXPECT_EQ(machine_.tick(at(21)).end_ns, at(20 + 50 + 10).mono_ns);
  (void)look(30, running());
  EXPECT_EQ(machine_.tick(at(31)).end_ns, at(30 + 100 + 10).mono_ns);
  EXPECT_EQ(look(90, completed()).end_ns, at(90 + 1800 + 10).mono_ns) << "to fetch";
  JobMachine::Setup with = setup();
  with.limits.time = 1h;
  machine_ = JobMachine(with);
  EXPECT_EQ(settling().end_ns, at(4 + 3600 + 10).mono_ns);
}

TEST_F(JobMachineTest, ASilentServiceLosesTheJobOnlyWhenItsTimeIsOver) {
  (void)pausing();
  (void)machine_.tick(at(5));
  EXPECT_EQ(summary(machine_.failed(at(114), silence())), "stop");
  (void)machine_.stopped(at(115));
  const Actions todo = machine_.told(at(116), job(JobPhase::stopped));
  EXPECT_EQ(todo.outcome.status, RoundStatus::timed_out);
  EXPECT_EQ(todo.outcome.reason,
            "job n had more time than limits.time (1 min 40 s), and here does not tell what became "
            "of it: asking did not work: broken");
  EXPECT_TRUE(exit_of(todo, 0).ended_by == EndedBy::time_limit);
  EXPECT_TRUE(machine_.state().over);
}

TEST_F(JobMachineTest, WithdrawsAJobThatDoesNotStart) {
  (void)following();
  EXPECT_EQ(summary(look(4, job(JobPhase::waiting))), "pause");
  (void)machine_.tick(at(54));
  EXPECT_EQ(summary(look(54, job(JobPhase::waiting))), "pause");
  (void)machine_.tick(at(55));
  EXPECT_EQ(summary(look(55, job(JobPhase::waiting))), "stop");
  EXPECT_THAT(events(machine_.stopped(at(55))), ElementsAre(JournalEvent::job_stopped));
  const Actions todo = machine_.told(at(56), job(JobPhase::stopped));
  EXPECT_EQ(todo.outcome.status, RoundStatus::launch_failed);
  EXPECT_EQ(todo.outcome.reason, "job n did not start within 50.00 s (Phase)");
  EXPECT_THAT(todo.outcome.advice, HasSubstr("raise cluster.http.wait"));
  EXPECT_THAT(todo.journal, IsEmpty());  // nothing had started
}

TEST_F(JobMachineTest, AJobThatWasTakenAwayAndWaitsAgainHasItsWholeTime) {
  (void)following();
  (void)look(4, job(JobPhase::waiting));
  (void)machine_.tick(at(50));
  (void)look(50, running());
  (void)machine_.tick(at(60));
  EXPECT_EQ(summary(look(60, job(JobPhase::waiting))), "pause");
  (void)machine_.tick(at(95));
  EXPECT_EQ(summary(look(95, job(JobPhase::waiting))), "pause") << "and writes nothing";
  (void)machine_.tick(at(100));
  EXPECT_EQ(summary(look(100, running())), "pause");
  (void)machine_.tick(at(125));
  EXPECT_EQ(summary(look(125, running(), {{0, 1}})), "pause");
  (void)machine_.tick(at(150));
  EXPECT_EQ(summary(look(150, running(), {{0, 2}})), "pause");
  (void)machine_.tick(at(175));
  EXPECT_EQ(summary(look(175, running(), {{0, 3}})), "pause") << "100 s from 100 on";
}

TEST_F(JobMachineTest, StopsAJobThatRunsTooLong) {
  const Actions todo = stopping();
  EXPECT_EQ(summary(todo), "stop");
  EXPECT_TRUE(todo.insists);
  EXPECT_EQ(todo.end_ns, at(105 + 120).mono_ns);
  const Actions stopped = machine_.stopped(at(106));
  EXPECT_EQ(stopped.journal[0].fields["reason"], "job n ran longer than limits.time (1 min 40 s)");
  EXPECT_EQ(summary(machine_.told(at(107), job(JobPhase::stopping))), "pause");
  EXPECT_EQ(summary(machine_.tick(at(108))), "ask");
  const Actions ended = machine_.told(at(109), job(JobPhase::stopped));
  EXPECT_EQ(summary(ended), "timed_out");
  EXPECT_TRUE(exit_of(ended, 1).ended_by == EndedBy::time_limit);
}

TEST_F(JobMachineTest, StopsAJobWhoseLogsStandStillAndNamesTheShortest) {
  (void)pausing();
  (void)machine_.tick(at(20));
  (void)look(20, running(), {{0, 9}, {1, 5}});
  (void)machine_.tick(at(50));
  EXPECT_EQ(summary(look(50, running(), {{0, 9}, {1, 5}})), "pause");
  (void)machine_.tick(at(51));
  EXPECT_EQ(summary(look(51, running(), {{0, 9}, {1, 5}})), "stop");
  (void)machine_.stopped(at(52));
  const Actions todo = machine_.told(at(53), job(JobPhase::stopped));
  EXPECT_EQ(todo.outcome.reason, "job n wrote nothing for 30.00 s; worker-1 wrote least");
  EXPECT_EQ(todo.outcome.status, RoundStatus::stalled);
  EXPECT_TRUE(exit_of(todo, 0).ended_by == EndedBy::stall);
  EXPECT_FALSE(exit_of(todo, 0).log_bytes) << "of a job that could still write";
}

TEST_F(JobMachineTest, ShowsWhatTheLogsTellOfTheTraining) {
  (void)pausing();
  (void)machine_.tick(at(20));
  (void)machine_.told(at(20), running());
  (void)machine_.log_sizes(at(20), {{0, 100}});
  const Actions todo = machine_.read(at(20), 100, step_line(7, 0.5));
  ASSERT_TRUE(todo.progress);
  EXPECT_EQ(todo.progress->state, "job n: Phase");
  EXPECT_THAT(todo.progress->hosts, ElementsAre("worker-0", "worker-1"));
  EXPECT_EQ(todo.progress->heartbeats.at(0).step_max, 7);
  EXPECT_EQ(todo.progress->heartbeats.at(0).loss, 0.5);
  EXPECT_FALSE(todo.progress->heartbeats.at(1).step_max);
}

// Its log grows, but it steps no more: what it prints does not count.
TEST_F(JobMachineTest, StopsAJobThatPrintsButStepsNoMore) {
  (void)pausing();
  std::uint64_t size = 0;
  const auto look_at = [&](double s, const std::string& text) {
    (void)machine_.tick(at(s));
    (void)machine_.told(at(s), running());
    size += text.size();
    (void)machine_.log_sizes(at(s), {{0, size}});
    return machine_.read(at(s), text.size(), text);
  };
  (void)look_at(20, step_line(1, 1) + step_line(2, 1));
  EXPECT_EQ(summary(look_at(35, "still waiting for worker-1\n")), "pause");
  EXPECT_EQ(summary(look_at(50, "still waiting for worker-1\n")), "pause");
  EXPECT_EQ(summary(look_at(51, "still waiting for worker-1\n")), "stop");
  const Actions told = machine_.stopped(at(52));
  EXPECT_THAT(told.journal.at(0).fields["reason"].get<std::string>(), HasSubstr("limits.stall"));
  const Actions todo = machine_.told(at(53), job(JobPhase::stopped));
  EXPECT_EQ(todo.outcome.status, RoundStatus::stalled);
  EXPECT_EQ(todo.outcome.reason,
            "job n made no step for 30.00 s (limits.stall); worker-0 is at step 2");
  EXPECT_THAT(todo.outcome.culprits, ElementsAre(0));
  EXPECT_TRUE(exit_of(todo, 0).ended_by == EndedBy::stall);
}

TEST_F(JobMachineTest, AJobThatCannotBeStoppedIsNamed) {
  (void)ending();
  EXPECT_EQ(summary(machine_.told(at(224), running())), "pause");
  (void)machine_.tick(at(225));
  const Actions todo = machine_.told(at(225), running());
  EXPECT_EQ(summary(todo), "timed_out");
  EXPECT_THAT(todo.warning, AllOf(HasSubstr("job n (7) may still run"),
                                  HasSubstr("it does not end"), HasSubstr("console")));
}

TEST_F(JobMachineTest, AJobThatWasDeletedIsLost) {
  (void)pausing();
  (void)machine_.tick(at(5));
  (void)machine_.failed(at(5), refusal(404));
  const Actions todo = machine_.found(at(6), {});
  EXPECT_EQ(todo.outcome.status, RoundStatus::lost);
  EXPECT_EQ(todo.outcome.reason, "job n (7) does not exist any more");
  EXPECT_TRUE(exit_of(todo, 0).ended_by == EndedBy::lost);
  EXPECT_TRUE(todo.save && machine_.state().over);
}

TEST_F(JobMachineTest, AJobThatIsListedWasRefusedForAnotherReason) {
  (void)following();
  (void)machine_.failed(at(5), refusal(400));
  EXPECT_EQ(error_of(machine_.found(at(6), running())), "refused");
  EXPECT_TRUE(machine_.goes_on());
}

TEST_F(JobMachineTest, GoesOnWithTheJobOfAnEarlierProcess) {
  JobState left = state("7");
  left.running = true;
  left.created_ns = at(-50).wall_ns;
  const Actions asked = machine_.prepared(at(0), left, true);
  EXPECT_EQ(asked.waiting, "following job n again");
  EXPECT_THAT(asked.journal, IsEmpty());
  EXPECT_EQ(asked.end_ns, at(110).mono_ns);
  const Actions todo = machine_.told(at(1), running());
  EXPECT_THAT(events(todo), ElementsAre(JournalEvent::round_start));
  EXPECT_TRUE(todo.executed);
  EXPECT_EQ(summary(todo), "ask");
  const Actions started = look(2, running());
  ASSERT_EQ(started.journal.size(), 2U) << "its ranks are journaled again";
  EXPECT_EQ(started.journal[0].fields["late_s"], 52) << "since it was created";
  (void)machine_.tick(at(3));
  (void)look(3, completed());
  EXPECT_DOUBLE_EQ(exit_of(logs(4, {}), 0).within_s.value(), 64) << "by two machines' clocks";
}

TEST_F(JobMachineTest, AJobThatWasDeletedWhileNobodyFollowedItIsMadeAnew) {
  (void)finding_whether_gone();
  const Actions todo = machine_.found(at(2), {});
  EXPECT_EQ(summary(todo), "prepare");
  EXPECT_THAT(todo.warning, HasSubstr("does not exist any more; a new one is made"));
  EXPECT_TRUE(todo.save && machine_.state().over);
  JobState next = state();
  next.name = "n-a1";
  EXPECT_EQ(machine_.prepared(at(3), next, false).journal.at(0).fields["job"], "n-a1");
}

TEST_F(JobMachineTest, FindsTheJobThatWasMadeBeforeItsProcessDied) {
  (void)machine_.prepared(at(0), state(), true);
  const Actions todo = machine_.found(at(1), job(JobPhase::waiting));
  EXPECT_EQ(summary(todo), "ask");
  EXPECT_TRUE(todo.save && todo.executed);
  EXPECT_EQ(machine_.state().id, "7");
}

TEST_F(JobMachineTest, CodeThatChangesWhileItIsUploadedMakesNoJob) {
  (void)uploading();
  EXPECT_THAT(error_of(machine_.uploaded(at(2), "other", {})), HasSubstr("the code was changed"));
  EXPECT_EQ(machine_.state().code, "");
}

TEST_F(JobMachineTest, AnAnswerAboutAnotherJobIsAnErrorOfTheService) {
  ServiceJob other = running();
  other.key = "m";
  (void)creating();
  EXPECT_THAT(error_of(machine_.created(at(3), other)), HasSubstr("a job of the key 'm'"));
  EXPECT_EQ(machine_.state().id, "");
  (void)machine_.created(at(3), running());
  EXPECT_THAT(error_of(machine_.told(at(4), other)), HasSubstr("a job of the key 'm'"));
  other.key = "n";
  EXPECT_EQ(summary(machine_.told(at(4), other)), "size");
}

TEST_F(JobMachineTest, AJobThatFailedNamesWhatTheServiceSays) {
  ServiceJob failed = job(JobPhase::failed, 5000);
  failed.message = "instance 1\nended";
  failed.exit_codes = {{1, 7}};
  const Actions todo = settled(failed);
  EXPECT_EQ(todo.outcome.status, RoundStatus::failed);
  EXPECT_THAT(todo.outcome.reason, HasSubstr("job n (7) Phase: instance 1"));
  EXPECT_EQ(exit_of(todo, 1).code, 7);
  EXPECT_TRUE(exit_of(todo, 0).ended_by == EndedBy::stop) << "with the one that failed";
  EXPECT_TRUE(machine_.state().over);
}

TEST_F(JobMachineTest, AJobThatWasTakenOrStoppedFromOutsideIsLost) {
  ServiceJob taken = job(JobPhase::failed, 5000);
  taken.taken = true;
  for (const auto& [ended, advice] : {std::pair(taken, "it was taken away"),
                                      std::pair(job(JobPhase::stopped, 5000), "from outside")}) {
    machine_ = JobMachine(setup());
    const Actions todo = settled(ended);
    EXPECT_EQ(todo.outcome.status, RoundStatus::lost);
    EXPECT_THAT(todo.outcome.advice, HasSubstr(advice));
    EXPECT_TRUE(exit_of(todo, 0).ended_by == EndedBy::lost);
    EXPECT_TRUE(machine_.state().over);
  }
}

TEST_F(JobMachineTest, GoesOnInTheCloudWhenTheUserEnds) {
  (void)pausing();
  const Actions todo = machine_.interrupted(at(5));
  EXPECT_EQ(todo.outcome.status, RoundStatus::interrupted);
  EXPECT_EQ(todo.warning, "job n (7) goes on in the cloud; follow it again with --resume");
  EXPECT_TRUE(machine_.goes_on());
}

TEST_F(JobMachineTest, TheJobThatMayHaveBeenMadeIsLookedForWhenTheUserEnds) {
  const Actions todo = leaving();
  EXPECT_TRUE(todo.insists);
  EXPECT_EQ(todo.end_ns, at(35).mono_ns);
  EXPECT_EQ(machine_.found(at(6), {}).outcome.reason, "before job n was created");
  const Actions found = machine_.found(at(6), running());
  EXPECT_THAT(found.outcome.reason, HasSubstr("goes on in the cloud"));
  EXPECT_TRUE(found.save);
}

TEST_F(JobMachineTest, WhetherItWasMadeIsNotKnownOfASilentService) {
  (void)leaving();
  const Actions todo = machine_.failed(at(35), silence());
  EXPECT_THAT(todo.warning, AllOf(HasSubstr("whether job n was created is not known"),
                                  HasSubstr("--resume looks for it")));
  EXPECT_EQ(todo.outcome.reason, "before job n was created");
}

TEST_F(StoppedOnInterrupt, ItsJobIsStopped) {
  (void)pausing();
  EXPECT_EQ(summary(machine_.interrupted(at(5))), "stop");
  EXPECT_EQ(machine_.stopped(at(5)).journal.at(0).fields["reason"], "the user asked to end");
  const Actions todo = machine_.told(at(6), job(JobPhase::stopped));
  EXPECT_EQ(todo.outcome.status, RoundStatus::interrupted);
  EXPECT_EQ(todo.outcome.reason, "job n was stopped");
  EXPECT_THAT(todo.journal, IsEmpty());
  EXPECT_FALSE(machine_.goes_on());
}

TEST_F(StoppedOnInterrupt, SoIsTheOneThatIsFoundOnlyThen) {
  (void)leaving();
  EXPECT_EQ(summary(machine_.found(at(6), running())), "stop");
}

TEST_F(StoppedOnInterrupt, AJobThatHasEndedIsLeftForResume) {
  (void)settled(completed());
  const Actions todo = machine_.interrupted(at(9));
  EXPECT_EQ(todo.outcome.reason, "job n (7) Phase; its results were not fetched");
  EXPECT_FALSE(machine_.state().over);
}

}  // namespace
}  // namespace assay::launch
