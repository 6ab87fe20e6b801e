#include <csignal>
#include <cstdlib>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "core/files.h"
#include "core/text.h"
#include "e2e/harness.h"

namespace assay::e2e {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using std::chrono_literals::operator""s;

constexpr const char* kTells = R"(
ais_utils set_result training throughput_ratio 450.58182754928634
ais_utils set_result training accuracy 0.7138610482215881
ais_utils set_result training result OK
)";

/// `assay ais test` with a package of the test's own.
class Ais : public AssayTest {
 protected:
  void package(const std::string& script) const {
    fs::create_directories(folder_ / "pkg/code");
    write("pkg/code/benchmark.sh", "#!/bin/bash\n" + script);
  }
  [[nodiscard]] CommandResult test(std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {"ais", "test", "pkg", "--interval", "200ms"});
    return assay(more, 120s);
  }
  [[nodiscard]] fs::path run() const { return fs::canonical(folder_ / "pkg/result/latest"); }
  [[nodiscard]] fs::path round() const { return run() / "workload/round1"; }
  [[nodiscard]] Json record() const { return read_json(round() / "train_result_info.json"); }
  [[nodiscard]] Json details() const { return read_json(round() / "ais_result.json"); }
  [[nodiscard]] std::string stub_log() const {
    return read_file_or_empty(folder_ / "pkg/log/stub.log");
  }
  /// What set_result wrote, of the round's only node.
  [[nodiscard]] std::vector<Json> calls() const {
    std::vector<Json> out;
    for (const auto& entry : fs::recursive_directory_iterator(run()))
      if (entry.path().filename() == "set_result.jsonl") {
        const std::string text = read_file(entry.path());
        for (const std::string_view line : split(text, '\n'))
          if (!line.empty()) out.push_back(parse_json(line, "set_result.jsonl"));
      }
    return out;
  }
  [[nodiscard]] bool finding(const std::string& rule) const {
    const Json result = read_json(run() / "result.json");
    for (const auto& found : result["cases"][0]["rounds"][0]["findings"])
      if (found["rule"] == rule) return true;
    return false;
  }
  /// In the command line of what the workload starts; no other test has it.
  const std::string marker_ = fmt::format("7{:05}", ::getpid() % 100000);
};

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
               "throughput_ratio is no finite number: 'nan'"},
        Untold{"Text",
               "ais_utils set_result training throughput_ratio 1\nais_utils set_result training "
               "accuracy high",
               "accuracy is no finite number: 'high'"},
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
  ::kill(pid, SIGKILL);
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
  ::kill(pid, SIGINT);
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

/// With a device whose power is known: 100 W; 200 W from the file `warm` on, 400 W from `hot` on.
class AisPower : public Ais {
 protected:
  void SetUp() override {
    Ais::SetUp();
    fs::copy(fs::path(ASSAY_SOURCE_DIR) / "conf", folder_ / "conf", fs::copy_options::recursive);
    write("power.sh",
          "cd '" + folder_.string() +
              "'\nwhile sleep 0.05; do p=100; [ -e warm ] && p=200; [ -e hot ] && p=400\n"
              "echo \"0, 80, $p\"; done\n");
    write("conf/vendors/kettle.yaml",
          "name: kettle\ndescription: Its power is known.\nsamples:\n  - mode: loop\n    format: "
          "csv\n"
          "    command: [bash, '" +
              (folder_ / "power.sh").string() + "']\n    fields: [index, 'util:%', 'power_w:W']\n");
    ::setenv("ASSAY_CONF", (folder_ / "conf").c_str(), 1);
  }
  void TearDown() override {
    ::unsetenv("ASSAY_CONF");
    Ais::TearDown();
  }
};

