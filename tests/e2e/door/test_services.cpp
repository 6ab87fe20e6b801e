// Programs that the platform starts beside a job.

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "core/json_access.h"
#include "core/text.h"
#include "e2e/door/door_test.h"
#include "e2e/ssh_hosts.h"
#include "needs.h"

namespace assay::e2e {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class Services : public DoorTest {};

TEST_F(Services, JupyterShowsTheFolderOfTheJobWithoutAPassword) {
  if (!find_program("jupyter-notebook") && !find_program("jupyter-lab"))
    GTEST_SKIP() << needs::package("jupyter-notebook");
  serve();
  const long id = running("touch checkpoint-1.pt; exec sleep 1000");
  const std::string path = fmt::format("/jobs/{}/endpoints/jupyter", id);
  EXPECT_EQ(parse_json_or_null(api("GET", path).body)["state"], "not_started");
  const Guest guest = open(id, "jupyter");
  EXPECT_EQ(parse_json_or_null(api("GET", path).body)["state"], "open");
  const Reply files = ask(guest.host, "GET", "/api/contents", {{"Cookie", guest.cookie}});
  EXPECT_EQ(files.status, 200) << files.head << files.body;
  EXPECT_THAT(files.body, HasSubstr("checkpoint-1.pt"));
  const Reply page = ask(guest.host, "GET", "/tree", {{"Cookie", guest.cookie}});
  EXPECT_EQ(page.status, 200) << page.head;
  EXPECT_THAT(page.body, Not(HasSubstr("Password or token")));
  // It outlives the server as the job does, and ends with it.
  stop_server();
  serve();
  const Guest again = open(id, "jupyter");
  EXPECT_EQ(ask(again.host, "GET", "/api/status", {{"Cookie", again.cookie}}).status, 200);
  ASSERT_FALSE(processes_with("NotebookApp.sock=/tmp/assay-entry").empty());
  ASSERT_EQ(api("POST", fmt::format("/jobs/{}/kill", id)).status, 200);
  ASSERT_TRUE(eventually([&] { return state(id) == "killed"; }, std::chrono::seconds(120)));
  EXPECT_TRUE(eventually([&] { return processes_with(folder_.string() + "/tester/jobs").empty(); },
                         std::chrono::seconds(30)));
}

TEST_F(Services, JupyterAndATerminalWorkInABrowserAndTheirPagesDoNoHarm) {
  if (!find_program("jupyter-notebook")) GTEST_SKIP() << needs::package("jupyter-notebook");
  if (!find_program("chromium")) GTEST_SKIP() << needs::package("chromium");
  serve();
  const long id = running("touch checkpoint-1.pt; exec sleep 1000");
  const CommandResult link = assay({"serve", "link", "--data", (folder_ / "tester").string()});
  ASSERT_TRUE(link.status.ok()) << link.err;
  std::vector<std::string> argv{
      "python3", (fs::path(ASSAY_SOURCE_DIR) / "tests/web/endpoints_story.py").string(),
      std::string(trim(link.out)), std::to_string(id)};
  if (const char* shots = std::getenv("ASSAY_SCREENSHOTS")) argv.emplace_back(shots);
  const CommandResult story = run_command(argv, {.timeout = std::chrono::seconds(200), .env = {}});
  EXPECT_EQ(story.status.code, 0) << story.out << story.err;
}

TEST_F(Services, CodeServerShowsTheFilesOfTheJobInABrowser) {
  if (!find_program("code-server")) GTEST_SKIP() << needs::system("code-server is in no package");
  if (!find_program("chromium")) GTEST_SKIP() << needs::package("chromium");
  serve();
  const long id = running("echo 'epochs = 1' > train.py; exec sleep 1000");
  const CommandResult link = assay({"serve", "link", "--data", (folder_ / "tester").string()});
  ASSERT_TRUE(link.status.ok()) << link.err;
  std::vector<std::string> argv{"python3",
                                (fs::path(ASSAY_SOURCE_DIR) / "tests/web/vscode_story.py").string(),
                                std::string(trim(link.out)), std::to_string(id)};
  if (const char* shots = std::getenv("ASSAY_SCREENSHOTS")) argv.emplace_back(shots);
  const CommandResult story = run_command(argv, {.timeout = std::chrono::seconds(280), .env = {}});
  EXPECT_EQ(story.status.code, 0) << story.out << story.err;
}

// TensorBoard is in no package: what stands in for it reads all event files below its folder, by a
// reader that shares nothing with their writer.
constexpr const char* kTensorBoard = R"(#!/usr/bin/env python3
import http.server, json, os, subprocess, sys
options = dict(word[2:].split('=', 1) for word in sys.argv[1:])
class Pages(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        found = {}
        for folder, _, names in os.walk(options['logdir'], followlinks=True):
            for name in names:
                if 'tfevents' in name:
                    lines = subprocess.run([sys.executable, READER, os.path.join(folder, name)], capture_output=True, text=True).stdout.splitlines()
                    found[os.path.relpath(folder, options['logdir'])] = sorted({json.loads(line)['tag'] for line in lines})
        body = json.dumps(found).encode()
        self.send_response(200)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)
http.server.HTTPServer((options['host'], int(options['port'])), Pages).serve_forever()
)";

