// assay pack and unpack on real runs, here and in an empty container.

#include <set>

#include <gmock/gmock.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/files.h"
#include "core/text.h"
#include "e2e/harness.h"
#include "needs.h"

namespace assay::e2e {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using namespace std::chrono_literals;

class PackedRuns : public AssayTest {
 protected:
  void make_run() {
    const fs::path suite =
        write("suite.yaml",
              "name: travel\ndefaults: {rules: {repeat-spread: {max: 1}}}\n"
              "cases: [{case: null:native:cpu:1:2:2, config: {steps: 20, step_ms: 30}}]\n");
    const CommandResult result = assay({"run", suite.string()});
    ASSERT_EQ(result.status.code, 0) << result.out << result.err;
    run_ = latest();
  }
  [[nodiscard]] CommandResult pack() const {
    return assay({"pack", run_.string(), "-o", packed_.string()});
  }
  [[nodiscard]] CommandResult unpack(std::vector<std::string> more = {}) const {
    std::vector<std::string> args{"unpack", packed_.string(), "-o", out_.string()};
    args.insert(args.end(), more.begin(), more.end());
    return assay(args);
  }
  [[nodiscard]] fs::path log() const {
    return run_ / read_json(run_ / "result.json")["cases"][0]["rounds"][1]["ranks"][1]["log"]
                      .get<std::string>();
  }

  // An own key that the run was not signed with, and that trusts nobody.
  void become_somebody_else() const {
    ::setenv("ASSAY_KEYS", (folder_ / "keys of somebody else").c_str(), 1);
    ::setenv("ASSAY_SITE_KEYS", (folder_ / "site").c_str(), 1);
  }
  void TearDown() override {
    ::unsetenv("ASSAY_SITE_KEYS");
    AssayTest::TearDown();
  }

  fs::path run_;
  const fs::path packed_ = folder_ / "travel.assay";
  const fs::path out_ = folder_ / "elsewhere/run";
};

TEST_F(PackedRuns, ARunIsUnpackedAndReportedByteForByte) {
  make_run();
  ASSERT_EQ(pack().status.code, 0);
  const CommandResult unpacked = unpack();
  EXPECT_EQ(unpacked.status.code, 0) << unpacked.out << unpacked.err;
  EXPECT_THAT(unpacked.out, AllOf(HasSubstr("each as it was packed"), HasSubstr("SHA256:"),
                                  HasSubstr("yourself, whose key is trusted by you")));
  const std::string before = read_file(run_ / "result.json");
  EXPECT_EQ(read_file(out_ / "result.json"), before);
  fs::remove(out_ / "result.json");
  EXPECT_EQ(assay({"report", out_.string()}).status.code, 0);
  EXPECT_EQ(read_file(out_ / "result.json"), before);
  EXPECT_THAT(unpack().err, HasSubstr("exists already"));
}

TEST_F(PackedRuns, WhoSignedIsSaidAndWhetherThatIsTrusted) {
  make_run();
  ASSERT_EQ(pack().status.code, 0);
  const std::string shown = assay({"key", "show"}).out;
  const std::string key = shown.substr(0, shown.find('\n'));
  become_somebody_else();
  const CommandResult unknown = unpack({"--verify"});
  EXPECT_EQ(unknown.status.code, 0) << unknown.err;
  EXPECT_THAT(unknown.out, AllOf(HasSubstr("a key that is not trusted here"),
                                 HasSubstr("assay key trust NAME " + key)));
  EXPECT_FALSE(fs::exists(out_));
  const CommandResult refused = unpack({"--trusted"});
  EXPECT_EQ(refused.status.code, 6);
  EXPECT_THAT(refused.err, HasSubstr("no key that is trusted here"));
  EXPECT_FALSE(fs::exists(out_));
  ASSERT_EQ(assay({"key", "trust", "lab", key, "--site"}).status.code, 0);
  EXPECT_THAT(assay({"key", "list"}).out,
              AllOf(HasSubstr("lab"), HasSubstr("trusted by this site")));
  const CommandResult trusted = unpack({"--trusted"});
  EXPECT_EQ(trusted.status.code, 0) << trusted.err;
  EXPECT_THAT(trusted.out, HasSubstr("lab, whose key is trusted by this site"));
  ASSERT_EQ(assay({"key", "untrust", "lab", "--site"}).status.code, 0);
  EXPECT_THAT(assay({"key", "list"}).out, Not(HasSubstr("lab")));
}

TEST_F(PackedRuns, EvidenceThatWasChangedBeforeItWasPackedIsNamed) {
  make_run();
  std::string text = read_file(log());
  text.replace(text.find("\"samples\": "), 12, "\"samples\": 9");
  write_file_atomic(log(), text);
  fs::remove(run_ / "system.json");
  ASSERT_EQ(pack().status.code, 0);
  const CommandResult refused = unpack();
  EXPECT_EQ(refused.status.code, 6) << refused.out;
  EXPECT_THAT(refused.out, AllOf(HasSubstr(log().filename().string()), HasSubstr("system.json")));
  EXPECT_THAT(refused.err, HasSubstr("not what was sealed"));
  EXPECT_FALSE(fs::exists(out_));
  EXPECT_EQ(unpack({"--flawed-too"}).status.code, 6);
  EXPECT_TRUE(fs::exists(out_ / "plan.json"));
}

TEST_F(PackedRuns, ACutFileNamesWhatItLacks) {
  make_run();
  ASSERT_EQ(pack().status.code, 0);
  fs::resize_file(packed_, fs::file_size(packed_) - 40);
  const CommandResult cut = unpack({"--verify"});
  EXPECT_EQ(cut.status.code, 6) << cut.err;
  EXPECT_THAT(cut.err, HasSubstr("not what was packed"));
  fs::resize_file(packed_, 30);
  EXPECT_EQ(unpack().status.code, 2);
}

TEST_F(PackedRuns, ASecretInThePlanStaysHere) {
  const fs::path suite = script_suite("true", "    env: {HF_TOKEN: hunter2}\n");
  (void)assay({"run", suite.string()});
  run_ = latest();
  const CommandResult refused = pack();
  EXPECT_EQ(refused.status.code, 2);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("HF_TOKEN"), Not(HasSubstr("hunter2"))));
  EXPECT_FALSE(fs::exists(packed_));
}