TEST_F(AisPower, MeasuresPowerEnergyEfficiencyAndUtilisationOfTheTraining) {
  package(R"sh(sleep 2.5
now() { date '+%s.%N'; }
touch ../../warm
ais_utils set_result training proc_start_time "$(now)"
sleep 2
touch ../../hot
sleep 2
ais_utils set_result training proc_end_time "$(now)"
rm ../../hot
sleep 0.5
)sh" + std::string(kTells));
  const CommandResult done = test({"--vendor", "kettle"});
  ASSERT_EQ(done.status.code, 0) << done.out << done.err;
  const Json info = record();
  // The waveform: half of the training at 200 W, half at 400 W.
  EXPECT_NEAR(info["average_power"].get<double>(), 300, 30);
  EXPECT_EQ(info["max_power"], 400);
  EXPECT_NEAR(info["resource_util_ratio"].get<double>(), 80, 1e-6);
  EXPECT_NEAR(info["efficientcy"].get<double>(),
              450.58182754928634 / info["average_power"].get<double>(), 1e-6);
  EXPECT_NEAR(details()["idle_power_w"].get<double>(), 100, 10);
  EXPECT_THAT(details()["origins"]["energy_consumption"].get<std::string>(),
              HasSubstr("idle baseline"));

  // The same from the samples alone, by the trapezoid rule between the two times.
  std::int64_t start = 0;
  std::int64_t end = 0;
  for (const Json& call : calls()) {
    if (!call["key"].get<std::string>().starts_with("proc_")) continue;
    const auto told =
        static_cast<std::int64_t>(std::stold(call["value"].get<std::string>()) * 1e9L);
    const std::int64_t at =
        told + call["mono_ns"].get<std::int64_t>() - call["wall_ns"].get<std::int64_t>();
    if (call["key"] == "proc_start_time") start = at;
    if (call["key"] == "proc_end_time") end = at;
  }
  double joules = 0;
  std::int64_t last_t = 0;
  double last_w = 0;
  for (const auto& entry : fs::recursive_directory_iterator(run())) {
    if (entry.path().filename() != "telemetry.csv") continue;
    const std::string text = read_file(entry.path());
    const auto lines = split(text, '\n');
    const auto names = split(std::string_view(lines[0]), ',');
    const auto column = [&](std::string_view name) {
      return static_cast<std::size_t>(std::ranges::find(names, name) - names.begin());
    };
    for (std::size_t i = 1; i < lines.size(); ++i) {
      const auto cells = split(std::string_view(lines[i]), ',');
      if (cells.size() != names.size() || cells[column("source")] != "dev0") continue;
      const std::int64_t t = std::stoll(std::string(cells[column("mono_ns")]));
      const double w = std::stod(std::string(cells[column("power_w")]));
      const std::int64_t from = std::max(last_t, start);
      const std::int64_t to = std::min(t, end);
      if (last_t > 0 && from < to) {
        const auto at = [&](std::int64_t x) {
          return last_w +
                 (w - last_w) * static_cast<double>(x - last_t) / static_cast<double>(t - last_t);
        };
        joules += (at(from) + at(to)) / 2 * static_cast<double>(to - from) / 1e9;
      }
      last_t = t;
      last_w = w;
    }
  }
  EXPECT_NEAR(info["energy_consumption"].get<double>(), joules, joules * 0.02);
}

