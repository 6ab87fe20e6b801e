#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "aisbench/pack_package.h"
#include "aisbench/package.h"
#include "core/error.h"
#include "core/files.h"
#include "core/subprocess.h"
#include "temporary_folder.h"
#include "unit/aisbench/local_time.h"

namespace assay::aisbench {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class PackageFolder : public ::testing::Test {
 protected:
  void put(const fs::path& name, const std::string& content) const {
    make_directories((folder_ / name).parent_path());
    write_file_atomic(folder_ / name, content, false);
  }
  [[nodiscard]] PackReport pack(const std::string& output, bool modelarts = false) const {
    return pack_package(
        {folder_ / "w", folder_ / output, folder_ / "adapter.py", modelarts, false});
  }
  [[nodiscard]] std::string listing(const std::string& archive) const {
    return run_command({"tar", "tvf", (folder_ / archive).string()}).out;
  }
  testing::TemporaryFolder temporary_;
  const fs::path folder_ = temporary_.path();
};

TEST_F(PackageFolder, IsFoundFromItsCodeToo) {
  put("w/code/benchmark.sh", "export RUNTYPE=\"modelarts\"\n");
  put("w/code/config.json", "{}");
  const Package package = open_package(folder_ / "w/code");
  EXPECT_EQ(package.base, fs::canonical(folder_ / "w"));
  EXPECT_TRUE(package.on_modelarts());
  EXPECT_EQ(package.config_json, package.base / "code/config.json");
}

TEST_F(PackageFolder, OfVersion2HasItsConfigurationAboveTheCode) {
  put("w/code/benchmark.sh", "");
  put("w/code/config.json", "{}");
  put("w/config/config.json", "{}");
  put("w/dependencies/logging/libais_utils.so", "");
  const Package package = open_package(folder_ / "w");
  EXPECT_EQ(package.config_json, package.base / "config/config.json");
  EXPECT_THAT(package.closed_libraries,
              ElementsAre(package.base / "dependencies/logging/libais_utils.so"));
}

TEST_F(PackageFolder, ThatIsNoneIsRefused) {
  EXPECT_THROW((void)open_package(folder_), Error);
  EXPECT_THROW((void)open_package(folder_ / "missing"), Error);
}

TEST(RunType, IsTheLastThatTheScriptSets) {
  EXPECT_EQ(run_type_of("RUNTYPE='a'\n  export RUNTYPE=modelarts # x\n#RUNTYPE=c"), "modelarts");
  EXPECT_EQ(run_type_of("echo $RUNTYPE"), "");
}

TEST(RunType, IsChangedInPlace) {
  EXPECT_EQ(with_run_type("a\nRUNTYPE=\"cluster_offline\"\nb\n", "modelarts"),
            "a\nRUNTYPE=\"modelarts\"\nb\n");
  EXPECT_FALSE(with_run_type("echo", "modelarts").has_value());
}

TEST(TestInfo, IsFoundHoweverItsKeysAreSpelt) {
  const TestInfo info = read_test_info(
      Json{{"Test_ID", "20261115-ab12Cd"},
           {"Divsion", "open"},
           {"tester", {{"tester_server_ip", "10.0.0.1"}, {"Tester-Server-Port", "9000"}}}},
      "config.json");
  EXPECT_EQ(info.test_id, "20261115-ab12Cd");
  EXPECT_TRUE(info.has_test_id);
  EXPECT_EQ(info.division, "open");
  EXPECT_EQ(info.tester_ip, "10.0.0.1");
  EXPECT_EQ(info.tester_port, 9000);
  EXPECT_TRUE(info.has_tester);
}

TEST(TestInfo, OfAWrongTypeIsAnErrorThatNamesIt) {
  EXPECT_THROW((void)read_test_info(Json{{"testid", true}}, "c"), Error);
  EXPECT_THROW((void)read_test_info(Json{{"port", 70000}}, "c"), Error);
  EXPECT_THROW((void)read_test_info(Json::array(), "c"), Error);
}

TEST(StubLines, AreThoseOfTheDocument) {
  EXPECT_EQ(config_info_line({}),
            "get ConfigInfo testid:20210126-ljp0IY, Mode:training, Model:resnet50_v1.5, "
            "Divsion:close, Scenario:generic, test_object_type:single, "
            "tester_server_ip:127.0.0.1, tester_server_port:9527");
  EXPECT_EQ(stub_line(local(2022, 7, 13, 11, 27, 19), "INFO", "x"),
            "[2022-7-13 11:27:19][INFO]x\n");
}

TEST_F(PackageFolder, IsPackedWithTheSameBytesAgain) {
  put("w/benchmark.sh", "RUNTYPE=\"cluster_offline\"\n");
  put("w/config/config.sh", "export RANK_SIZE=1\n");
  put("w/log/old.log", "x");
  put("adapter.py", "# adapter\n");
  const PackReport one = pack("name.tar.gz");
  fs::last_write_time(folder_ / "w/benchmark.sh", fs::file_time_type::clock::now());
  fs::permissions(folder_ / "w/benchmark.sh", fs::perms::owner_read);
  fs::create_directory(folder_ / "again");
  const PackReport two = pack("again/name.tar.gz");
  EXPECT_EQ(one.sha256, two.sha256);
  const std::string list = listing("name.tar.gz");
  EXPECT_THAT(list, HasSubstr("-rwxr-xr-x 0/0"));
  for (const char* member : {" name/code/benchmark.sh", " name/code/ais_utils.py", " name/log/\n",
                             " name/result/\n", " name/tmp/\n", " name/code/config/config.sh"})
    EXPECT_THAT(list, HasSubstr(member));
  EXPECT_THAT(list, Not(HasSubstr("old.log")));
}

TEST_F(PackageFolder, ForModelArtsHasThatRunType) {
  put("w/code/benchmark.sh", "RUNTYPE=\"cluster_offline\"\n");
  put("adapter.py", "");
  (void)pack("m.tar.gz", true);
  EXPECT_EQ(run_command({"tar", "xOf", (folder_ / "m.tar.gz").string(), "m/code/benchmark.sh"}).out,
            "RUNTYPE=\"modelarts\"\n");
}

TEST_F(PackageFolder, WithKeysInItIsNotPacked) {
  put("w/code/benchmark.sh", "");
  put("adapter.py", "");
  put("w/code/config/modelarts_config.py",
      "access_config.access_key = ''\naccess_config.secret_access_key = 'topSecret1'\n"
      "'access_key': None,\n");
  try {
    (void)pack("p.tar.gz");
    FAIL() << "packed";
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("code/config/modelarts_config.py:2: secret_access_key"));
    EXPECT_THAT(e.what(), Not(HasSubstr("topSecret1")));
  }
  EXPECT_FALSE(fs::exists(folder_ / "p.tar.gz"));
  EXPECT_NO_THROW((void)pack_package(
      {folder_ / "w", folder_ / "p.tar.gz", folder_ / "adapter.py", false, true}));
}

