// Large programs that come to many hosts as a tree: an sshd in each of several network namespaces,
// hosts that cannot be reached by others, that pass on damaged bytes, that die in the middle.

#include <random>

#include <gmock/gmock.h>
#include <signal.h>

#include "core/files.h"
#include "core/text.h"
#include "e2e/net_namespaces.h"
#include "send_signal.h"

namespace assay::e2e {

using ::testing::HasSubstr;
using namespace std::chrono_literals;

namespace {

constexpr const char* kPreload = ASSAY_BIN_DIR "/libbad_disk.so";
constexpr int kHosts = 6;

}  // namespace

class ProgramSharing : public AssayTest {
 protected:
  void SetUp() override {
    AssayTest::SetUp();
    if (!hosts_.missing().empty()) GTEST_SKIP() << hosts_.missing();
  }
  /// A case of assay-micro, which comes with the programs, on so many nodes.
  [[nodiscard]] fs::path suite(int nodes, const std::string& bundles = "tree") const {
    return write("suite.yaml", "name: s\n" + hosts_.cluster("bundles: " + bundles) +
                                   "cases:\n  - {case: 'null:native:cpu:" + std::to_string(nodes) +
                                   ":1:1', config: {steps: 60}}\n");
  }
  /// The journal's events of this name.
  [[nodiscard]] std::vector<Json> events(const std::string& name) const {
    std::vector<Json> out;
    const std::string journal = read_file(latest() / "journal.jsonl");
    for (const auto line : split(journal, '\n'))
      if (const Json event = parse_json_or_null(line);
          event.is_object() && event.value("event", "") == name)
        out.push_back(event);
    return out;
  }
  /// Bytes that came to a host in one sharing, from whomever.
  [[nodiscard]] static std::uint64_t bytes_to(const Json& shared, int number) {
    std::uint64_t sum = 0;
    for (const Json& one : shared["hosts"])
      if (one["host"] == NamespaceHosts::host(number)) sum += one["bytes"].get<std::uint64_t>();
    return sum;
  }
  [[nodiscard]] std::vector<std::string> in_cache(int number) const {
    std::vector<std::string> out;
    for (const auto& entry : fs::directory_iterator(hosts_.cache() / NamespaceHosts::host(number)))
      out.push_back(entry.path().filename());
    return out;
  }

