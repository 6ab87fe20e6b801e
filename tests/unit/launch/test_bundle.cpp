#include <cstdlib>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/files.h"
#include "core/sha256.h"
#include "core/subprocess.h"
#include "error_of.h"
#include "launch/agents/bundle.h"
#include "launch/agents/ssh/ssh_command.h"
#include "temporary_folder.h"

namespace assay::launch {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Bundle, HoldsTheProgramsThatThePlanTakesFromBindir) {
  plan::Plan plan;
  plan::CasePlan one;
  one.command = {"{bindir}/assay-micro", "null"};
  plan::CasePlan two;
  two.command = {"/bin/sh", "-c", "exec {bindir}/assay-train resnet20 --config {config}"};
  plan.cases = {one, two, one};
  plan.vendor_data["samples"] = {{{"command", {"{bindir}/assay-nvml", "--interval-ms", "100"}}}};
  plan.vendor_data["state"]["command"] = {"{bindir}/assay-state"};
  EXPECT_THAT(programs_of(plan), ElementsAre("assay-agent", "assay-micro", "assay-train",
                                             "assay-nvml", "assay-state"));
}

TEST(Bundle, ShipsLibrariesButNotTheNodesOwn) {
  EXPECT_THAT(
      libraries_to_ship("\tlinux-vdso.so.1 (0x00007ffd)\n"
                        "\tlibtorch.so.1.13 => /lib/x86_64-linux-gnu/libtorch.so.1.13 (0x1)\n"
                        "\tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x2)\n"
                        "\tlibmissing.so => not found\n"
                        "\t/lib64/ld-linux-x86-64.so.2 (0x3)\n"),
      ElementsAre("/lib/x86_64-linux-gnu/libtorch.so.1.13"));
}

/// A folder of programs, and a cache of its own for what is packed.
class MakeBundle : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* before = std::getenv("XDG_CACHE_HOME");
    if (before != nullptr) before_ = before;
    ::setenv("XDG_CACHE_HOME", (temporary_.path() / "cache").c_str(), 1);
    fs::create_directories(bin());
    write_program("assay-agent", "#!/bin/sh\necho agent $2\n");
  }
  void TearDown() override {
    if (before_)
      ::setenv("XDG_CACHE_HOME", before_->c_str(), 1);
    else
      ::unsetenv("XDG_CACHE_HOME");
  }
  [[nodiscard]] fs::path bin() const { return temporary_.path() / "bin"; }
  void write_program(const std::string& name, const std::string& content) const {
    std::ofstream(bin() / name, std::ios::binary) << content;
    fs::permissions(bin() / name, fs::perms::owner_all);
  }
  static bool is_gzip(const fs::path& file) { return read_file(file).starts_with("\x1f\x8b"); }

  testing::TemporaryFolder temporary_;

 private:
  std::optional<std::string> before_;
};

TEST_F(MakeBundle, OfSmallProgramsIsAPlainTar) {
  const Bundle bundle = make_bundle(bin(), {"assay-agent"});
  EXPECT_FALSE(is_gzip(bundle.file));
  EXPECT_EQ(bundle.sha256, sha256_file(bundle.file));
  EXPECT_EQ(bundle.size, fs::file_size(bundle.file));
}

TEST_F(MakeBundle, OfLargeProgramsIsCompressedAndAHostUnpacksIt) {
  constexpr std::size_t kLarge = 17U << 20;
  write_program("large", std::string(kLarge, 'x'));
  const Bundle bundle = make_bundle(bin(), {"assay-agent", "large"});
  EXPECT_TRUE(is_gzip(bundle.file));
  EXPECT_LT(bundle.size, kLarge / 10);
  EXPECT_EQ(bundle.sha256, sha256_file(bundle.file));

  SshTarget target;
  target.cache = (temporary_.path() / "host").string();
  const CommandResult started = run_command(
      {"/bin/sh", "-c", "cat " + bundle.file.string() + " | " + start_command(target, bundle, 7)});
  EXPECT_THAT(started.out, HasSubstr("agent 7\n")) << started.err;
  const fs::path there = target.cache + "/bin-" + bundle.sha256.substr(0, 16);
  EXPECT_EQ(sha256_file(there / "large"), sha256_file(bin() / "large"));
}

TEST_F(MakeBundle, IsMadeOnceForTheSamePrograms) {
  const Bundle first = make_bundle(bin(), {"assay-agent"});
  const fs::path same = temporary_.path() / "same";
  fs::create_hard_link(first.file, same);
  EXPECT_EQ(make_bundle(bin(), {"assay-agent"}).sha256, first.sha256);
  EXPECT_TRUE(fs::equivalent(first.file, same));
  write_program("assay-agent", "#!/bin/sh\necho another agent\n");
  EXPECT_NE(make_bundle(bin(), {"assay-agent"}).sha256, first.sha256);
}

// Another run may be sending it.
TEST_F(MakeBundle, OfOtherProgramsStaysWhileItMayBeInUse) {
  std::vector<fs::path> made;
  const auto make = [&] {
    write_program("assay-agent", "#!/bin/sh\necho " + std::string(made.size() + 1, 'x') + "\n");
    made.push_back(make_bundle(bin(), {"assay-agent"}).file);
  };
  for (int i = 0; i < 6; ++i) make();
  for (const fs::path& file : made) EXPECT_TRUE(fs::exists(file)) << file;
  fs::last_write_time(made[0], fs::file_time_type::clock::now() - std::chrono::hours(2));
  make();
  EXPECT_FALSE(fs::exists(made[0]));
  EXPECT_TRUE(fs::exists(made[1]));
}

TEST_F(MakeBundle, NamesAProgramThatIsMissing) {
  EXPECT_THAT(testing::error_of([&] {
                return make_bundle(bin(), {"assay-agent", "ghost"});
              }),
              HasSubstr("ghost is missing"));
}

}  // namespace
}  // namespace assay::launch
