// `assay check` over a cluster: hosts on loopback, and hosts in network namespaces.

#include <gmock/gmock.h>

#include "core/files.h"
#include "net_namespaces.h"
#include "ssh_hosts.h"

namespace assay::e2e {

using ::testing::HasSubstr;
using ::testing::Not;

class Namespaces : public AssayTest {
 protected:
  void SetUp() override {
    AssayTest::SetUp();
    if (!hosts_.missing().empty()) GTEST_SKIP() << hosts_.missing();
  }
  void TearDown() override {
    AssayTest::TearDown();
    EXPECT_TRUE(eventually([this] { return processes_with(hosts_.cache().string()).empty(); }));
  }

  NamespaceHosts hosts_{folder_, 3};
};

TEST_F(Namespaces, HostsInNamespacesRunASuite) {
  const fs::path file =
      write("suite.yaml", "name: s\n" + hosts_.cluster() +
                              "cases:\n  - {case: 'null:native:cpu:3:1:1', config: {steps: 60}}\n");
  const CommandResult run = assay({"run", file.string()});
  EXPECT_EQ(run.status.code, 0) << run.out << run.err;
}

}  // namespace assay::e2e
