#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster_examples.h"
#include "core/regular_file.h"
#include "core/time.h"
#include "error_of.h"
#include "jobs/job_snapshot.h"
#include "jobs/job_store.h"
#include "jobs/scheduler.h"
#include "temporary_folder.h"

namespace assay::jobs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

NewJob new_job(const std::string& name, const std::string& owner = "ann") {
  NewJob job;
  job.submission.name = name;
  job.submission.command = "true";
  job.owner = owner;
  job.team = "vision";
  return job;
}

Event event(EventKind kind, int attempt = 0) {
  Event out;
  out.kind = kind;
  out.attempt = attempt;
  if (kind == EventKind::placed) out.placement = {{"n1", 4}, {"n2", 4}};
  return out;
}

class JobStoreTest : public testing::Test {
 protected:
  JobId submit(const NewJob& job, WallTime now_ns = kSecondNs) {
    return store.submit(job, now_ns).at(0);
  }
  void finish(JobId id, WallTime from_ns, WallTime to_ns) {
    EXPECT_TRUE(store.apply(id, event(EventKind::placed), from_ns).taken);
    EXPECT_TRUE(store.apply(id, event(EventKind::started, 1), from_ns).taken);
    EXPECT_TRUE(store.apply(id, event(EventKind::exited, 1), to_ns).taken);
  }
  std::vector<std::string> names(const JobFilter& filter) {
    std::vector<std::string> out;
    for (const JobRow& row : store.list(filter).rows) out.push_back(row.name);
    return out;
  }

  testing::TemporaryFolder folder;
  JobStore store{folder.path() / "jobs.db"};
};

TEST_F(JobStoreTest, KeepsWhatItIsGivenAcrossProcesses) {
  const JobId id = submit(new_job("first"));
  ASSERT_TRUE(store.apply(id, event(EventKind::placed), 2 * kSecondNs).taken);
  JobStore reopened(folder.path() / "jobs.db");
  const auto job = reopened.find(id);
  ASSERT_TRUE(job);
  EXPECT_EQ(job->submission, new_job("first").submission);
  EXPECT_EQ(job->owner, "ann");
  EXPECT_EQ(job->life.state, State::scheduling);
  EXPECT_EQ(job->life.placement, (Placement{{"n1", 4}, {"n2", 4}}));
  EXPECT_FALSE(reopened.find(id + 1));
}

TEST_F(JobStoreTest, ATimelineHoldsWhatWasTaken) {
  const JobId id = submit(new_job("first"));
  ASSERT_TRUE(store.apply(id, event(EventKind::placed), 2 * kSecondNs).taken);
  EXPECT_FALSE(store.apply(id, event(EventKind::placed), 2 * kSecondNs).taken);
  Event kill = event(EventKind::kill_asked);
  kill.who = "bob";
  ASSERT_TRUE(store.apply(id, kill, 3 * kSecondNs).taken);
  const auto timeline = store.timeline(id);
  ASSERT_THAT(timeline, SizeIs(3));
  EXPECT_EQ(timeline[0].event, EventKind::submitted);
  EXPECT_EQ(timeline[0].who, "ann");
  EXPECT_EQ(timeline[1].words, "placed on 2 nodes");
  EXPECT_EQ(timeline[2].from, State::scheduling);
  EXPECT_EQ(timeline[2].to, State::killing);
  EXPECT_EQ(timeline[2].words, "is being killed by bob");
  EXPECT_EQ(timeline[2].attempt, 1);
}

TEST_F(JobStoreTest, TheSameRequestAgainIsTheSameJob) {
  NewJob job = new_job("once");
  job.request_key = "k1";
  const JobId id = submit(job);
  EXPECT_EQ(submit(job, 5 * kSecondNs), id);
  EXPECT_EQ(store.list({}).total, 1);
  job.owner = "bob";
  EXPECT_NE(submit(job), id) << "a key is its owner's";
  job.submission.command = "false";
  EXPECT_THAT(testing::error_of([&] { return store.submit(job, kSecondNs); }),
              HasSubstr("the key of another one"));
}

TEST_F(JobStoreTest, AnArrayIsOneJobForEachElement) {
  NewJob job = new_job("sweep");
  job.submission.array = "2,5-6%2";
  job.request_key = "k";
  const std::vector<JobId> ids = store.submit(job, kSecondNs);
  ASSERT_THAT(ids, SizeIs(3));
  EXPECT_EQ(store.submit(job, kSecondNs), ids);
  std::vector<int> indices;
  for (const JobId id : ids) {
    const Job element = store.find(id).value();
    EXPECT_EQ(element.array, ids[0]);
    indices.push_back(element.array_index.value());
    EXPECT_EQ(request_of(element, std::chrono::hours(1)).array_limit, 2);
  }
  EXPECT_THAT(indices, ElementsAre(2, 5, 6));
}

