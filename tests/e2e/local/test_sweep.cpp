// A grid of cases from the suite to the report.

#include <gmock/gmock.h>

#include "core/files.h"
#include "e2e/harness.h"

namespace assay::e2e {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class Sweep : public AssayTest {};

TEST_F(Sweep, IsRunJudgedAndShownPointByPoint) {
  const fs::path suite = write("suite.yaml", R"(
name: sweep
telemetry: {interval: 200ms}
cases:
  - name: rate
    shell: true
    command: 'test $N-{world_size} != 3-2 || exit 4; echo rate: $((N * 10))'
    metrics: {rate: {match: 'rate: (\d+)', unit: items/s, better: higher, across: sum}}
    env: {N: [1, 2, 3]}
    sweep: {procs: [1, 2], exclude: {N: 2, procs: 2}}
)");
  const CommandResult dry = assay({"run", suite.string(), "--dry-run"});
  EXPECT_THAT(dry.out, HasSubstr("rate: env.N 1, 2, 3 × procs 1, 2; 5 of 6 points, 1 left out"));

  const CommandResult run = assay({"run", suite.string()});
  EXPECT_EQ(run.status.code, 5) << run.out << run.err;
  const Json made = result();
  ASSERT_EQ(made["cases"].size(), 5U);
  EXPECT_EQ(made["cases"][3]["name"], "rate@N=3,procs=1");
  const Json& sweep = made["sweeps"][0];
  EXPECT_EQ(sweep["headline"], "rate");
  EXPECT_EQ(sweep["best"]["case"], "rate@N=3,procs=1");
  EXPECT_EQ(sweep["best"]["value"], 30);
  EXPECT_EQ(sweep["excluded"], 1);
  EXPECT_EQ(sweep["scaling"][0]["points"][1]["speedup"], 2);
  EXPECT_EQ(sweep["scaling"][0]["at"], "N=1");
  EXPECT_THAT(run.out,
              AllOf(HasSubstr("sweep rate  N × procs: 5 points, 1 of the grid left out"),
                    HasSubstr("INVALID"), HasSubstr("Best by"), HasSubstr("N=3, procs=1")));
  EXPECT_THAT(read_file(latest() / "report.html"),
              HasSubstr("Sweep <span translate=\"no\">rate</span>"));

  // Judging again needs nothing but the run directory.
  fs::remove(suite);
  const std::string before = read_file(latest() / "result.json");
  (void)assay({"report", latest().string()});
  EXPECT_EQ(read_file(latest() / "result.json"), before);
}

TEST_F(Sweep, OnlyAndSetChoosePoints) {
  const fs::path suite = write("suite.yaml", R"(
cases:
  - {name: a, command: 'true', env: {X: [1, 2]}, sweep: {procs: [1, 2]}}
  - {name: b, command: 'true'}
)");
  const CommandResult one = assay({"run", suite.string(), "--only", "a@X=2*", "--set", "procs=1"});
  EXPECT_EQ(one.status.code, 0) << one.out << one.err;
  ASSERT_EQ(result()["cases"].size(), 1U);
  EXPECT_EQ(result()["cases"][0]["name"], "a@X=2");
  EXPECT_THAT(one.out, HasSubstr("1 not selected"));
  const CommandResult none = assay({"run", suite.string(), "--only", "a@X=3"});
  EXPECT_EQ(none.status.code, 2);
  EXPECT_THAT(none.err, HasSubstr("no case matches"));
}

TEST_F(Sweep, TheExampleRunsOnAnyMachine) {
  const CommandResult run =
      assay({"run", ASSAY_SOURCE_DIR "/examples/sweep.yaml", "--set", "config.min_seconds=0.2"});
  EXPECT_THAT(run.out, HasSubstr("sweep matmul  size × procs: 5 points")) << run.out << run.err;
  EXPECT_EQ(result()["sweeps"][0]["points"].size(), 5U);
}

}  // namespace assay::e2e