TEST_F(Ais, ListsWhatWasNotMeasured) {
  package(std::string("sleep 0.6\n") + kTells);
  ASSERT_EQ(test({"--vendor", "cpu"}).status.code, 0);
  if (record()["average_power"] != 0) GTEST_SKIP() << "this machine measures its power";
  EXPECT_THAT(details()["not_measured"].dump(),
              AllOf(HasSubstr("average_power"), HasSubstr("energy_consumption"),
                    HasSubstr("dataload_start_time")));
  EXPECT_TRUE(finding("ais-measured"));
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

/// With a tester of the test's own.
class AisForATester : public Ais {
 protected:
  void SetUp() override {
    Ais::SetUp();
    const CommandResult token = assay({"serve", "token", "add", "me", "--data", "tester"});
    ASSERT_EQ(token.status.code, 0) << token.err;
    ::setenv("ASSAY_TESTER_TOKEN", std::string(trim(token.out)).c_str(), 1);
    (void)start({"serve", "--data", "tester", "--listen", "127.0.0.1:0"});
    ASSERT_TRUE(eventually([&] { return !port().empty(); }, 30s));
  }
  void TearDown() override {
    ::unsetenv("ASSAY_TESTER_TOKEN");
    Ais::TearDown();
  }
  [[nodiscard]] std::string port() const {
    const std::string said = read_file_or_empty(folder_ / "assay.log");
    const std::size_t at = said.find("127.0.0.1:");
    if (at == std::string::npos || said.find('\n', at) == std::string::npos) return {};
    return said.substr(at + 10, said.find_first_not_of("0123456789", at + 10) - at - 10);
  }
};

TEST_F(AisForATester, ReportsThePackageAndIsJudgedTheSame) {
  package(std::string("sleep 0.6\n") + kTells);
  write("pkg/code/config.json",
        fmt::format(
            R"({{"tester_server_ip": "127.0.0.1", "tester_server_port": {}, "Model": "toy"}})",
            port()));
  write("pkg/code/system.json", R"({"server": "of the test"})");
  const CommandResult done = assay({"ais", "pkg", "--interval", "200ms"}, 120s);
  EXPECT_EQ(done.status.code, 0) << done.out << done.err;
  EXPECT_THAT(done.out, HasSubstr("Accepted: VALID"));
  EXPECT_THAT(stub_log(), HasSubstr("accepted test 2"));
  EXPECT_EQ(read_json(run() / "system.json")["declared"]["server"], "of the test");
}

TEST_F(AisForATester, SaysBeforeTheRunThatItCannotBeReached) {
  package("touch ran\n");
  EXPECT_EQ(assay({"ais", "pkg"}).status.code, 2);  // nobody said where it is
  EXPECT_EQ(assay({"ais", "pkg", "--to", "http://127.0.0.1:1"}, 60s).status.code, 4);
  ::unsetenv("ASSAY_TESTER_TOKEN");
  EXPECT_EQ(assay({"ais", "pkg", "--to", "http://127.0.0.1:" + port()}).status.code, 3);
  EXPECT_FALSE(fs::exists(folder_ / "pkg/code/ran"));
}

TEST_F(AisForATester, RunPushesWhatItMeasured) {
  const CommandResult done = assay(
      {"run", script_suite("sleep 0.1").string(), "--push", "http://127.0.0.1:" + port()}, 60s);
  EXPECT_EQ(done.status.code, 0) << done.out << done.err;
  EXPECT_THAT(done.out, HasSubstr("Accepted: VALID"));
}

TEST_F(Ais, TakesTheTimeOfTheTrainingFromTheLogsOfTheStages) {
  package(std::string(R"sh(
log() { echo "$(date +%Y-%m-%dT%H:%M:%S) -Ais-Bench-Stubs- INFO $1(x.sh:1) - $1 called"; }
log init; sleep 1.1; log run_train; sleep 2.2; log run_eval; sleep 1.1; log get_result
)sh") + kTells);
  ASSERT_EQ(test().status.code, 0);
  const auto seconds = [](const std::string& text) {
    return std::stoi(text.substr(11, 2)) * 3600 + std::stoi(text.substr(14, 2)) * 60 +
           std::stoi(text.substr(17, 2));
  };
  const Json info = record();
  const int trained =
      (seconds(info["proc_end_time"]) - seconds(info["proc_start_time"]) + 86400) % 86400;
  EXPECT_GE(trained, 2);
  EXPECT_LT(trained,
            (seconds(info["total_end_time"]) - seconds(info["total_start_time"]) + 86400) % 86400);
  EXPECT_THAT(details()["origins"]["proc_end_time"].get<std::string>(), HasSubstr("run_train"));
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
    GTEST_SKIP() << "assay-train was not built";
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
