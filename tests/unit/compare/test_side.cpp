// Sides as they are named on the command line.
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compare/comparison.h"
#include "compare/side.h"
#include "core/files.h"
#include "core/run_layout.h"
#include "error_of.h"
#include "store/run_dir.h"
#include "temporary_folder.h"

namespace assay::compare {
namespace {

namespace fs = std::filesystem;
using assay::testing::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const fs::path kKept = fs::path(ASSAY_SOURCE_DIR) / "tests/fixtures/run-0.1/run";

class Sides : public ::testing::Test {
 protected:
  // The kept run again, under another id unless one is given.
  [[nodiscard]] fs::path copy(const std::string& name, std::string id = {}) const {
    const fs::path run = folder_.path() / name;
    fs::copy(kKept, run, fs::copy_options::recursive);
    Json plan = parse_json(read_file(run / layout::kPlan), "plan.json");
    plan["run_id"] = id.empty() ? name : id;
    folder_.write(name + "/plan.json", dump_pretty(plan));
    return run;
  }
  testing::TemporaryFolder folder_;
};

TEST_F(Sides, AreRunsOfAnEarlierVersionToo) {
  const Side side = read_side(kKept.string());
  ASSERT_EQ(side.runs.size(), 1);
  EXPECT_EQ(side.name, side.runs[0].run_id);
  Options too;
  too.invalid_too = true;
  const Comparisons found = compare_sides(side, std::span(&side, 1), too);
  ASSERT_EQ(found.sides.at(0).cases.size(), side.runs[0].cases.size());
  EXPECT_EQ(found.sides[0].cases[0].metrics.at(0).level.change, 0);
}

TEST_F(Sides, OfARunWithoutASealAreNotComparedByThemselves) {
  const Side side = read_side(kKept.string());
  const Comparisons found = compare_sides(side, std::span(&side, 1), {});
  EXPECT_THAT(found.sides[0].cases[0].refused, HasSubstr("of a run that is INCOMPLETE"));
}

TEST_F(Sides, OfAFolderAreTheRunsInIt) {
  (void)copy("run2");
  (void)copy("run1");
  fs::create_directory_symlink("run2", folder_.path() / "latest");
  folder_.write("notes.txt", "not a run");
  const Side side = read_side(folder_.path().string());
  EXPECT_EQ(side.runs.size(), 2);
  EXPECT_EQ(side.name, folder_.path().string());
}

TEST_F(Sides, AreSeveralRunsWithCommas) {
  const std::string text = copy("a").string() + "," + copy("b").string();
  std::vector<std::string> told;
  EXPECT_EQ(read_side(text, [&](const std::string& path) { told.push_back(path); }).runs.size(), 2);
  EXPECT_THAT(told, ElementsAre(HasSubstr("/a"), HasSubstr("/b")));
}

TEST_F(Sides, MayHaveACommaInTheirName) {
  EXPECT_EQ(read_side(copy("a,b").string()).runs.size(), 1);
}

TEST_F(Sides, DoNotCountARunTwice) {
  const std::string run = copy("a").string();
  EXPECT_THAT(error_of([&] { return read_side(run + "," + run + "/."); }),
              HasSubstr("named twice"));
}

TEST_F(Sides, DoNotCountACopyOfARunTwice) {
  const std::string text = copy("a").string() + "," + copy("b", "a").string();
  EXPECT_THAT(error_of([&] { return read_side(text); }), HasSubstr("copy of the run a"));
}

TEST_F(Sides, ThatAreNoRunsAreNamed) {
  EXPECT_THAT(error_of([&] { return read_side(folder_.path().string()); }),
              HasSubstr(folder_.path().string()));
  EXPECT_THAT(error_of([&] { return read_side("/no/such/run"); }), HasSubstr("/no/such/run"));
  EXPECT_THAT(error_of([&] { return read_side(""); }), HasSubstr("empty"));
  EXPECT_THAT(error_of([&] { return read_side(copy("a").string() + ","); }), HasSubstr("empty"));
}

TEST_F(Sides, OfARunThatIsGoingOnAreRefused) {
  const fs::path run = copy("a");
  const store::RunLock lock(run);
  EXPECT_THAT(error_of([&] { return read_side(run.string()); }), HasSubstr("going on"));
}

TEST_F(Sides, OfANewerSchemaAreRefusedWithItsNumber) {
  const fs::path run = copy("a");
  Json plan = parse_json(read_file(run / layout::kPlan), "plan.json");
  plan["schema_version"] = 99;
  write_file_atomic(run / layout::kPlan, dump_pretty(plan));
  EXPECT_THAT(error_of([&] { return read_side(run.string()); }), HasSubstr("99"));
}

TEST_F(Sides, WhosePlanWasCutAreAnError) {
  const fs::path run = copy("a");
  const std::string plan = read_file(run / layout::kPlan);
  write_file_atomic(run / layout::kPlan, plan.substr(0, plan.size() / 2));
  EXPECT_THAT(error_of([&] { return read_side(run.string()); }), HasSubstr("plan.json"));
}

}  // namespace
}  // namespace assay::compare
