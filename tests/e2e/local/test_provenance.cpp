// What ran is what the record says.

#include <gmock/gmock.h>

#include "core/files.h"
#include "core/sha256.h"
#include "e2e/harness.h"

namespace assay::e2e {

using ::testing::AllOf;
using ::testing::HasSubstr;

class Provenance : public AssayTest {
 protected:
  std::string program(const std::string& text) {
    fs::create_directories(folder_ / "work");
    const fs::path file = write("work/train.sh", "#!/bin/sh\n" + text + "\n");
    fs::permissions(file, fs::perms::owner_all);
    return write("own.yaml", "name: own\ncases:\n  - {name: own, repeats: 2, workdir: " +
                                 (folder_ / "work").string() +
                                 ", command: ./train.sh, env: {OMP_NUM_THREADS: '3'}}\n")
        .string();
  }
};

TEST_F(Provenance, EveryRoundKnowsWhatItRan) {
  const CommandResult run = assay({"run", program("true")});
  ASSERT_EQ(run.status.code, 0) << run.out << run.err;
  const Json ran = result()["cases"][0]["rounds"][1]["executed"][0];
  EXPECT_EQ(ran["program"]["path"], (folder_ / "work/train.sh").string());
  EXPECT_EQ(ran["program"]["sha256"], sha256(read_file(folder_ / "work/train.sh")));
  EXPECT_EQ(ran["command"], Json::array({"./train.sh"}));
  EXPECT_EQ(ran["given"]["OMP_NUM_THREADS"], "3");
  EXPECT_EQ(ran["code"]["files"], 1);
}

TEST_F(Provenance, AProgramThatChangesBetweenRoundsMakesTheCaseInvalid) {
  const CommandResult run = assay({"run", program("echo '#' >> train.sh")});
  EXPECT_EQ(run.status.code, 6) << run.out << run.err;
  EXPECT_THAT(run.out, HasSubstr("the rounds did not run the same program"));
}

TEST_F(Provenance, AnOptionThatTheCommandDoesNotTakeIsAnError) {
  const CommandResult run = assay({"run", program("true"), "--set", "cases.own.config.lr=0.5"});
  EXPECT_EQ(run.status.code, 2) << run.out;
  EXPECT_THAT(run.err,
              AllOf(HasSubstr("--set cases.own.config.lr=0.5"),
                    HasSubstr("config.lr has no way to the command"), HasSubstr("{config}")));
}

}  // namespace assay::e2e
