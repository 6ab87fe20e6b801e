#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catalog/catalog.h"
#include "core/text.h"
#include "jobs/submission.h"
#include "plan/make_plan.h"
#include "rendezvous/environment.h"
#include "rendezvous/ranks.h"

namespace assay::jobs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Submission command_job(const std::string& command = "python3 train.py") {
  Submission submission;
  submission.name = "my job";
  submission.command = command;
  return submission;
}

/// "path: message" of each problem.
std::vector<std::string> lines(const std::vector<Problem>& problems) {
  std::vector<std::string> out;
  for (const Problem& problem : problems) out.push_back(problem.path + ": " + problem.message);
  return out;
}

std::vector<std::string> wrong(const std::string& json) {
  return lines(read_submission(Json::parse(json)).problems);
}

plan::Plan planned(const Submission& submission) {
  const plan::Suite suite = plan::parse_suite(suite_text(submission), "job.yaml");
  return plan::make_plan(suite, catalog::load_catalog({ASSAY_SOURCE_DIR "/conf"}));
}

TEST(Submission, SetsNoVariableThatSaysWhereAProcessIs) {
  Submission job = command_job("train");
  job.procs = 2;
  const plan::Plan plan = planned(job);
  const plan::CasePlan& one = plan.cases.at(0);
  const rendezvous::Placement placement = rendezvous::place(plan, one, {"n1"}, 1);
  auto variables = rendezvous::node_environment(plan, one, placement, 0, "/out");
  variables.merge(rendezvous::rank_environment(plan, one, placement, 0, 1));
  variables["CUDA_VISIBLE_DEVICES"] = "0";
  ASSERT_TRUE(variables.contains("RANK"));
  for (const auto& [name, value] : variables) {
    job.env = {{name, "7"}};
    EXPECT_EQ(problems_of(job).size(), 1U) << name;
  }
}

TEST(Submission, OfACommandIsASuiteWithOneCase) {
  Submission job = command_job("torchrun --nnodes $NODES train.py | tee log && echo 'it''s done'");
  job.nodes = 2;
  job.procs = 8;
  job.launch = Launch::per_node;
  job.env = {{"LR", "1e-4"}, {"ANSWER", "no: \"quoted\" #x\n{\"a\": 1}"}};
  job.time = WrittenDuration{std::chrono::hours(2)};
  ASSERT_THAT(problems_of(job), IsEmpty());
  const plan::Suite suite = plan::parse_suite(suite_text(job), "job.yaml");
  EXPECT_EQ(suite.name, "my job");
  ASSERT_EQ(suite.cases.size(), 1U);
  const plan::SuiteCase& only = suite.cases[0];
  EXPECT_EQ(only.nodes, 2);
  EXPECT_EQ(only.procs, 8);
  EXPECT_EQ(only.model, "my-job");
  EXPECT_EQ(only.launch, "per-node");
  EXPECT_THAT(only.command, ElementsAre("/bin/sh", "-c", job.command));
  EXPECT_EQ(only.env.find("ANSWER")->text(), job.env["ANSWER"]);
  EXPECT_EQ(only.env.find("LR")->text(), "1e-4");
}

TEST(Submission, OfACommandCanBePlanned) {
  Submission job = command_job();
  job.image = "registry.example/torch:2.11";
  job.mounts = {{"/data/sets", "/data", true}};
  job.procs = 2;
  const plan::Plan plan = planned(job);
  ASSERT_EQ(plan.cases.size(), 1U);
  EXPECT_EQ(plan.cases[0].name, "main");
  ASSERT_TRUE(plan.cases[0].container);
  EXPECT_EQ(plan.cases[0].container->image, job.image);
  EXPECT_EQ(plan.cases[0].container->mounts, std::vector<std::string>{"/data/sets:/data:ro"});
  EXPECT_EQ(plan.cases[0].procs, 2);
}