  NamespaceHosts hosts_{folder_, kHosts};
};

TEST_F(ProgramSharing, ProgramsLeaveTheControllerOnceAndHostsPassThemOn) {
  const std::uint64_t before = hosts_.net().sent_by_controller();
  const CommandResult run = assay({"run", suite(kHosts).string()}, 170s);
  ASSERT_EQ(run.status.code, 0) << run.out << run.err;
  const std::uint64_t as_tree = hosts_.net().sent_by_controller() - before;
  ASSERT_EQ(events("programs_shared").size(), 1u);
  const Json shared = events("programs_shared")[0];
  const auto size = shared["size"].get<std::uint64_t>();
  EXPECT_EQ(shared["controller_bytes"], size);
  EXPECT_EQ(shared["host_bytes"], size * (kHosts - 1));
  EXPECT_FALSE(shared.contains("notices")) << shared;
  for (int i = 1; i <= kHosts; ++i) {
    EXPECT_EQ(bytes_to(shared, i), size) << i;
    EXPECT_THAT(in_cache(i), ::testing::Not(::testing::Contains(::testing::EndsWith(".part"))));
  }
  for (const Json& rank : result()["cases"][0]["rounds"][0]["ranks"]) EXPECT_EQ(rank["steps"], 60);

  // A second run finds everything there.
  const CommandResult again = assay({"run", (folder_ / "suite.yaml").string()}, 170s);
  EXPECT_EQ(again.status.code, 0) << again.out << again.err;
  EXPECT_TRUE(events("programs_shared").empty());

  // Sent by the controller to each host, it costs the controller more than the tree did.
  fs::remove_all(hosts_.cache());
  const std::uint64_t between = hosts_.net().sent_by_controller();
  const CommandResult direct = assay({"run", suite(kHosts, "direct").string()}, 170s);
  EXPECT_EQ(direct.status.code, 0) << direct.out << direct.err;
  const std::uint64_t as_star = hosts_.net().sent_by_controller() - between;
  EXPECT_TRUE(events("programs_shared").empty());
  EXPECT_GT(as_star, size * kHosts);
  RecordProperty("bundle_bytes", std::to_string(size));
  RecordProperty("controller_bytes_tree", std::to_string(as_tree));
  RecordProperty("controller_bytes_direct", std::to_string(as_star));
}

// Programs that are large, and packed therefore; what an agent needs is small beside them.
TEST_F(ProgramSharing, LargeProgramsOfACaseOnManyNodesGoAsATreeByThemselves) {
  use_dynamic_agent();
  std::string filler = "#!/bin/sh\necho here\nexit 0\n";
  std::mt19937 random(1);
  while (filler.size() < (64U << 20)) filler += static_cast<char>(random());
  const fs::path program = folder_ / "bin/assay-filler";
  write_file_atomic(program, filler, /*sync=*/false);
  fs::permissions(program, fs::perms::owner_all);
  const auto run_with = [&](const std::string& bundles) {
    fs::remove_all(hosts_.cache());
    const std::uint64_t before = hosts_.net().sent_by_controller();
    const CommandResult run =
        assay({"run", write("suite.yaml", "name: s\n" + hosts_.cluster("bundles: " + bundles) +
                                              "cases:\n  - {name: c, nodes: 6, command: "
                                              "['{bindir}/assay-filler'], rules: {min-steps: off, "
                                              "min-duration: off, perflog-present: off}}\n")
                          .string()},
              170s);
    EXPECT_EQ(run.status.code, 0) << run.out << run.err;
    return hosts_.net().sent_by_controller() - before;
  };
  const std::uint64_t by_itself = run_with("auto");
  ASSERT_EQ(events("programs_shared").size(), 1u);
  const auto size = events("programs_shared")[0]["size"].get<std::uint64_t>();
  EXPECT_EQ(events("programs_shared")[0]["controller_bytes"], size);
  const std::uint64_t direct = run_with("direct");
  EXPECT_TRUE(events("programs_shared").empty());
  EXPECT_LT(by_itself * 2, direct);
  RecordProperty("bundle_bytes", std::to_string(size));
  RecordProperty("controller_bytes_tree", std::to_string(by_itself));
  RecordProperty("controller_bytes_direct", std::to_string(direct));
}

TEST_F(ProgramSharing, AHostThatItsPeersDoNotReachIsNamedAndNobodyWaitsForIt) {
  // The first one to have them: nobody gets them there.
  for (int i = 2; i <= kHosts; ++i) hosts_.net().drop(i, 1);
  const CommandResult run = assay({"run", suite(kHosts).string()}, 170s);
  ASSERT_EQ(run.status.code, 0) << run.out << run.err;
  const Json shared = events("programs_shared").at(0);
  const auto size = shared["size"].get<std::uint64_t>();
  EXPECT_EQ(shared["controller_bytes"], size * 2) << shared;
  EXPECT_EQ(shared["host_bytes"], size * (kHosts - 2)) << shared;
  EXPECT_THAT(shared["notices"][0].get<std::string>(), HasSubstr("other hosts do not reach n1"));
  EXPECT_THAT(run.out + run.err, HasSubstr("other hosts do not reach n1"));
}

TEST_F(ProgramSharing, HostsThatDoNotReachEachOtherGetThemFromTheController) {
  for (int from = 1; from <= kHosts; ++from)
    for (int to = 1; to <= kHosts; ++to)
      if (from != to) hosts_.net().refuse(from, to);
  const CommandResult run = assay({"run", suite(kHosts).string()}, 170s);
  ASSERT_EQ(run.status.code, 0) << run.out << run.err;
  const Json shared = events("programs_shared").at(0);
  EXPECT_EQ(shared["controller_bytes"], shared["size"].get<std::uint64_t>() * kHosts) << shared;
  EXPECT_EQ(shared["host_bytes"], 0);
  EXPECT_THAT(shared["notices"].dump(), HasSubstr("do not reach"));
}

TEST_F(ProgramSharing, DamagedBytesAreNoticedTheirSourceNamedAndOthersTakeItsPlace) {
  use_dynamic_agent();
  hosts_.set_environment(1, std::string("LD_PRELOAD=") + kPreload + " ASSAY_TEST_BAD_DISK=damage");
  const CommandResult run = assay({"run", suite(kHosts).string()}, 170s);
  ASSERT_EQ(run.status.code, 0) << run.out << run.err;
  const Json shared = events("programs_shared").at(0);
  EXPECT_THAT(shared["notices"].dump(), HasSubstr("n1 passed on programs that were damaged"));
  EXPECT_THAT(run.out + run.err, HasSubstr("n1 passed on programs that were damaged"));
  // What was right of it is not sent again, so the second host to get them from the controller got
  // the rest only.
  for (int i = 1; i <= kHosts; ++i)
    EXPECT_EQ(bytes_to(shared, i), shared["size"].get<std::uint64_t>()) << i << shared;
  for (const Json& rank : result()["cases"][0]["rounds"][0]["ranks"]) EXPECT_EQ(rank["steps"], 60);
}

TEST_F(ProgramSharing, ASourceThatDiesInTheMiddleIsReplacedAndTheTransferGoesOn) {
  use_dynamic_agent();
  const fs::path mark = folder_ / "hangs";
  hosts_.set_environment(1,
                         std::string("LD_PRELOAD=") + kPreload +
                             " ASSAY_TEST_BAD_DISK=hang ASSAY_TEST_BAD_DISK_MARK=" + mark.string());
  const pid_t pid = start({"run", suite(kHosts - 1).string()});
  ASSERT_TRUE(eventually([&] { return fs::exists(mark); }, 120s))
      << read_file_or_empty(folder_ / "assay.log");
  for (const pid_t agent : processes_with((hosts_.cache() / "n1").string()))
    send_signal(agent, SIGKILL);
  const auto status = wait(pid, 170s);
  ASSERT_TRUE(status) << "it waits for the dead one\n" << read_file(folder_ / "assay.log");
  EXPECT_EQ(status->code, 0) << read_file(folder_ / "assay.log");
  const Json shared = events("programs_shared").at(0);
  const auto size = shared["size"].get<std::uint64_t>();
  for (int i = 2; i <= kHosts - 1; ++i) EXPECT_EQ(bytes_to(shared, i), size) << i << shared;
  std::uint64_t from_dead = 0;
  for (const Json& one : shared["hosts"])
    if (one.value("from", "") == "n1") from_dead += one["bytes"].get<std::uint64_t>();
  EXPECT_GT(from_dead, 0U) << shared;
  EXPECT_EQ(
      shared["controller_bytes"].get<std::uint64_t>() + shared["host_bytes"].get<std::uint64_t>(),
      size * (kHosts - 1))
      << "nothing came twice: " << shared;
  const std::vector<Json> left_out = events("host_left_out");
  ASSERT_EQ(left_out.size(), 1u);
  EXPECT_EQ(left_out[0]["host"], "n1");
  EXPECT_EQ(left_out[0]["instead"], "n6");
}

}  // namespace assay::e2e
