#include <atomic>
#include <stdexcept>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "core/files.h"
#include "core/time.h"
#include "engine/execution_folder.h"
#include "eventually.h"
#include "rest_world.h"

namespace assay::rest {
namespace {

using testing::eventually;

/// A stream whose reader takes nothing: what follows a log waits for ever.
struct Unread : serve::HttpStream {
  bool write(std::string_view /*bytes*/) override { return !over; }
  [[nodiscard]] std::size_t room() const override { return 0; }
  [[nodiscard]] bool gone() const override { return over; }
  void end() override { over = true; }
  std::atomic<bool> over = false;
};

TEST(OpenStreamsTest, AsksAgainByItself) {
  OpenStreams streams(std::chrono::milliseconds(1));
  const auto stream = std::make_shared<Unread>();
  std::atomic<bool> holds = true;
  std::atomic<int> asked = 0;
  streams.add(stream, streams.take_place("ann"), [&] {
    ++asked;
    return holds.load();
  });
  ASSERT_TRUE(eventually([&] { return asked > 3; }));
  EXPECT_FALSE(stream->over);
  holds = false;
  EXPECT_TRUE(eventually([&] { return stream->over.load(); }));
  EXPECT_TRUE(eventually([&] { return streams.size() == 0; }));
}

TEST(OpenStreamsTest, AsksAtOnceWhereItIsTold) {
  OpenStreams streams(std::chrono::hours(1));
  const auto stream = std::make_shared<Unread>();
  streams.add(stream, streams.take_place("ann"), [] { return false; });
  streams.ask_now();
  EXPECT_TRUE(eventually([&] { return stream->over.load(); }));
}

TEST(OpenStreamsTest, WhatCannotBeAskedIsNotAllowed) {
  OpenStreams streams(std::chrono::milliseconds(1));
  const auto stream = std::make_shared<Unread>();
  streams.add(stream, streams.take_place("ann"),
              []() -> bool { throw std::runtime_error("the disk is gone"); });
  EXPECT_TRUE(eventually([&] { return stream->over.load(); }));
}

TEST(OpenStreamsTest, NobodyTakesThemAll) {
  OpenStreams streams(std::chrono::hours(1));
  std::vector<OpenStreams::Place> places;
  const auto left = std::make_shared<Unread>();
  streams.add(left, streams.take_place("ann"), [] { return true; });
  while (places.size() + 1 < OpenStreams::kMaxOfPerson) places.push_back(streams.take_place("ann"));
  try {
    (void)streams.take_place("ann");
    ADD_FAILURE() << "there is no limit";
  } catch (const serve::Refusal& refusal) {
    EXPECT_EQ(refusal.status, 429);
  }
  EXPECT_NO_THROW((void)streams.take_place("bob"));
  left->over = true;
  EXPECT_NO_THROW((void)streams.take_place("ann")) << "one that is gone makes room";
}

TEST(OpenStreamsTest, APlaceMayOutliveIt) {
  OpenStreams::Place place;
  {
    OpenStreams streams;
    place = streams.take_place("ann");
  }
  place.reset();
}

class StreamsOverRest : public RestWorld {
 protected:
  // A job of ann in vision, with a run.
  jobs::JobId job_with_run() {
    const jobs::JobId id = job_of("ann", "vision");
    const auto attempt = folder_.path() / "jobs" / std::to_string(id) / "attempt-1";
    const auto run = engine::ExecutionFolder(attempt).runs() / "run1";
    std::filesystem::create_directories(run / "main/round1/n1_noderank0");
    write_file_atomic(run / "plan.json", R"({"cluster": {"launcher": "local"}})");
    write_file_atomic(run / "journal.jsonl",
                      R"({"event":"round_start","case":"main","round":1,"wall_ns":1})"
                      "\n");
    return id;
  }
  std::shared_ptr<Unread> open(Asked asked) {
    const auto response = ask(asked);
    EXPECT_EQ(response.status, 200) << asked.path << response.body;
    if (!response.streaming.begin) return nullptr;
    auto stream = std::make_shared<Unread>();
    response.streaming.begin(stream);
    return stream;
  }
  static std::vector<std::string> paths_of(jobs::JobId id) {
    return {"/api/v1/events", fmt::format("/api/v1/jobs/{}/log/stream?attempt=1", id),
            fmt::format("/api/v1/jobs/{}/metrics/stream?attempt=1", id)};
  }
};

TEST_F(StreamsOverRest, EndWithWhatLetThemIn) {
  const jobs::JobId id = job_with_run();
  struct Taken {
    const char* what;
    std::string who;
    Asked how;
  };
  const std::vector<Taken> all{
      {"a token that is revoked",
       "bob",
       {.method = "DELETE", .path = "/api/v1/tokens/test", .as = "bob"}},
      {"somebody who is disabled",
       "vic",
       {.method = "PUT", .path = "/api/v1/users/vic", .as = "root", .body = {{"disabled", true}}}},
      {"a team that is left",
       "ann2",
       {.method = "PUT",
        .path = "/api/v1/teams/vision",
        .as = "root",
        .body = {{"members", {"root", "ann"}}}}},
      {"a role that is less",
       "admin2",
       {.method = "PUT",
        .path = "/api/v1/users/admin2",
        .as = "root",
        .body = {{"role", "viewer"}}}},
      {"somebody who is deleted",
       "admin3",
       {.method = "DELETE", .path = "/api/v1/users/admin3", .as = "root"}}};
  const std::int64_t now_ns = wall_now_ns();
  for (const char* name : {"admin2", "admin3"})
    accounts_.put({.name = name, .role = jobs::Role::admin}, now_ns);
  accounts_.put({.name = "ann2"}, now_ns);
  accounts_.set_members("vision", {"root", "ann", "bob", "vic", "ann2"});
  for (const char* name : {"admin2", "admin3", "ann2"})
    tokens_[name] = accounts_.make_token(name, "test", 0, now_ns);
  const auto stays = open({.path = "/api/v1/events", .as = "root"});
  for (const Taken& one : all) {
    std::vector<std::shared_ptr<Unread>> streams;
    for (const std::string& path : paths_of(id))
      streams.push_back(open({.path = path, .as = one.who}));
    const auto done = ask(one.how);
    ASSERT_LT(done.status, 300) << one.what << done.body;
    for (std::size_t i = 0; i < streams.size(); ++i)
      EXPECT_TRUE(eventually([&] { return streams[i]->over.load(); }))
          << one.what << ": " << paths_of(id)[i];
  }
  EXPECT_FALSE(stays->over);
}

TEST_F(StreamsOverRest, EndWithTheShareOfTheJob) {
  const jobs::JobId id = job_with_run();
  accounts_.share(id, {"eve"});
  const auto log = open({.path = paths_of(id)[1], .as = "eve"});
  const auto events = open({.path = "/api/v1/events", .as = "eve"});
  EXPECT_EQ(ask({.method = "PATCH",
                 .path = fmt::format("/api/v1/jobs/{}", id),
                 .as = "ann",
                 .body = {{"shared_with", Json::array()}}})
                .status,
            200);
  EXPECT_TRUE(eventually([&] { return log->over.load(); }));
  EXPECT_FALSE(events->over) << "that is not about the job";
}

TEST_F(StreamsOverRest, EndWithTheSession) {
  accounts_.set_password("ann", kPassword);
  const auto signed_in = ask({.method = "POST",
                              .path = "/api/v1/session",
                              .body = {{"name", "ann"}, {"password", kPassword}}});
  const std::string set = header(signed_in, "Set-Cookie");
  const std::map<std::string, std::string> headers{
      {"cookie", set.substr(0, set.find(';'))},
      {"x-csrf-token", parse_json(signed_in.body, "session")["csrf"]}};
  const auto mine = open({.path = "/api/v1/events", .headers = headers});
  const auto by_token = open({.path = "/api/v1/events", .as = "ann"});
  EXPECT_EQ(ask({.method = "DELETE", .path = "/api/v1/session", .headers = headers}).status, 200);
  EXPECT_TRUE(eventually([&] { return mine->over.load(); }));
  EXPECT_FALSE(by_token->over);
}

TEST_F(StreamsOverRest, AreLimitedForEachPerson) {
  std::vector<std::shared_ptr<Unread>> streams;
  while (streams.size() < OpenStreams::kMaxOfPerson)
    streams.push_back(open({.path = "/api/v1/events", .as = "vic"}));
  const auto refused = ask({.path = "/api/v1/events", .as = "vic"});
  EXPECT_EQ(refused.status, 429);
  EXPECT_NE(header(refused, "Retry-After"), "");
  EXPECT_THAT(refused.body, ::testing::HasSubstr("streams open"));
  EXPECT_EQ(ask({.path = "/api/v1/jobs", .as = "vic"}).status, 200);
  EXPECT_EQ(ask({.path = "/api/v1/events", .as = "ann"}).status, 200);
}

TEST_F(StreamsOverRest, AnAnswerThatNeverBecameAStreamTakesNoPlace) {
  for (std::size_t i = 0; i < 2 * OpenStreams::kMaxOfPerson; ++i)
    ASSERT_EQ(ask({.method = "HEAD", .path = "/api/v1/events", .as = "vic"}).status, 200);
}

}  // namespace
}  // namespace assay::rest