TEST(Submission, WhateverAValidNameOrCommandHoldsTheSuiteSaysTheSame) {
  for (const char* text : {"logs",
                           "..",
                           "plan.json",
                           "null",
                           "yes",
                           "1.10",
                           "- a",
                           "a: b # c",
                           "'",
                           "\"",
                           "\\",
                           "%TAG",
                           "<script>alert(1)</script>",
                           "名字",
                           "naïve 🙂",
                           "&anchor",
                           "*alias",
                           "!!python",
                           "@",
                           "`x`",
                           "{{rank}}",
                           "{rank}",
                           "${i}",
                           "a\\u0041"}) {
    Submission job = command_job(std::string("echo ") + "'" + text + "'; " + text);
    job.name = text;
    ASSERT_THAT(lines(problems_of(job)), IsEmpty()) << text;
    const plan::Suite suite = plan::parse_suite(suite_text(job), "job.yaml");
    EXPECT_EQ(suite.name, text);
    EXPECT_EQ(expand(suite.cases.at(0).command.at(2), {}, "command"), job.command);
    EXPECT_EQ(planned(job).cases.size(), 1U) << text;
  }
}

TEST(Submission, OfASuiteIsThatSuite) {
  Submission job;
  job.name = "acceptance";
  job.suite = "cases: ['null:native:cpu:1:1:1']\n";
  EXPECT_THAT(problems_of(job), IsEmpty());
  EXPECT_EQ(suite_text(job), job.suite);
  job.image = "x";
  job.env = {{"A", "b"}};
  EXPECT_THAT(lines(problems_of(job)),
              ElementsAre("image: a suite says that itself: it goes with a command only",
                          "env: a suite says that itself: it goes with a command only"));
}

TEST(Submission, IsTheSameAfterItWasWrittenAndRead) {
  Submission job = command_job();
  job.nodes = 4;
  job.devices = 8;
  job.device_type = "H200";
  job.launch = Launch::head;
  job.priority = 0;
  job.preemptible = true;
  job.time = WrittenDuration{std::chrono::minutes(90)};
  job.retries = {3, {75, 137}, std::vector<RetryEvent>{}};
  job.env = {{"A", ""}};
  job.image = "x:1";
  job.mounts = {{"/a", "/b", false}};
  job.endpoints = {{EndpointKind::ssh, "", {}}, {EndpointKind::port, "web", 8080}};
  job.after = {4, 2};
  job.array = "0-9%4";
  const ReadSubmission read = read_submission(Json::parse(fields_to_json(job).dump()));
  EXPECT_THAT(lines(read.problems), IsEmpty());
  EXPECT_EQ(read.submission, job);
  EXPECT_EQ(fields_to_json(job).at("time"), "90m");
}

TEST(Submission, ATimeIsADurationOrANumberOfSeconds) {
  EXPECT_EQ(read_submission(Json::parse(R"({"name": "a", "command": "b", "time": 90})"))
                .submission.time->value,
            std::chrono::seconds(90));
  EXPECT_THAT(wrong(R"({"name": "a", "command": "b", "time": "soon"})"),
              ElementsAre("time: expected a duration of 1s to 365d, such as 2h"));
  EXPECT_THAT(wrong(R"({"name": "a", "command": "b", "time": "0s"})"),
              ElementsAre(HasSubstr("time: ")));
  EXPECT_THAT(wrong(R"({"name": "a", "command": "b", "time": -5})"),
              ElementsAre(HasSubstr("time: ")));
}