TEST_F(PackageFolder, OfACheckoutSaysWhichCommitAndWhatChanged) {
  put("w/benchmark.sh", "one\n");
  put("adapter.py", "");
  const auto git = [&](std::vector<std::string> args) {
    args.insert(args.begin(), {"git", "-C", (folder_ / "w").string(), "-c", "user.name=t", "-c",
                               "user.email=t@t"});
    const CommandResult done = run_command(args);
    ASSERT_TRUE(done.status.ok()) << done.err;
  };
  git({"init", "-q", "-b", "trunk"});
  git({"remote", "add", "origin", "https://me:topSecret2@example.org/w.git"});
  git({"add", "-A"});
  git({"commit", "-qm", "x"});
  put("w/benchmark.sh", "two\n");
  const PackReport report = pack("g.tar.gz");
  const auto member = [&](const std::string& name) {
    return run_command({"tar", "xOf", (folder_ / "g.tar.gz").string(), "g/code/" + name}).out;
  };
  const std::string patch = report.commit.substr(0, 12) + ".patch";
  EXPECT_EQ(member("doc/version.txt"),
            "git_url:https://example.org/w.git\nbranch:trunk\ncommitid:" + report.commit +
                "\npatch_file_name:" + patch + "\n");
  EXPECT_THAT(member("doc/" + patch), HasSubstr("+two"));
}

}  // namespace
}  // namespace assay::aisbench