class Curves : public Services {
 protected:
  // A training that prints steps and writes curves of its own where TensorBoard's users put them.
  void expect_both() {
    fs::create_directories(folder_ / "bin");
    std::string program = kTensorBoard;
    const std::string reader = "READER";
    program.replace(program.find(reader), reader.size(),
                    "'" ASSAY_SOURCE_DIR "/tests/unit/tensorboard/read_events.py'");
    const fs::path fake = write("bin/tensorboard", program);
    fs::permissions(fake, fs::perms::owner_all);
    const long id = running(
        "logs=~/tensorboard/$ASSAY_JOB_ID/logs; mkdir -p $logs; touch "
        "$logs/events.out.tfevents.own; "
        "i=0; while :; do i=$((i+1)); printf '[PerfLog] {\"event\": \"STEP_END\", \"value\": "
        "{\"loss\": 0.5, \"samples\": 8}, \"step\": %s, \"metadata\": {\"time_ms\": %s}}\\n' "
        "$i $(date +%s%3N); sleep 0.2; done",
        {"--env", "PATH=" + (folder_ / "bin").string() + ":/usr/local/bin:/usr/bin:/bin"});
    const Guest guest = open(id, "tensorboard");
    Json found;
    const bool both = eventually(
        [&] {
          found =
              parse_json_or_null(ask(guest.host, "GET", "/data", {{"Cookie", guest.cookie}}).body);
          const Json& steps = list_at(found, "assay/main/round1/rank0");
          return found.contains("job") &&
                 std::ranges::find(steps, Json("train/loss")) != steps.end();
        },
        std::chrono::seconds(90));
    EXPECT_TRUE(both) << found.dump(1);
  }
};

TEST_F(Curves, OfTheJobAndOfAssayAreInTensorBoard) {
  serve();
  expect_both();
}

class CurvesOverSsh : public Curves {
 protected:
  SshDaemon sshd_{folder_};
};

TEST_F(CurvesOverSsh, AreInTensorBoardOnTheNode) {
  if (!sshd_.missing().empty()) GTEST_SKIP() << sshd_.missing();
  const fs::path nodes = write(
      "nodes.yaml", "nodes:\n  - {name: n1, address: " + SshDaemon::host(1) + ", devices: 1}\n" +
                        ssh_settings(folder_ / "sshd", sshd_.port(), sshd_.cache()));
  serve({"--nodes", nodes.string()});
  expect_both();
}

TEST_F(Services, WhatIsNotInstalledIsSaid) {
  serve();
  const long id = running("exec sleep 1000", {"--env", "PATH=/bin:/usr/bin"});
  if (find_program("code-server")) GTEST_SKIP() << needs::system("one without code-server");
  const Reply reply = api("POST", fmt::format("/jobs/{}/endpoints/vscode/open", id));
  EXPECT_EQ(reply.status, 409) << reply.body;
  const Json error = parse_json_or_null(reply.body)["error"];
  EXPECT_EQ(error["code"], "not_installed");
  EXPECT_THAT(text_at(error, "message"), HasSubstr("code-server is not installed on the node"));
}

TEST_F(Services, OneThatEndsAtOnceSaysItsLastWords) {
  serve();
  fs::create_directories(folder_ / "bin");
  const fs::path fake = write("bin/jupyter-lab", "#!/bin/sh\necho no kernel today >&2\nexit 3\n");
  fs::permissions(fake, fs::perms::owner_all);
  const long id = running("exec sleep 1000",
                          {"--env", "PATH=" + (folder_ / "bin").string() + ":/bin:/usr/bin"});
  const Reply reply = api("POST", fmt::format("/jobs/{}/endpoints/jupyter/open", id));
  EXPECT_EQ(reply.status, 409) << reply.body;
  EXPECT_THAT(reply.body, AllOf(HasSubstr("exit 3"), HasSubstr("no kernel today")));
  const Json now =
      parse_json_or_null(api("GET", fmt::format("/jobs/{}/endpoints/jupyter", id)).body);
  EXPECT_EQ(now["state"], "ended");
}

}  // namespace
}  // namespace assay::e2e