TEST(Submission, ProblemsNameTheirField) {
  EXPECT_THAT(wrong(R"([])"), ElementsAre(": expected an object"));
  EXPECT_THAT(wrong(R"({"command": "x"})"), ElementsAre(": 'name' is missing"));
  EXPECT_THAT(wrong(R"({"name": "a", "comand": "x"})"),
              ElementsAre("comand: there is no such field (did you mean 'command'?)"));
  EXPECT_THAT(wrong(R"({"name": "a", "command": "x", "retries": {"count": "3"}})"),
              ElementsAre("retries.count: expected a whole number"));
  EXPECT_THAT(wrong(R"({"name": "a", "command": "x", "retries": {"counts": 3}})"),
              ElementsAre("retries.counts: there is no such field (did you mean 'count'?)"));
  EXPECT_THAT(wrong(R"({"name": "a", "command": "x", "mounts": [{"source": "/a", "target": "/b"},
                        {"source": 1, "target": "/c"}]})"),
              ElementsAre("mounts[1].source: expected text"));
  EXPECT_THAT(wrong(R"({"name": "a", "command": "x", "nodes": 0, "procs": 1e9})"),
              ElementsAre("procs: expected a whole number"));
  EXPECT_THAT(wrong(R"({"name": "a", "command": "x", "nodes": 0, "procs": 5000})"),
              ElementsAre("nodes: expected a number from 1 to 100000, not 0",
                          "procs: expected a number from 1 to 4096, not 5000"));
  for (const std::string name :
       {"RANK", "MASTER_ADDR", "HOROVOD_RANK", "HOROVOD_CROSS_SIZE", "HOROVOD_GLOO_RENDEZVOUS_ADDR",
        "RANK_TABLE_FILE", "DEVICE_ID", "RANK_SIZE", "JOB_ID", "DLWS_ROLE_IDX", "VISIBLE_IDS",
        "CUDA_VISIBLE_DEVICES", "OMPI_COMM_WORLD_RANK", "PMI_RANK"})
    EXPECT_THAT(wrong(R"({"name": "a", "command": "x", "env": {")" + name + R"(": "1"}})"),
                ElementsAre("env." + name +
                            ": Assay sets this variable itself: it says where the process is in "
                            "the job"));
  // Settings of the same programs are the user's.
  for (const std::string name : {"HOROVOD_TIMELINE", "HOROVOD_CONTROLLER", "HCCL_CONNECT_TIMEOUT",
                                 "HCCL_WHITELIST_DISABLE", "RANKS", "MY_RANK", "NCCL_DEBUG"})
    EXPECT_THAT(wrong(R"({"name": "a", "command": "x", "env": {")" + name + R"(": "1"}})"),
                ElementsAre());
  EXPECT_THAT(
      wrong(R"({"name": "a", "command": "x", "env": {"A B": "c", "9": "", "ASSAY_X": ""}})"),
      ElementsAre("env.9: not a valid name of a variable: letters, digits and '_', no digit "
                  "first",
                  "env.A B: not a valid name of a variable: letters, digits and '_', no "
                  "digit first",
                  "env.ASSAY_X: Assay sets this variable itself: it says where the process is in "
                  "the job"));
  EXPECT_THAT(
      wrong(R"({"name": "a", "command": "x", "env": {"A": "1"}, "secrets":
               {"A": "a", "B C": "b", "RANK": "c", "D": "../d", "OK": "fine-1"}})"),
      ElementsAre("secrets.A: the job sets this variable already, without the secret",
                  "secrets.B C: not a valid name of a variable: letters, digits and '_', no digit "
                  "first",
                  "secrets.D: not a valid name of a secret: '../d'; expected 1 to 64 letters, "
                  "digits, '.', '-', '_' and '@', not '.' or '-' first",
                  "secrets.RANK: Assay sets this variable itself: it cannot hold a secret"));
  EXPECT_THAT(
      wrong(R"({"name": "a", "command": "x", "image": "i", "mounts": [
                        {"source": "data", "target": "/d"}, {"source": "/a/../..", "target": "/d"},
                        {"source": "/a:b", "target": "/"}]})"),
      ElementsAre("mounts[0].source: not an absolute path: 'data'",
                  "mounts[1].source: a path without '..' is expected, not '/a/../..'",
                  "mounts[1].target: two mounts have the target '/d'",
                  "mounts[2].source: not a path that can be mounted: '/a:b'",
                  "mounts[2].target: the container's whole file system cannot be replaced"));
  EXPECT_THAT(wrong(R"({"name": "a", "command": "x", "endpoints": [{"kind": "ssh"}, {"kind": "ssh"},
                        {"kind": "port", "name": "web", "port": 0}, {"kind": "telnet"}]})"),
              ElementsAre("endpoints[3].kind: expected ssh, jupyter, tensorboard, vscode or port"));
  EXPECT_THAT(wrong(R"({"name": "a", "command": "x", "endpoints": [{"kind": "ssh"}, {"kind": "ssh"},
                        {"kind": "port", "name": "web", "port": 0}]})"),
              ElementsAre("endpoints[1]: two endpoints are called 'ssh'",
                          "endpoints[2].port: expected a port from 1 to 65535"));
  EXPECT_THAT(wrong(R"({"name": "a", "command": "x", "after": [3, 0, 3], "array": "9-0"})"),
              ElementsAre("after[1]: not the number of a job: 0", "after[2]: job 3 is named twice",
                          HasSubstr("array: not a valid array: '9-0'")));
  EXPECT_THAT(wrong(R"({"name": "a", "command": "x", "suite": "cases: []"})"),
              ElementsAre("suite: a job has a suite or a command, not both"));
  EXPECT_THAT(wrong(R"({"name": "a", "command": "x", "queue": "night@lab"})"), ElementsAre())
      << "as a queue may be called";
  EXPECT_THAT(
      wrong(R"({"name": "a", "command": "x", "queue": ".x"})"),
      ElementsAre("queue: not a valid name of a queue: '.x'; expected 1 to 64 letters, digits, "
                  "'.', '-', '_' and '@', not '.' or '-' first"));
  EXPECT_THAT(wrong(R"({"name": "a", "command": "x", "time": "99999999h"})"),
              ElementsAre("time: expected a duration of 1s to 365d, such as 2h"));
  EXPECT_THAT(wrong(R"({"name": "a"})"), ElementsAre("command: a job needs a suite or a command"));
  EXPECT_THAT(wrong(R"({"name": "a", "command": " \n"})"),
              ElementsAre("command: the command is empty"));
}

