// ResNet-20 on two nodes that ssh reaches, submitted by the form in a real browser.

#include <cstdlib>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/json_access.h"
#include "core/process.h"
#include "core/text.h"
#include "e2e/ssh_hosts.h"
#include "e2e/tester/tester_process.h"
#include "e2e/web/browser_story.h"

namespace assay::serve {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

class ResnetPages : public TesterTest {
 protected:
  [[nodiscard]] std::string missing() const {
    if (const std::string lacks = e2e::missing_for_a_story(); !lacks.empty()) return lacks;
    if (!sshd_.missing().empty()) return sshd_.missing();
    if (!find_program("jupyter-notebook")) return needs::package("jupyter-notebook");
    if (!fs::exists(fs::path(ASSAY_BIN_DIR) / "assay-train"))
      return needs::system("a build with assay-train");
    return "";
  }
  void tell(const std::string& device, const std::string& language) {
    const auto node = [](int number) {
      return fmt::format("  - {{name: n{}, address: {}, devices: 1}}\n", number,
                         e2e::SshDaemon::host(number));
    };
    const fs::path nodes =
        write("nodes.yaml", "nodes:\n" + node(1) + node(2) +
                                e2e::ssh_settings(folder_ / "sshd", sshd_.port(), sshd_.cache()));
    start_tester({"--nodes", nodes.string()});
    ASSERT_TRUE(e2e::eventually(
        [&] {
          int reached = 0;
          const Json found = parse_json_or_null(assay({"nodes", "--format", "json"}).out);
          for (const Json& one : list_at(found, "nodes"))
            reached += one.value("lost", true) ? 0 : 1;
          return reached == 2;
        },
        60s));
    const CommandResult link = assay({"serve", "link", "--data", data_.string()});
    ASSERT_TRUE(link.status.ok()) << link.err;
    std::vector<std::string> arguments{std::string(trim(link.out)), device, language};
    if (const char* shots = std::getenv("ASSAY_SCREENSHOTS")) arguments.emplace_back(shots);
    const CommandResult story = e2e::tell_story("resnet_story.py", arguments, 280s);
    EXPECT_EQ(story.status.code, 0) << story.out << story.err;
  }

  e2e::SshDaemon sshd_{folder_};
};

TEST_F(ResnetPages, AtADeskInEnglish) {
  if (const std::string lacks = missing(); !lacks.empty()) GTEST_SKIP() << lacks;
  tell("desk", "en");
}

TEST_F(ResnetPages, OnAPhoneInChinese) {
  if (const std::string lacks = missing(); !lacks.empty()) GTEST_SKIP() << lacks;
  tell("phone", "zh");
}

}  // namespace
}  // namespace assay::serve
