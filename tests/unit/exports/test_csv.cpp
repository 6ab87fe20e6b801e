#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "core/files.h"
#include "core/subprocess.h"
#include "error_of.h"
#include "exports/csv_table.h"
#include "exports/csv_tables.h"
#include "needs.h"
#include "unit/live/run_folder.h"

namespace assay::exports {
namespace {

using live::testing::RunFolder;
using testing::error_of;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string event(const char* name, double seconds, const std::string& value, int step) {
  return fmt::format(
      "[PerfLog] {{\"event\": \"{}\", \"value\": {}, \"step\": {}, \"metadata\": {{\"time_ms\": "
      "{}}}}}\n",
      name, value, step, RunFolder::kStartMs + static_cast<std::int64_t>(seconds * 1e3));
}

TEST(StepsCsv, ARowForEveryStepWithWhatTheTrainerAdded) {
  RunFolder run;
  run.append(RunFolder::log(0), event("STEP_END", 1, R"({"loss": 0.5, "samples": 32})", 10) +
                                    event("STEP_END", 3, R"({"loss": NaN, "grad_norm": 2})", 11));
  const testing::TemporaryFolder out;
  EXPECT_EQ(write_steps(RunFiles(run.path()), out.path() / "steps.csv"), 2U);
  EXPECT_EQ(read_file(out.path() / "steps.csv"),
            "case,round,rank,host,step,time_s,elapsed_s,step_s,loss,samples,global_samples,tokens,"
            "flops,lr,data_s,compute_s,comm_s,optimizer_s,bubble_s,grad_norm\n"
            "c,1,0,n0,10,1794799618,1,,0.5,32,,,,,,,,,,\n"
            "c,1,0,n0,11,1794799620,3,2,NaN,,,,,,,,,,,2\n");
}

TEST(StepsCsv, PartsOfARotatedLogFollowEachOther) {
  RunFolder run;
  run.append(RunFolder::log(0) + ".head", event("STEP_END", 1, R"({"loss": 3})", 1));
  run.append(RunFolder::log(0) + ".1", event("STEP_END", 5, R"({"loss": 2})", 5));
  run.append(RunFolder::log(0), event("STEP_END", 6, R"({"loss": 1})", 6));
  const testing::TemporaryFolder out;
  EXPECT_EQ(write_steps(RunFiles(run.path()), out.path() / "steps.csv"), 3U);
}

TEST(EvaluationsCsv, ARowForEveryQuality) {
  RunFolder run;
  run.append(RunFolder::log(0), event("EVALUATE", 4, R"({"acc1": 0.75, "time": 0.5})", 20));
  const testing::TemporaryFolder out;
  EXPECT_EQ(write_evaluations(RunFiles(run.path()), out.path() / "e.csv"), 2U);
  EXPECT_THAT(read_file(out.path() / "e.csv"), HasSubstr("c,1,0,n0,20,1794799621,4,acc1,0.75\n"));
}

TEST(TelemetryCsv, IsOneTableOfAllNodes) {
  RunFolder run;
  for (const int node : {0, 1})
    run.append(fmt::format("c/round1/n{0}_noderank{0}/telemetry.csv", node),
               fmt::format("mono_ns,wall_ns,source,util\n1,{},node,0.5\n",
                           (RunFolder::kStartMs + 2000) * 1'000'000));
  const testing::TemporaryFolder out;
  EXPECT_EQ(write_telemetry(RunFiles(run.path()), out.path() / "t.csv"), 2U);
  const std::string table = read_file(out.path() / "t.csv");
  EXPECT_THAT(table, StartsWith("case,round,host,node,source,time_s,elapsed_s,util,"));
  EXPECT_THAT(table, HasSubstr("c,1,n1,1,node,1794799619,2,0.5,,"));
}

TEST(CsvTable, PandasReadsItWithoutBeingToldAnything) {
  const std::string python = needs::python_with("pandas");
  if (python.empty()) GTEST_SKIP() << needs::package("python3-pandas");
  const testing::TemporaryFolder out;
  CsvTable table(out.path() / "t.csv");
  table.text("name").text("x").text("y").end_row();
  table.text("a \"b\", c\nd").number(1.5).number(std::numeric_limits<double>::infinity()).end_row();
  table.text("é").number(std::nan("")).empty().end_row();
  table.finish();
  const CommandResult read =
      run_command({python, "-c",
                   "import pandas, sys\nt = pandas.read_csv(sys.argv[1])\n"
                   "print(list(t.name), t.x.tolist(), t.y.tolist(), t.x.dtype, t.y.dtype)",
                   (out.path() / "t.csv").string()});
  EXPECT_EQ(read.out, "['a \"b\", c\\nd', 'é'] [1.5, nan] [inf, nan] float64 float64\n")
      << read.err;
}

TEST(CsvTable, IsThereWholeOrNotAtAll) {
  const testing::TemporaryFolder out;
  {
    CsvTable table(out.path() / "t.csv");
    table.text("half").end_row();
  }
  EXPECT_TRUE(std::filesystem::is_empty(out.path()));
}

TEST(RunFiles, AFolderThatIsNoRunIsRefused) {
  const testing::TemporaryFolder empty;
  EXPECT_THAT(error_of([&] { return RunFiles(empty.path()).ranks().size(); }),
              HasSubstr("no run that has begun"));
}

}  // namespace
}  // namespace assay::exports
