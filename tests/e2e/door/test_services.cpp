// Programs that the platform starts beside a job.

#include <cstdlib>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "core/json_access.h"
#include "core/text.h"
#include "e2e/door/door_test.h"
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
