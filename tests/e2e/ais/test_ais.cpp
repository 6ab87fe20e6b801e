#include <csignal>
#include <cstdlib>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "core/files.h"
#include "core/text.h"
#include "e2e/ais/ais_package.h"
#include "needs.h"
#include "send_signal.h"

namespace assay::e2e {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using std::chrono_literals::operator""s;

TEST_F(Ais, RunsAPackageAndGivesItsResultInAisBenchsForm) {
  package(std::string("pwd > where\nsleep 0.6\n") + kTells);
  const CommandResult done = test();
  EXPECT_EQ(done.status.code, 0) << done.out << done.err;
  EXPECT_EQ(read_file(folder_ / "pkg/code/where"),
            fs::canonical(folder_ / "pkg/code").string() + "\n");
  for (const char* folder : {"log", "result", "tmp"})
    EXPECT_TRUE(fs::is_directory(folder_ / "pkg" / folder)) << folder;
  const Json info = record();
  EXPECT_EQ(info.size(), 15U);
  EXPECT_EQ(info["throughput_ratio"], "450.58182754928634");
  EXPECT_EQ(info["accuracy"], "0.7138610482215881");
  EXPECT_NE(info["total_start_time"], "2020-01-30 14:16:00");
  EXPECT_THAT(done.out,
              HasSubstr("train_result_info: {\n   \"accuracy\" : \"0.7138610482215881\""));
}

TEST_F(Ais, WritesTheLinesOfTheStubInTheirOrder) {
  package(std::string("sleep 0.6\n") + kTells);
  (void)test();
  EXPECT_THAT(
      stub_log(),
      MatchesRegex("\\[[0-9]+-[0-9]+-[0-9]+ [0-9:]+\\]\\[INFO\\]get ConfigInfo testid:(.|\n)*"
                   "\\[INFO\\]ais bench stubs begin run\n(.|\n)*workpath:.* go testcase\\.\n(.|\n)*"
                   "Benchmanager::Init\\(\\) enter\n(.|\n)*Transmit_server start listen (.|\n)*"
                   "\\[INFO\\]train_result_info: \\{\n(.|\n)*"
                   "Transmit_server resource is released!\n(.|\n)*BenchManager stop done\n"));
  // As others read it.
  const std::string log = stub_log();
  const std::size_t at = log.find("\"throughput_ratio");
  ASSERT_NE(at, std::string::npos);
  const std::string line = log.substr(at, log.find('\n', at) - at);
  EXPECT_EQ(split(line, '"')[3], "450.58182754928634");
}

TEST_F(Ais, ServesPythonWithAnAdapterOfThePackage) {
  package(
      "sleep 0.6\npython3 train.py && python3 $(dirname $0)/ais_utils.py set_result training "
      "result OK\n");
  write("pkg/code/ais_utils.py",
        "import sys\nimport set_result as transport\n"
        "def set_result(mode, key, value):\n    transport.set_result(mode, key, value)\n"
        "if __name__ == '__main__':\n    set_result(*sys.argv[2:5])\n");
  write("pkg/code/train.py",
        "import ais_utils\nais_utils.set_result('training', 'throughput_ratio', 12.5)\n"
        "ais_utils.set_result('training', 'accuracy', 0.25)\n");
  const CommandResult done = test();
  EXPECT_EQ(done.status.code, 0) << done.out << done.err;
  EXPECT_EQ(record()["throughput_ratio"], "12.5");
}

TEST_F(Ais, ServesPythonAndCWithItsOwnLibrary) {
  package("sleep 0.6\npython3 train.py\n");
  write("pkg/code/train.py", R"(import ais_utils, ctypes
moment = ais_utils.get_datatime()
ais_utils.set_result('training', 'proc_start_time', moment.decode('utf-8'))
assert ais_utils.calc_throughput_rate(100, 10.0, 12.0) == 50
assert ais_utils.calc_throughput_rate(100, 2.0) == 50
assert ais_utils.calc_throughput_rate(100, 1.0, 1.0) == 0
assert ais_utils.calc_lantency(3.0, 2) == 1.5 and ais_utils.calc_lantency(3.0, 0) == 0
assert ais_utils.calc_single_avg_power(80, 200) == 120 and ais_utils.calc_single_max_power(80, 300) == 220
for name in ('libais_utils.so', 'libset_result.so'):
    assert ctypes.CDLL(name).set_result(b'training', b'accuracy', b'0.5') == 0
    assert ctypes.CDLL(name).set_result(b'nothing', b'accuracy', b'0.5') == -1
for wrong in (('train', 'accuracy', 1), ('training', 'accruacy', 1), ('training', 'accuracy', '')):
    try:
        ais_utils.set_result(*wrong)
        raise SystemExit(9)
    except ValueError:
        pass
ais_utils.set_result('training', 'throughput_ratio', 50.0)
ais_utils.set_result('training', 'result', 'OK')
)");
  const CommandResult done = test();
  EXPECT_EQ(done.status.code, 0) << done.out << done.err
                                 << read_file_or_empty(folder_ / "pkg/log/benchmark.log");
}

TEST_F(Ais, RefusesAWrongCallOfTheCommand) {
  package(std::string("ais_utils set_result train accuracy 1; echo rc=$?\n"
                      "ais_utils set_result training accruacy 1; echo rc=$?\nais_utils; echo "
                      "rc=$?\nsleep 0.6\n") +
          kTells);
  EXPECT_EQ(test().status.code, 0);
  EXPECT_THAT(read_file(folder_ / "pkg/log/benchmark.log"),
              AllOf(HasSubstr("not 'train'"), HasSubstr("no key 'accruacy'"), HasSubstr("rc=1\n"),
                    HasSubstr("rc=2\n"), Not(HasSubstr("rc=0\n"))));
  EXPECT_EQ(calls().size(), 3U);
}

struct ExitCode {
  int code;
  std::string stage;
};
class AisExitCodes : public Ais, public ::testing::WithParamInterface<ExitCode> {};

TEST_P(AisExitCodes, NameTheStageThatFailed) {
  package(fmt::format("{}echo 'the last words'\nexit {}\n", kTells, GetParam().code));
  const CommandResult done = test();
  EXPECT_EQ(done.status.code, 5);
  EXPECT_THAT(done.out, AllOf(HasSubstr(GetParam().stage), HasSubstr("the last words")));
  EXPECT_THAT(stub_log(), AllOf(HasSubstr("[ERROR]"), HasSubstr(GetParam().stage),
                                Not(HasSubstr("\"throughput_ratio"))));
  EXPECT_FALSE(fs::exists(round() / "train_result_info.json"));
}

INSTANTIATE_TEST_SUITE_P(OfBenchmarkSh, AisExitCodes,
                         ::testing::Values(ExitCode{1, "init failed"},
                                           ExitCode{2, "run_train failed"},
                                           ExitCode{3, "run_eval failed"},
                                           ExitCode{4, "get_result failed"},
                                           ExitCode{5, "the mode failed"}),
                         [](const auto& one) { return "Code" + std::to_string(one.param.code); });

struct Untold {
  std::string name;
  std::string script;
  std::string said;
};
class AisResultsThatAreNone : public Ais, public ::testing::WithParamInterface<Untold> {};

TEST_P(AisResultsThatAreNone, AreIncompleteAndNamed) {
  package(GetParam().script + "\nsleep 0.6; exit 0\n");
  const CommandResult done = test();
  EXPECT_EQ(done.status.code, 5) << done.out;
  EXPECT_THAT(done.out, HasSubstr("INCOMPLETE"));
  EXPECT_THAT(stub_log(),
              AllOf(HasSubstr(GetParam().said), Not(HasSubstr("train_result_info: {"))));
  EXPECT_EQ(details()["complete"], false);
}

INSTANTIATE_TEST_SUITE_P(
    Told, AisResultsThatAreNone,
    ::testing::Values(
        Untold{"Nothing", "false | tee out.log", "throughput_ratio was never set; accuracy was"},
        Untold{"NoAccuracy", "ais_utils set_result training throughput_ratio 1",
               "accuracy was never set"},
        Untold{"NoThroughput", "ais_utils set_result training accuracy 1",
               "throughput_ratio was never set"},
        Untold{"NaN",
               "ais_utils set_result training throughput_ratio nan\nais_utils set_result training "
               "accuracy 1",
               "throughput_ratio is not a finite number: 'nan'"},
        Untold{"Text",
               "ais_utils set_result training throughput_ratio 1\nais_utils set_result training "
               "accuracy high",
               "accuracy is not a finite number: 'high'"},
        Untold{"NotOk", std::string(kTells) + "ais_utils set_result training result NOK",
               "result is 'NOK'"}),
    [](const auto& one) { return one.param.name; });

TEST_F(Ais, ReportMakesTheSameRecordAgainFromTheEvidence) {
  package(std::string("sleep 0.6\n") + kTells);
  (void)test();
  const std::string before = read_file(round() / "train_result_info.json");
  fs::remove(round() / "train_result_info.json");
  fs::remove(round() / "ais_result.json");
  const CommandResult again = assay({"report", run().string()});
  EXPECT_EQ(again.status.code, 0) << again.err;
  EXPECT_EQ(read_file(round() / "train_result_info.json"), before);
  EXPECT_THAT(again.out, HasSubstr(before));
}

TEST_F(Ais, WarnsOfValuesThatChangedAndTakesTheLast) {
  package(std::string("sleep 0.6\nais_utils set_result training accuracy 0.1\n") + kTells);
  EXPECT_EQ(test().status.code, 0);
  EXPECT_TRUE(finding("ais-values-agree"));
  EXPECT_EQ(record()["accuracy"], "0.7138610482215881");
}

TEST_F(Ais, KeepsEveryCallOfManyProcessesAtOnce) {
  package(std::string("seq 300 | xargs -P 16 -I@ ais_utils set_result training n@_start_time @\n"
                      "for i in $(seq 8); do python3 many.py $i & done; wait\n") +
          kTells);
  write(
      "pkg/code/many.py",
      "import sys, set_result\nfor i in range(50):\n"
      "    set_result.set_result('training', 'p%s_%d_end_time' % (sys.argv[1], i), 'x' * 2000)\n");
  const CommandResult done = test();
  EXPECT_EQ(done.status.code, 0) << done.out;
  EXPECT_EQ(calls().size(), 300U + 8 * 50 + 3);
  EXPECT_FALSE(finding("ais-lines-readable"));
}

TEST_F(Ais, AfterTheControllerWasKilledTheReportSaysIncomplete) {
  package(std::string(kTells) + "sleep " + marker_ + "\n");
  const pid_t pid = start({"ais", "test", "pkg"});
  ASSERT_TRUE(eventually([&] { return !processes_with("sleep " + marker_).empty(); }, 60s));
  send_signal(pid, SIGKILL);
  EXPECT_TRUE(eventually([&] { return processes_with("sleep " + marker_).empty(); }, 60s));
  const CommandResult report = assay({"report", (folder_ / "pkg/result/latest").string()});
  EXPECT_EQ(report.status.code, 5);
  EXPECT_THAT(report.out, HasSubstr("INCOMPLETE"));
  EXPECT_EQ(calls().size(), 3U);
  EXPECT_FALSE(fs::exists(round() / "train_result_info.json"));
}

TEST_F(Ais, CtrlCEndsTheWorkloadAndSaysSo) {
  package("sleep " + marker_ + "\n");
  const pid_t pid = start({"ais", "test", "pkg"});
  ASSERT_TRUE(eventually([&] { return !processes_with("sleep " + marker_).empty(); }, 60s));
  send_signal(pid, SIGINT);
  const auto status = wait(pid, 60s);
  ASSERT_TRUE(status.has_value());
  EXPECT_EQ(status->code, 5);
  EXPECT_TRUE(processes_with("sleep " + marker_).empty());
  EXPECT_THAT(stub_log(), AllOf(HasSubstr("[ERROR]there is no train_result_info"),
                                HasSubstr("BenchManager stop done")));
}

TEST_F(Ais, EndsWhatAWorkloadLeavesBehind) {
  package("setsid sleep " + marker_ + " > /dev/null 2>&1 &\nsleep 0.6\n" + kTells);
  EXPECT_EQ(test().status.code, 0);
  EXPECT_TRUE(finding("no-leftovers"));
  EXPECT_TRUE(eventually([&] { return processes_with("sleep " + marker_).empty(); }, 30s));
}

TEST_F(Ais, EndsAWorkloadThatTakesTooLong) {
  package("sleep " + marker_ + "\n");
  const CommandResult done = test({"--time", "1s"});
  EXPECT_EQ(done.status.code, 5);
  EXPECT_TRUE(processes_with("sleep " + marker_).empty());
}

TEST_F(Ais, SaysWhatConfigJsonOfVersion2Says) {
  package(std::string("sleep 0.6\n") + kTells);
  fs::create_directories(folder_ / "pkg/config");
  write("pkg/config/config.json", R"({"testid": "20261115-ab12Cd", "Model": "bert"})");
  EXPECT_EQ(test().status.code, 0);
  EXPECT_THAT(stub_log(), HasSubstr("testid:20261115-ab12Cd, Mode:training, Model:bert,"));
}

TEST_F(Ais, RefusesAFolderThatIsNoPackage) {
  const CommandResult done = assay({"ais", "test", "."});
  EXPECT_EQ(done.status.code, 2);
  EXPECT_THAT(done.err, HasSubstr("there is no code/benchmark.sh"));
}

TEST_F(Ais, RunsWhatItPackedInACleanFolder) {
  package(
      std::string(
          "RUNTYPE=\"cluster_offline\"\nsleep 0.6\npython3 $(dirname $0)/ais_utils.py set_result "
          "training accuracy 0.5\n") +
      kTells);
  write("pkg/code/config.json", "{}");
  const CommandResult packed = assay({"ais", "pack", "pkg", "--output", "clean/w.tar.gz"});
  EXPECT_EQ(packed.status.code, 3);  // there is no such folder
  fs::create_directories(folder_ / "clean");
  const CommandResult again = assay({"ais", "pack", "pkg", "--output", "clean/w.tar.gz"});
  ASSERT_EQ(again.status.code, 0) << again.err;
  fs::remove_all(folder_ / "pkg");
  ASSERT_TRUE(run_command({"tar", "xf", (folder_ / "clean/w.tar.gz").string(), "-C",
                           (folder_ / "clean").string()})
                  .status.ok());
  const CommandResult done = assay({"ais", "test", "clean/w"}, 120s);
  EXPECT_EQ(done.status.code, 0) << done.out << done.err;
  EXPECT_THAT(done.out, HasSubstr("\"throughput_ratio\" : \"450.58182754928634\""));
}

TEST_F(Ais, DoesNotRunAPackageTwiceAtOnce) {
  package("touch ../begun\nsleep " + marker_ + "\n");
  (void)start({"ais", "test", "pkg"});
  ASSERT_TRUE(eventually([&] { return !processes_with("sleep " + marker_).empty(); }, 60s));
  const CommandResult second = test();
  EXPECT_EQ(second.status.code, 2);
  EXPECT_THAT(second.err, HasSubstr("is being run already"));
  EXPECT_EQ(assay({"ais", "stop", "pkg"}, 60s).status.code, 0);
}

TEST_F(Ais, StopEndsThePackagesRun) {
  package("sleep " + marker_ + "\n");
  const pid_t pid = start({"ais", "test", "pkg"});
  ASSERT_TRUE(eventually([&] { return !processes_with("sleep " + marker_).empty(); }, 60s));
  EXPECT_EQ(assay({"ais", "stop", "pkg"}, 60s).status.code, 0);
  const auto status = wait(pid, 60s);
  ASSERT_TRUE(status.has_value());
  EXPECT_EQ(status->code, 5);
  EXPECT_TRUE(processes_with("sleep " + marker_).empty());
}

TEST_F(Ais, TheExampleTrains) {
  if (!fs::exists(fs::path(ASSAY_BIN_DIR) / "assay-train"))
    GTEST_SKIP() << needs::package("libtorch-dev");
  fs::copy(fs::path(ASSAY_SOURCE_DIR) / "examples/ais-resnet20", folder_ / "pkg",
           fs::copy_options::recursive);
  ::setenv("TRAIN_SIZE", "320", 1);
  const CommandResult done = test();
  ::unsetenv("TRAIN_SIZE");
  EXPECT_EQ(done.status.code, 0) << done.out << done.err;
  EXPECT_GT(std::stod(record()["throughput_ratio"].get<std::string>()), 0);
  EXPECT_THAT(details()["origins"]["proc_start_time"].get<std::string>(), HasSubstr("PerfLog"));
}

}  // namespace
}  // namespace assay::e2e