// Ten thousand elements: what grows with their square takes minutes.
TEST_F(JobStoreTest, AnArrayOfThousandsIsSubmittedAndReadAtOnce) {
  NewJob job = new_job("array");
  job.submission.array = "0-9999%1";
  const std::int64_t begin_ns = mono_now_ns();
  EXPECT_EQ(store.submit(job, kSecondNs).size(), 10'000U);
  const std::int64_t submitted_ns = mono_now_ns();
  Snapshot snapshot;
  add_jobs(snapshot, store, std::chrono::hours(1), std::chrono::hours(1), kSecondNs);
  EXPECT_EQ(snapshot.queued.size(), 10'000U);
  EXPECT_EQ(snapshot.queued.back().array_limit, 1);
  const std::int64_t read_ns = mono_now_ns();
  snapshot.nodes = {{"node1", "cpu", 4}};
  EXPECT_EQ(decide(snapshot, {}, kSecondNs).starts.size(), 1U);
  const std::int64_t decided_ns = mono_now_ns();
  EXPECT_EQ(store.list({}).total, 10'000);
  RecordProperty("submit_ms", static_cast<int>((submitted_ns - begin_ns) / 1'000'000));
  RecordProperty("read_ms", static_cast<int>((read_ns - submitted_ns) / 1'000'000));
  RecordProperty("decide_ms", static_cast<int>((decided_ns - read_ns) / 1'000'000));
  RecordProperty("list_ms", static_cast<int>((mono_now_ns() - decided_ns) / 1'000'000));
  EXPECT_LT(mono_now_ns() - begin_ns, 20'000'000'000) << "seconds, also on a busy machine";
}

TEST_F(JobStoreTest, ListsSayWhichElementAJobIsAndHowLongItRanInAll) {
  NewJob array = new_job("array");
  array.submission.array = "3-4";
  const std::vector<JobId> ids = store.submit(array, kSecondNs);
  finish(ids[0], 2 * kSecondNs, 5 * kSecondNs);
  const std::vector<JobRow> rows = store.list({.descending = false}).rows;
  ASSERT_THAT(rows, SizeIs(2));
  EXPECT_EQ(rows[0].array_index, 3);
  EXPECT_EQ(rows[0].ran_ns, 3 * kSecondNs);
  EXPECT_EQ(rows[1].array_index, 4);
  EXPECT_EQ(rows[1].ran_ns, 0);
  submit(new_job("single"), 9 * kSecondNs);
  EXPECT_FALSE(store.list({}).rows.at(0).array_index);
}

TEST_F(JobStoreTest, AnEventForAJobThatThereIsNotIsAnError) {
  EXPECT_THAT(testing::error_of([&] { return store.apply(7, event(EventKind::kill_asked), 0); }),
              HasSubstr("there is no job 7"));
}

TEST_F(JobStoreTest, UnfinishedJobsAreThoseThatAreNotOver) {
  const JobId first = submit(new_job("a"));
  const JobId second = submit(new_job("b"));
  finish(first, kSecondNs, 2 * kSecondNs);
  const auto jobs = store.unfinished();
  ASSERT_THAT(jobs, SizeIs(1));
  EXPECT_EQ(jobs[0].id, second);
}

TEST_F(JobStoreTest, ListsAreFilteredSearchedSortedAndPaged) {
  submit(new_job("resnet one"), 1 * kSecondNs);
  submit(new_job("bert", "bob"), 2 * kSecondNs);
  finish(submit(new_job("ResNet two"), 3 * kSecondNs), 4 * kSecondNs, 5 * kSecondNs);
  EXPECT_THAT(names({}), ElementsAre("ResNet two", "bert", "resnet one"));
  JobFilter filter;
  filter.search = "resnet";
  filter.descending = false;
  EXPECT_THAT(names(filter), ElementsAre("resnet one", "ResNet two"));
  filter = {};
  filter.search = "2";
  EXPECT_THAT(names(filter), ElementsAre("bert")) << "by its number";
  filter = {};
  filter.states = {State::finished, State::failed};
  EXPECT_THAT(names(filter), ElementsAre("ResNet two"));
  filter = {};
  filter.owner = "bob";
  EXPECT_THAT(names(filter), ElementsAre("bert"));
  filter = {};
  filter.order = JobOrder::name;
  filter.limit = 1;
  filter.offset = 1;
  EXPECT_THAT(names(filter), ElementsAre("bert"));
  EXPECT_EQ(store.list(filter).total, 3);
  filter.offset = 100;
  EXPECT_THAT(names(filter), IsEmpty());
  for (const JobOrder order : enum_values<JobOrder>()) {
    filter = {};
    filter.order = order;
    EXPECT_THAT(names(filter), SizeIs(3)) << to_text(order);
  }
}

TEST_F(JobStoreTest, ListsAreSortedByHowLongJobsRan) {
  finish(submit(new_job("short")), 90 * kSecondNs, 91 * kSecondNs);
  finish(submit(new_job("long")), 10 * kSecondNs, 60 * kSecondNs);
  submit(new_job("never"));
  const JobId running = submit(new_job("still"));
  (void)store.apply(running, event(EventKind::placed), 80 * kSecondNs);
  (void)store.apply(running, event(EventKind::started, 1), 80 * kSecondNs);
  // A second attempt counts with the first.
  const JobId twice = submit(new_job("twice"));
  (void)store.apply(twice, event(EventKind::placed), 10 * kSecondNs);
  (void)store.apply(twice, event(EventKind::started, 1), 10 * kSecondNs);
  (void)store.apply(twice, event(EventKind::pause_asked), 40 * kSecondNs);
  (void)store.apply(twice, event(EventKind::exited, 1), 40 * kSecondNs);
  JobFilter filter;
  filter.order = JobOrder::ran;
  filter.now_ns = 100 * kSecondNs;
  EXPECT_THAT(names(filter), ElementsAre("long", "twice", "still", "short", "never"));
  filter.now_ns = 200 * kSecondNs;
  EXPECT_THAT(names(filter), ElementsAre("still", "long", "twice", "short", "never"));
}

TEST_F(JobStoreTest, ASearchIsTextAndNothingElse) {
  submit(new_job("100 %"));
  submit(new_job("a_b\\c'; DROP TABLE jobs; --"));
  JobFilter filter;
  filter.search = "%";
  EXPECT_THAT(names(filter), ElementsAre("100 %"));
  filter.search = "_b\\c'; DROP";
  EXPECT_THAT(names(filter), SizeIs(1));
  filter.search = "0_%";
  EXPECT_THAT(names(filter), IsEmpty());
  filter = {};
  filter.owner = "' OR 1 --";
  filter.limit = -5;
  filter.offset = -5;
  EXPECT_THAT(names(filter), IsEmpty());
}

TEST_F(JobStoreTest, AnArrayIsOneRowThatSaysHowItsElementsStand) {
  submit(new_job("before"));
  NewJob sweep = new_job("sweep");
  sweep.submission.array = "0-3";
  const std::vector<JobId> elements = store.submit(sweep, 2 * kSecondNs);
  submit(new_job("after"), 3 * kSecondNs);
  finish(elements[0], 4 * kSecondNs, 5 * kSecondNs);
  EXPECT_TRUE(store.apply(elements[1], event(EventKind::kill_asked), 6 * kSecondNs).taken);
  JobFilter filter;
  filter.arrays_as_one = true;
  EXPECT_THAT(names(filter), ElementsAre("after", "sweep", "before"));
  const JobPage page = store.list(filter);
  EXPECT_EQ(page.total, 3);
  EXPECT_FALSE(page.rows[0].all);
  ASSERT_TRUE(page.rows[1].all);
  const ArrayStanding& all = *page.rows[1].all;
  EXPECT_EQ(page.rows[1].id, elements[0]);
  EXPECT_EQ(all.elements, 4);
  EXPECT_EQ(all.first, elements.front());
  EXPECT_EQ(all.last, elements.back());
  EXPECT_EQ(all.states, (std::map<State, std::int64_t>{
                            {State::finished, 1}, {State::killed, 1}, {State::queued, 2}}));

  // It stays one row where only some of them match, and where its first one is gone.
  filter.states = {State::queued};
  EXPECT_THAT(names(filter), ElementsAre("after", "sweep", "before"));
  EXPECT_EQ(store.list(filter).rows[1].id, elements[2]);
  filter.search = "SWEEP";
  EXPECT_EQ(store.list(filter).total, 1);
  store.remove(elements[0]);
  filter = {};
  filter.arrays_as_one = true;
  EXPECT_EQ(store.list(filter).total, 3);
  EXPECT_EQ(store.list(filter).rows[1].all->elements, 3);
}

TEST_F(JobStoreTest, TheElementsOfAnArrayAreListed) {
  NewJob sweep = new_job("sweep");
  sweep.submission.array = "3,7";
  const std::vector<JobId> ids = store.submit(sweep, kSecondNs);
  submit(new_job("other"));
  JobFilter filter;
  filter.array = ids[0];
  EXPECT_EQ(store.list(filter).total, 2);
  const std::vector<ArrayElement> elements = store.elements(ids[0]);
  ASSERT_THAT(elements, SizeIs(2));
  EXPECT_EQ(elements[1].id, ids[1]);
  EXPECT_EQ(elements[1].index, 7);
  EXPECT_EQ(elements[1].state, State::queued);
  EXPECT_THAT(store.elements(0), IsEmpty());
}

// Above some number of names another way is taken.
TEST_F(JobStoreTest, ASearchFindsManyAndFew) {
  NewJob many = new_job("Many of them");
  many.submission.array = "0-699";
  (void)store.submit(many, kSecondNs);
  submit(new_job("one of MANY"));
  JobFilter filter;
  filter.search = "many";
  EXPECT_EQ(store.list(filter).total, 701);
  EXPECT_THAT(names(filter), SizeIs(50));
  filter.search = "one of m";
  EXPECT_THAT(names(filter), ElementsAre("one of MANY"));
  filter.search = "none of them";
  EXPECT_EQ(store.list(filter).total, 0);
  filter.search = "many";
  filter.arrays_as_one = true;
  EXPECT_EQ(store.list(filter).total, 2);
}

TEST_F(JobStoreTest, FairShareComesFromWhatAttemptsHaveUsed) {
  finish(submit(new_job("a")), 10 * kSecondNs, 20 * kSecondNs);
  const FairShare share = store.fair_share(std::chrono::hours(1), 20 * kSecondNs);
  EXPECT_DOUBLE_EQ(share.usage("vision", "ann", 20 * kSecondNs), 80) << "8 devices for 10 s";
}

TEST_F(JobStoreTest, WhatRunsCountsForTheFairShareToo) {
  const JobId id = submit(new_job("a"));
  EXPECT_TRUE(store.apply(id, event(EventKind::placed), 10 * kSecondNs).taken);
  EXPECT_TRUE(store.apply(id, event(EventKind::started, 1), 10 * kSecondNs).taken);
  Snapshot snapshot;
  add_jobs(snapshot, store, std::chrono::hours(24), std::chrono::hours(1), 20 * kSecondNs);
  EXPECT_DOUBLE_EQ(snapshot.fair_share.usage("vision", "ann", 20 * kSecondNs), 80);
}

TEST_F(JobStoreTest, ADamagedFileIsSaid) {
  submit(new_job("a"));
  database::Database raw(folder.path() / "jobs.db");
  raw.execute("UPDATE details SET life = '{\"state\": \"dancing\"}'");
  EXPECT_THAT(testing::error_of([&] { return store.find(1); }),
              HasSubstr("the database of jobs is damaged"));
  const auto other = folder.write("other.db", "this is not a database, and long enough for a page");
  EXPECT_NE(testing::error_of([&] {
              JobStore broken(other);
              return 0;
            }),
            "no error");
}

TEST_F(JobStoreTest, EveryListenerIsToldOfWhatEnded) {
  store.tell({"http://a", "http://b"});
  const JobId id = submit(new_job("first"));
  finish(id, kSecondNs, 2 * kSecondNs);
  submit(new_job("still queued"));
  JobStore reopened(folder.path() / "jobs.db");
  const std::vector<Notice> notices = reopened.notices("http://a", 10);
  ASSERT_THAT(notices, SizeIs(1));
  EXPECT_EQ(notices[0].job, id);
  EXPECT_EQ(notices[0].owner, "ann");
  EXPECT_EQ(notices[0].state, State::finished);
  EXPECT_EQ(notices[0].name, reopened.find(id)->submission.name);
  EXPECT_EQ(notices[0].cause, Cause::itself);
  reopened.told(notices[0].number);
  EXPECT_THAT(reopened.notices("http://a", 10), IsEmpty());
  EXPECT_THAT(reopened.notices("http://b", 10), SizeIs(1)) << "each is told by itself";
}

TEST_F(JobStoreTest, WhoIsNoListenerAnyMoreLeavesNothingBehind) {
  store.tell({"http://a", "http://b"});
  finish(submit(new_job("first")), kSecondNs, 2 * kSecondNs);
  store.tell({"http://b"});
  store.tell({"http://a", "http://b"});
  EXPECT_THAT(store.notices("http://a", 10), IsEmpty());
  EXPECT_THAT(store.notices("http://b", 10), SizeIs(1));
}

// Steps of the schema are never changed, so that each of them leads here.
class JobStoreOfEarlierSchemas : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(All, JobStoreOfEarlierSchemas, testing::Values(1, 2, 3, 4, 5));

TEST_P(JobStoreOfEarlierSchemas, AreReadAndWritten) {
  const testing::TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "jobs.db";
  database::Database(file).execute(read_regular_file(
      fmt::format("{}/tests/fixtures/jobs/schema-{}.sql", ASSAY_SOURCE_DIR, GetParam())));
  JobStore store(file);
  const auto kept = store.find(1);
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->submission.name, "kept");
  EXPECT_EQ(kept->life.verdict, Verdict::valid);
  const auto use = store.use_of(1, 1);
  ASSERT_TRUE(use);
  EXPECT_EQ(use->devices, 8);
  EXPECT_EQ(use->device_type, "H200");
  EXPECT_THAT(store.submit(new_job("new"), kSecondNs), ElementsAre(2));
}

TEST_F(JobStoreTest, KnowsWhoComesAfterAJobAndHasNotEnded) {
  const JobId first = submit(new_job("first"));
  const JobId other = submit(new_job("other"));
  EXPECT_EQ(store.unfinished_after(first), std::nullopt);
  NewJob later = new_job("later");
  later.submission.after = {first, other};
  const JobId second = submit(later);
  const JobId third = submit(later);
  EXPECT_EQ(store.unfinished_after(first), second);
  EXPECT_EQ(store.unfinished_after(second), std::nullopt);
  finish(second, 2 * kSecondNs, 3 * kSecondNs);
  EXPECT_EQ(store.unfinished_after(first), third);
  finish(third, 2 * kSecondNs, 3 * kSecondNs);
  EXPECT_EQ(store.unfinished_after(other), std::nullopt);
  store.remove(second);
  EXPECT_EQ(store.unfinished_after(first), std::nullopt);
}

// What was idle was watched; of the rest nobody wrote down whether it was.
TEST(JobStoreOfSchema4, SaysWhatWasWatched) {
  const testing::TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "jobs.db";
  database::Database(file).execute(
      read_regular_file(fmt::format("{}/tests/fixtures/jobs/schema-4.sql", ASSAY_SOURCE_DIR)));
  JobStore store(file);
  EXPECT_DOUBLE_EQ(store.use_of(1, 1)->watched_device_s, 80);
  EXPECT_DOUBLE_EQ(store.use_of(1, 2)->watched_device_s, 0);
  AttemptUse measured = *store.use_of(1, 2);
  measured.watched_device_s = 7;
  store.measure(measured);
  EXPECT_DOUBLE_EQ(store.use_of(1, 2)->watched_device_s, 7);
}

// Where all that said so was the submission.
TEST(JobStoreOfSchema3, KnowsWhoComesAfterAJob) {
  const testing::TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "jobs.db";
  database::Database before(file);
  before.execute(
      read_regular_file(fmt::format("{}/tests/fixtures/jobs/schema-3.sql", ASSAY_SOURCE_DIR)));
  for (const int id : {2, 3})
    before.execute(fmt::format(
        "INSERT INTO jobs SELECT {}, name, owner, team, queue, priority, 'queued', devices,"
        " device_type, verdict, submitted_ns, 0, 0, array, array_index, request_key"
        " FROM jobs WHERE id = 1",
        id));
  before.execute(
      R"(INSERT INTO details VALUES (2, '{"name": "x", "command": "true", "after": [7, 1]}',)"
      R"( '{}', ''), (3, 'damaged', '{}', ''))");
  EXPECT_EQ(JobStore(file).unfinished_after(1), 2);
}

TEST_F(JobStoreTest, ADatabaseOfANewerVersionIsRefused) {
  database::Database(folder.path() / "jobs.db").execute("PRAGMA user_version = 99");
  EXPECT_THAT(testing::error_of([&] {
                JobStore newer(folder.path() / "jobs.db");
                return 0;
              }),
              HasSubstr("schema 99"));
}

}  // namespace
}  // namespace assay::jobs
