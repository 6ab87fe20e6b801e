#include <cstdlib>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/files.h"
#include "core/text.h"
#include "e2e/ais/ais_package.h"

namespace assay::e2e {
namespace {

using ::testing::HasSubstr;
using std::chrono_literals::operator""s;

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
  // The tester computed the record too.
  bool has_record = false;
  for (const auto& entry : fs::recursive_directory_iterator(folder_ / "tester"))
    if (entry.path().filename() == "result.json")
      has_record |= read_json(entry.path())["cases"][0]["rounds"][0].contains("train_result_info");
  EXPECT_TRUE(has_record);
}

TEST_F(AisForATester, SaysBeforeTheRunThatItsTestIsNotKnown) {
  package("touch ran\n");
  write("pkg/code/config.json",
        fmt::format(R"({{"testid": "20210126-ljp0IY", "tester_server_ip": "127.0.0.1",
                        "tester_server_port": {}}})",
                    port()));
  const CommandResult refused = assay({"ais", "pkg"}, 60s);
  EXPECT_EQ(refused.status.code, 2) << refused.out << refused.err;
  EXPECT_THAT(refused.err, HasSubstr("has no test '20210126-ljp0IY'"));
  EXPECT_FALSE(fs::exists(folder_ / "pkg/code/ran"));
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

}  // namespace
}  // namespace assay::e2e
