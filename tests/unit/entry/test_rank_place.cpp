#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "entry/rank_place.h"
#include "entry/ssh_config.h"

namespace assay::entry {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(RankPlace, HasTheEnvironmentOfTheRankWithoutItsMark) {
  const std::string environ("RANK=3\0ASSAY_ROUND_ID=r/1\0nonsense\0EMPTY=\0", 43);
  EXPECT_THAT(environment_beside(environ, "r/1"),
              ElementsAre("RANK=3", "EMPTY=", "ASSAY_ENTERED=r/1"));
}

TEST(RankPlace, OfARoundThatHasEndedIsNone) {
  EXPECT_FALSE(find_place("there/is/no/such/round", 1));
}

TEST(SshConfig, CarriesTheEnvironmentInOneLine) {
  const RankPlace place{1, {"A=with \"quotes\" and \\", "B=line\nbreak", "C=x"}, "/"};
  const std::string config = sshd_config("/tmp/k", place, "");
  EXPECT_THAT(config, HasSubstr("SetEnv \"A=with \\\"quotes\\\" and \\\\\" \"C=x\"\n"));
  EXPECT_THAT(config, Not(HasSubstr("break")));
  EXPECT_THAT(config, HasSubstr("PasswordAuthentication no"));
}

TEST(SshConfig, BeginsInTheRanksFolder) {
  const RankPlace place{1, {}, "/data/it's here"};
  EXPECT_THAT(sshd_config("/tmp/k", place, "/usr/lib/sftp-server"),
              HasSubstr("Subsystem sftp /usr/lib/sftp-server\nForceCommand exec /bin/sh "
                        "/tmp/k/begin\n"));
  EXPECT_THAT(begin_script(place), HasSubstr("cd -- '/data/it'"));
  // Without that program there is no script: sshd's own sftp would be one of its commands.
  EXPECT_THAT(sshd_config("/tmp/k", place, ""), HasSubstr("Subsystem sftp internal-sftp\n"));
  EXPECT_THAT(sshd_config("/tmp/k", {1, {}, "/data/job"}, ""),
              AllOf(HasSubstr("internal-sftp -d /data/job\n"), Not(HasSubstr("ForceCommand"))));
}

}  // namespace
}  // namespace assay::entry