TEST(Submission, HostileNamesAreRefused) {
  for (const std::string& name :
       {std::string(), std::string(" a"), std::string("a\nb"), std::string("a\x1b[31m"),
        std::string("a\0b", 3), std::string("abc\u202Etxt.exe"), std::string("a\u200Bb"),
        std::string("\u2066x"), std::string("a\xff"), std::string("a\u0085b"),
        std::string("a\U000E0041"), std::string(10'000, 'a'), std::string(101, 'a')}) {
    Submission job = command_job();
    job.name = name;
    const auto problems = problems_of(job);
    ASSERT_EQ(problems.size(), 1U) << name;
    EXPECT_EQ(problems[0].path, "name");
    EXPECT_LT(problems[0].message.size(), 300U);
  }
}

TEST(Submission, HugeAndBrokenTextIsRefused) {
  Submission job = command_job(std::string(65 << 10, 'x'));
  EXPECT_THAT(lines(problems_of(job)), ElementsAre("command: a command has at most 64 KiB"));
  job = command_job("a\xc3");
  EXPECT_THAT(lines(problems_of(job)), ElementsAre("command: a command is UTF-8 text"));
  job = command_job(std::string("a\0b", 3));
  EXPECT_THAT(lines(problems_of(job)), ElementsAre("command: a command is UTF-8 text"));
  job = command_job();
  for (int i = 0; i < 1001; ++i) job.env["V" + std::to_string(i)] = "x";
  EXPECT_THAT(lines(problems_of(job)), ElementsAre("env: at most 1000 are allowed, not 1001"));
}

TEST(Submission, NeverThrowsWhateverIsSent) {
  for (const char* text :
       {"null", "3", "\"x\"", "[[]]", R"({"name": {}})", R"({"mounts": [1, [], {}]})",
        R"({"env": {"a": 1}})", R"({"retries": []})", R"({"after": [1.5]})",
        R"({"nodes": 99999999999999999999})", R"({"": ""})",
        R"({"name": "a", "command": "b", "retries": null})"}) {
    EXPECT_THAT(wrong(text), testing::Not(IsEmpty())) << text;
  }
}

TEST(Submission, ACommandEndsAtItsSleepAndMayBeKeptOpen) {
  Submission job = command_job("python train.py && sleep infinity");
  EXPECT_NE(suite_text(job).find("\"ASSAY_KEEP_OPEN\": \"0s\""), std::string::npos);
  job.env["ASSAY_KEEP_OPEN"] = "30m";
  EXPECT_NE(suite_text(job).find("\"ASSAY_KEEP_OPEN\": \"30m\""), std::string::npos);
  EXPECT_TRUE(problems_of(job).empty());
  for (const char* wrong : {"8d", "soon", ""}) {
    job.env["ASSAY_KEEP_OPEN"] = wrong;
    ASSERT_EQ(problems_of(job).size(), 1U) << wrong;
    EXPECT_EQ(problems_of(job)[0].path, "env.ASSAY_KEEP_OPEN");
  }
}

}  // namespace
}  // namespace assay::jobs
