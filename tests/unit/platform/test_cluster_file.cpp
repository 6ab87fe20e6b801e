#include <array>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "error_of.h"
#include "platform/cluster_file.h"
#include "temporary_folder.h"

namespace assay::platform {
namespace {

using ::testing::AllOf;
using testing::error_of;
using ::testing::HasSubstr;
using testing::TemporaryFolder;

TEST(ClusterFile, OfANewFolderHasTheDefaultQueue) {
  const TemporaryFolder folder;
  const ClusterState state = read_cluster_file(folder.path() / "cluster.json");
  ASSERT_EQ(state.settings.queues.size(), 1U);
  EXPECT_EQ(state.settings.queues.front().name, "default");
  EXPECT_TRUE(state.drains.empty());
}

TEST(ClusterFile, KeepsEverythingThatIsWrittenToIt) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "cluster.json";
  ClusterState state;
  state.settings.queues = {
      {.name = "night", .priority = -5, .closed = true, .preempts = false, .approval = true}};
  state.settings.teams = {
      {.name = "vision", .weight = 2.5, .quota = {{"H200", 8}}, .user_quota = {{"H200", 2}}}};
  state.settings.reservations = {
      {.name = "move", .nodes = {"node1"}, .from_ns = 5, .to_ns = 9, .teams = {"vision"}}};
  state.settings.idle = {.warn_s = 600, .stop_s = 1800};
  state.settings = checked(state.settings);
  state.drains["node2"] = {"alice", "a fan is broken"};
  write_cluster_file(file, state);
  const ClusterState read = read_cluster_file(file);
  ASSERT_EQ(read.settings.queues.size(), 2U);
  EXPECT_EQ(read.settings.queues[1].priority, -5);
  EXPECT_TRUE(read.settings.queues[1].closed);
  EXPECT_FALSE(read.settings.queues[1].preempts);
  EXPECT_TRUE(read.settings.queues[1].approval);
  EXPECT_EQ(read.settings.teams.front().weight, 2.5);
  EXPECT_EQ(read.settings.teams.front().quota.at("H200"), 8);
  EXPECT_EQ(read.settings.teams.front().user_quota.at("H200"), 2);
  EXPECT_EQ(read.settings.reservations.front().to_ns, 9);
  EXPECT_EQ(read.settings.idle.stop_s, 1800);
  EXPECT_EQ(read.drains.at("node2").reason, "a fan is broken");
}

// Without its quotas a cluster would be everybody's: a damaged file is not an empty one.
TEST(ClusterFile, ThatIsDamagedIsRefused) {
  const TemporaryFolder folder;
  for (const char* text : {"", "{", "{\"queues\": 5}", "{\"queues\": []}"}) {
    const auto file = folder.write("cluster.json", text);
    EXPECT_NE(error_of([&] { return read_cluster_file(file); }).find("cannot be read"),
              std::string::npos)
        << text;
  }
}

// What a mistyped key was to say would not hold.
TEST(ClusterFile, AKeyThatThereIsNotIsNamedWithItsPlaceAndTheNearestOne) {
  const TemporaryFolder folder;
  const auto problem = [&](const std::string& key, const std::string& value) {
    Json json = {{"queues", Json::array()},
                 {"teams", Json::array()},
                 {"reservations", Json::array()},
                 {"drains", Json::object()}};
    json[key] = parse_json(value, "test");
    const auto file = folder.write("cluster.json", json.dump());
    return error_of([&] { return read_cluster_file(file); });
  };
  const std::string file = (folder.path() / "cluster.json").string();
  for (const auto& [key, value, path, meant] : std::vector<std::array<std::string, 4>>{
           {"queus", "[]", "queus", "queues"},
           {"queues", R"([{"name": "b"}, {"name": "a", "clsed": true}])", "queues[1].clsed",
            "closed"},
           {"retention", R"({"log_days": 90})", "retention.log_days", "logs_days"},
           {"idle", R"({"warn": 5})", "idle.warn", "warn_s"},
           {"drains", R"({"node1": {"whoo": "a"}})", "drains.node1.whoo", "who"}})
    EXPECT_THAT(problem(key, value),
                AllOf(HasSubstr(file), HasSubstr(path), HasSubstr("did you mean '" + meant)));
  EXPECT_EQ(problem("retention", R"({"logs_days": 90})"), "no error");
}

TEST(ClusterFile, NamesAreCheckedAsOverRestAndErrorsNameTheFile) {
  const TemporaryFolder folder;
  for (const char* queues : {R"([{"name": "../a"}])", R"([{"name": "a"}, {"name": "a"}])"}) {
    const auto file =
        folder.write("cluster.json",
                     std::string(R"({"teams": [], "reservations": [], "drains": {}, "queues": )") +
                         queues + "}");
    try {
      (void)read_cluster_file(file);
      ADD_FAILURE() << queues;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::environment);
      EXPECT_EQ(error.where(), file.string());
    }
  }
}

TEST(ClusterFile, WhatIsNoFileIsNotWaitedForAndNotTakenForNone) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "cluster.json";
  const auto problem = [&] { return error_of([&] { return read_cluster_file(file); }); };
  std::filesystem::create_symlink("nowhere", file);
  EXPECT_THAT(problem(), HasSubstr("cannot be read"));
  std::filesystem::remove(file);
  ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);
  EXPECT_THAT(problem(), HasSubstr("not a regular file"));
  std::filesystem::remove(file);
  std::filesystem::create_directory(file);
  EXPECT_THAT(problem(), HasSubstr("not a regular file"));
}

TEST(ClusterFile, SettingsThatContradictThemselvesAreRefused) {
  EXPECT_NE(error_of([] {
              return checked({.queues = {{.name = "a"}, {.name = "a"}}});
            }).find("'a' is there twice"),
            std::string::npos);
  EXPECT_NE(error_of([] { return checked({.queues = {{.name = ""}}}); }).find("no name"),
            std::string::npos);
  EXPECT_NE(
      error_of([] { return checked({.teams = {{.name = "a", .weight = 0}}}); }).find("above 0"),
      std::string::npos);
  EXPECT_NE(error_of([] {
              return checked({.teams = {{.name = "a", .quota = {{"H200", -1}}}}});
            }).find("below 0"),
            std::string::npos);
  EXPECT_NE(error_of([] {
              return checked({.reservations = {{.name = "a", .from_ns = 2, .to_ns = 2}}});
            }).find("before it begins"),
            std::string::npos);
}

}  // namespace
}  // namespace assay::platform