// Adds the program and the libraries that it is linked with, and nothing else.
void make_root(const fs::path& root, const fs::path& program) {
  std::set<std::string> files;
  const CommandResult linked = run_command({"ldd", program.string()});
  for (const std::string_view line : split(linked.out, '\n')) {
    const std::size_t slash = line.find('/');
    if (slash == std::string_view::npos) continue;
    files.insert(std::string(line.substr(slash, line.find(' ', slash) - slash)));
  }
  for (const std::string& file : files) {
    const fs::path target = root / file.substr(1);
    fs::create_directories(target.parent_path());
    fs::copy_file(file, target, fs::copy_options::overwrite_existing);
  }
  fs::copy_file(program, root / program.filename());
  for (const char* name : {"tmp", "travel", "proc", "dev", "etc"})
    fs::create_directories(root / name);
}

TEST_F(PackedRuns, AnEmptyContainerVerifiesAndReportsByteForByte) {
  make_run();
  ASSERT_EQ(pack().status.code, 0);
  const fs::path root = folder_ / "root";
  for (const char* program : {"assay", "assay-full"})
    make_root(root, fs::path(ASSAY_BIN_DIR) / program);
  fs::create_directories(folder_ / "travel");
  fs::copy_file(packed_, folder_ / "travel/run.assay");
  CommandOptions limit;
  limit.timeout = 120s;
  const std::vector<std::string> storage{"--runtime=runc",
                                         "--cgroup-manager=cgroupfs",
                                         "--storage-driver=vfs",
                                         "--root=" + (folder_ / "storage").string(),
                                         "--runroot=" + (folder_ / "run").string(),
                                         "--tmpdir=" + (folder_ / "state").string()};
  const auto podman = [&](const std::vector<std::string>& args) {
    std::vector<std::string> argv{"podman"};
    argv.insert(argv.end(), storage.begin(), storage.end());
    argv.insert(argv.end(), args.begin(), args.end());
    return run_command(argv, limit);
  };
  const fs::path image = folder_ / "image.tar";
  (void)run_command({"tar", "-C", root.string(), "-cf", image.string(), "."}, limit);
  const bool has_podman =
      find_program("podman") && find_program("runc") &&
      podman({"import", image.string(), "localhost/assay-travel:1"}).status.ok();
  const auto inside = [&](const std::vector<std::string>& args) {
    std::vector<std::string> argv{"run",
                                  "--rm",
                                  "--network=none",
                                  "--ulimit",
                                  "nofile=1024:1024",
                                  "--ulimit",
                                  "nproc=512:512",
                                  "--volume",
                                  (folder_ / "travel").string() + ":/travel",
                                  "localhost/assay-travel:1",
                                  "/assay"};
    argv.insert(argv.end(), args.begin(), args.end());
    return podman(argv);
  };
  if (!has_podman || !inside({"--version"}).status.ok())
    GTEST_SKIP() << needs::system("podman cannot run a container");
  const CommandResult unpacked = inside({"unpack", "/travel/run.assay", "-o", "/travel/unpacked"});
  EXPECT_EQ(unpacked.status.code, 0) << unpacked.out << unpacked.err;
  EXPECT_THAT(unpacked.out, HasSubstr("a key that is not trusted here"));
  fs::remove(folder_ / "travel/unpacked/result.json");
  const CommandResult reported = inside({"report", "/travel/unpacked"});
  EXPECT_EQ(reported.status.code, 0) << reported.out << reported.err;
  EXPECT_EQ(read_file(folder_ / "travel/unpacked/result.json"), read_file(run_ / "result.json"));
}

}  // namespace assay::e2e
