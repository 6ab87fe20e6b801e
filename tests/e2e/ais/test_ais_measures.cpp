#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/files.h"
#include "core/text.h"
#include "e2e/ais/ais_package.h"

namespace assay::e2e {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using std::chrono_literals::operator""s;

/// With a device whose power is known: 100 W; 200 W from the file `warm` on, 400 W from `hot` on.
class AisPower : public Ais {
 protected:
  void SetUp() override {
    Ais::SetUp();
    write("power.sh",
          "cd '" + folder_.string() +
              "'\nwhile sleep 0.05; do p=100; [ -e warm ] && p=200; [ -e hot ] && p=400\n"
              "echo \"0, 80, $p\"; done\n");
    std::ofstream(conf() / "vendors/kettle.yaml")
        << "name: kettle\ndescription: Its power is known.\nsamples:\n  - mode: loop\n    format: "
           "csv\n"
           "    command: [bash, '"
        << (folder_ / "power.sh").string() << "']\n    fields: [index, 'util:%', 'power_w:W']\n";
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
  EXPECT_NEAR(info["average_power"].get<double>(), 300, 60);  // a busy machine samples late
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
  if (last_t < end) joules += last_w * static_cast<double>(end - last_t) / 1e9;
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

}  // namespace
}  // namespace assay::e2e
