// Other programs and other runs on the machine while a round is measured.

#include <thread>

#include <gmock/gmock.h>
#include <unistd.h>

#include "core/files.h"
#include "core/process.h"
#include "core/text.h"
#include "e2e/harness.h"

namespace assay::e2e {

using ::testing::HasSubstr;
using namespace std::chrono_literals;

// Judged by the rules as they are shipped.
class OtherLoad : public AssayTest {
 protected:
  void SetUp() override {
    AssayTest::SetUp();
    ::setenv("ASSAY_CONF", kShippedConf.c_str(), 1);
  }
  // The finding of a rule, or null.
  static Json finding(const Json& result, const std::string& rule) {
    for (const Json& finding : result["cases"][0]["rounds"][0]["findings"])
      if (finding["rule"] == rule) return finding;
    return {};
  }
};

// Twice as many as there are CPUs: however busy the machine is, they get a good part of it.
TEST_F(OtherLoad, ProgramsThatTakeTheCpusMakeARoundInvalidAndAreNamed) {
  const fs::path hog = write("hog.sh", "#!/bin/sh\nwhile :; do :; done\n");
  fs::permissions(hog, fs::perms::owner_all);
  std::vector<Child> hogs;
  for (unsigned i = 0; i < 2 * std::thread::hardware_concurrency(); ++i)
    hogs.push_back(spawn({.argv = {hog.string()}}));
  const CommandResult run = assay({"run", script_suite("sleep 2\n").string()});
  EXPECT_EQ(run.status.code, 6) << run.out << run.err;
  const Json found = finding(result(), "cpu-taken");
  ASSERT_FALSE(found.is_null()) << run.out;
  EXPECT_THAT(found["reason"].get<std::string>(), HasSubstr("hog.sh "));
  EXPECT_THAT(found["reason"].get<std::string>(), HasSubstr("processes, the busiest pid "));
  EXPECT_THAT(run.out, HasSubstr("other programs used"));
}

TEST_F(OtherLoad, TheRoundsOwnProcessesAreNotOthers) {
  // Children that are waited for, that daemonize and that are left behind by their parent.
  const std::string burn = "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done";
  const CommandResult run = assay({"run", script_suite("sh -c '" + burn + "'\n(setsid sh -c '" +
                                                       burn + "' &)\n" + burn + "\nsleep 0.5\n")
                                              .string()});
  EXPECT_EQ(result()["cases"][0]["rounds"][0]["status"], "completed") << run.out;
  const std::string journal = read_file(latest() / "journal.jsonl");
  std::string_view end;
  for (const std::string_view line : split(journal, '\n'))
    if (line.find("node_end") != std::string_view::npos) end = line;
  const Json machine = Json::parse(end)["machine"];
  EXPECT_GT(machine["own_s"].get<double>(), 0.1) << machine;
  for (const Json& other : machine.value("others", Json::array()))
    EXPECT_NE(other["name"], "rank.sh");
}

TEST_F(OtherLoad, TwoRunsOnOneMachineNameEachOther) {
  const fs::path suite = script_suite("while [ ! -e " + (folder_ / "go").string() +
                                      " ]; do sleep 0.05; done\nsleep 1\n");
  const pid_t first = start({"run", suite.string(), "--out", (folder_ / "a").string()});
  const pid_t second = start({"run", suite.string(), "--out", (folder_ / "b").string()});
  const auto started = [&](const char* out) {
    const fs::path log = folder_ / out / "latest/journal.jsonl";
    return read_file_or_empty(log).find("rank_start") != std::string::npos;
  };
  ASSERT_TRUE(eventually([&] { return started("a") && started("b"); }));
  write("go", "");
  ASSERT_TRUE(wait(first, 60s));
  ASSERT_TRUE(wait(second, 60s));
  const std::string a = fs::canonical(folder_ / "a/latest").filename();
  const std::string b = fs::canonical(folder_ / "b/latest").filename();
  const auto reason = [&](const char* out) {
    return finding(read_json(folder_ / out / "latest/result.json"), "other-runs")
        .value("reason", "");
  };
  EXPECT_THAT(reason("a"), HasSubstr(b));
  EXPECT_THAT(reason("b"), HasSubstr(a));
}

}  // namespace assay::e2e
