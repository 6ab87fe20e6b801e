#include "cloud/iam.h"
#include "e2e/cloud/cloud_run.h"

namespace assay::cloud {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using std::chrono_literals::operator""s;

TEST_F(CloudRun, ShowsWhatItWouldDoWithoutAskingTheCloud) {
  const std::string file = suite(kResults);
  fault({{"kind", "status"}, {"status", 500}, {"count", -1}});
  const CommandResult plan = assay({"run", file, "--dry-run"});
  EXPECT_EQ(plan.status.code, 0) << plan.err;
  EXPECT_THAT(plan.out, AllOf(HasSubstr("\"epoch_size\""), HasSubstr("obs://bucket-one/assay/"),
                              HasSubstr("\"node_count\": 2"), Not(HasSubstr(kSecret))));
}

TEST_F(CloudRun, NamesTheEnginesThatThereAreBeforeItUploads) {
  const CommandResult run =
      assay({"run", suite(kResults), "--set", "cluster.modelarts.engine=no-such-engine"});
  EXPECT_EQ(run.status.code, 2) << run.err;
  EXPECT_THAT(run.err, AllOf(HasSubstr("no-such-engine"), HasSubstr(kEngine)));
  EXPECT_EQ(emulator_->control(client_, "GET", "counts").value("PUT obs", 0), 0);
}

TEST_F(CloudRun, TakesRenewedKeysFromItsFile) {
  const pid_t pid = start_until(suite(waits_), "started");
  IamTokens tokens(client_, {emulator_->url(), "tester", "of the test", "assay", "", kProject});
  const Credentials renewed = TemporaryCredentials(tokens, std::chrono::hours(1)).get();
  write("key.json", Json{{"access_key", renewed.access_key},
                         {"secret_key", renewed.secret_key},
                         {"security_token", renewed.security_token}}
                        .dump());
  // The run still has the first key, until the service calls it expired.
  fault({{"kind", "status"}, {"status", 400}, {"code", "ExpiredToken"}, {"path", "/bucket-one"}});
  go();
  const auto status = wait(pid, 60s);
  ASSERT_TRUE(status) << said();
  EXPECT_EQ(status->code, 0) << said();
}

TEST_F(CloudRun, ListsFlavorsAndEngines) {
  const std::string file = suite(kResults);
  const CommandResult flavors = assay({"cloud", "flavors", file});
  EXPECT_EQ(flavors.status.code, 0) << flavors.err;
  EXPECT_THAT(flavors.out, AllOf(HasSubstr("* modelarts.kat1.xlarge"), HasSubstr("BILLED AS")));
  EXPECT_THAT(assay({"cloud", "engines", file}).out, HasSubstr(std::string("* ") + kEngine));
}

TEST_F(CloudRun, ObsCommandsSendListFetchAndRemove) {
  const std::string file = suite(kResults, "    inputs: {data_url: /bucket-one/data/}");
  fs::create_directories(folder_ / "data/train");
  fs::create_directories(folder_ / "data/val");
  write("data/train/a b.bin", "one");
  write("data/val/c.bin", "three");
  write("data/.assayignore", "*.tmp\n");
  write("data/x.tmp", "no");
  const CommandResult sent = assay({"obs", "sync", "data", "--suite", file});
  EXPECT_EQ(sent.status.code, 0) << sent.err;
  EXPECT_THAT(sent.out, HasSubstr("2 uploaded"));
  EXPECT_THAT(assay({"obs", "sync", "data", "--suite", file}).out, HasSubstr("0 uploaded"));
  const CommandResult top = assay({"obs", "ls", "obs://bucket-one/data/", "--suite", file});
  EXPECT_THAT(top.out, AllOf(HasSubstr("data/train/"), Not(HasSubstr("a b.bin"))));
  EXPECT_THAT(assay({"obs", "ls", "-r", "obs://bucket-one/data/", "--suite", file}).out,
              HasSubstr("data/train/a b.bin"));
  const CommandResult back =
      assay({"obs", "sync", "obs://bucket-one/data/", "back", "--suite", file});
  EXPECT_EQ(back.status.code, 0) << back.err;
  EXPECT_EQ(read_file(folder_ / "back/train/a b.bin"), "one");
  EXPECT_EQ(assay({"obs", "cp", "data/val/c.bin", "s3://bucket-one/one/", "--s3", "--endpoint",
                   emulator_->url(), "--credentials", "key.json"})
                .status.code,
            0);
  EXPECT_EQ(
      assay({"obs", "cp", "obs://bucket-one/one/c.bin", "d.bin", "--suite", file}).status.code, 0);
  EXPECT_EQ(read_file(folder_ / "d.bin"), "three");
  EXPECT_EQ(assay({"obs", "rm", "obs://bucket-one", "--suite", file}).status.code, 2);
  EXPECT_THAT(assay({"obs", "rm", "-r", "obs://bucket-one/data/", "--suite", file}).out,
              HasSubstr("2 objects removed"));
  EXPECT_EQ(assay({"obs", "ls", "obs://bucket-one/data/", "--suite", file}).status.code, 3);
}

TEST_F(CloudRun, CheckLooksAtTheCloud) {
  const std::string file = suite(kResults);
  const CommandResult fit = assay({"check", file});
  EXPECT_EQ(fit.status.code, 0) << fit.out << fit.err;
  EXPECT_THAT(fit.out, HasSubstr("modelarts.kat1.xlarge"));
  const CommandResult unfit =
      assay({"check", file, "--set", "cluster.modelarts.flavor=no.such.flavor"});
  EXPECT_EQ(unfit.status.code, 2) << unfit.out;
  EXPECT_THAT(unfit.err, HasSubstr("no.such.flavor"));
}

TEST_F(CloudRun, NamesTheFlavorsThatThereAre) {
  const CommandResult run =
      assay({"run", suite(kResults), "--set", "cluster.modelarts.flavor=no.such.flavor"});
  EXPECT_EQ(run.status.code, 2);
  EXPECT_THAT(run.err, AllOf(HasSubstr("no.such.flavor"), HasSubstr("modelarts.kat1.8xlarge")));
}

TEST_F(CloudRun, RefusesAKeyThatOthersCanRead) {
  const std::string file = suite(kResults);
  ::chmod((folder_ / "key.json").c_str(), 0644);
  const CommandResult run = assay({"run", file});
  EXPECT_EQ(run.status.code, 3);
  EXPECT_THAT(run.err, HasSubstr("chmod 600"));
}

TEST_F(CloudRun, WritesItsSecretNowhere) {
  job_fault({{"kind", "fail"}, {"after_s", 0.1}});
  const CommandResult failed = assay({"run", suite("env; sleep 600")});
  EXPECT_EQ(failed.status.code, 5);
  fault({{"kind", "status"}, {"status", 403}, {"code", kSecret}, {"count", 1}});
  const CommandResult refused = assay({"run", suite(kResults)});
  EXPECT_THAT(refused.err, HasSubstr("***"));
  EXPECT_THAT(failed.out + failed.err + refused.out + refused.err, Not(HasSubstr(kSecret)));
  std::size_t searched = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder_)) {
    const std::string name = entry.path().filename();
    if (!entry.is_regular_file() || name == "emulator.json" || name == "key.json") continue;
    ++searched;
    EXPECT_THAT(read_file(entry.path()), Not(HasSubstr(kSecret))) << entry.path();
  }
  EXPECT_GE(searched, 10U);
}

}  // namespace
}  // namespace assay::cloud
