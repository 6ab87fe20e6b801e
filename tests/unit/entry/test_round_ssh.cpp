#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "entry/round_ssh.h"

namespace assay::entry {
namespace {

using ::testing::ElementsAre;

TEST(SshCall, IsReadAsOpenMpiWritesIt) {
  const SshCall call = read_ssh_call(
      {"-x", "worker-1", "PATH=/opt/bin:$PATH ; export PATH ;", "orted", "-mca", "ess", "env"});
  EXPECT_EQ(call.host, "worker-1");
  EXPECT_THAT(call.command,
              ElementsAre("PATH=/opt/bin:$PATH ; export PATH ;", "orted", "-mca", "ess", "env"));
  EXPECT_FALSE(call.no_input);
  EXPECT_EQ(call.foreign, "");
}

TEST(SshCall, IsReadAsHorovodWritesIt) {
  const SshCall call =
      read_ssh_call({"-o", "PasswordAuthentication=no", "-o", "StrictHostKeyChecking=no",
                     "ib-worker-0", "-p", "40022", "cd /job && python train.py"});
  EXPECT_EQ(call.host, "ib-worker-0");
  EXPECT_THAT(call.command, ElementsAre("cd /job && python train.py"));
}

TEST(SshCall, OptionsMayBeTogetherAndTheirValuesApartOrNot) {
  EXPECT_EQ(read_ssh_call({"-nqp2222", "host", "true"}).host, "host");
  EXPECT_TRUE(read_ssh_call({"-nqp2222", "host", "true"}).no_input);
  EXPECT_EQ(read_ssh_call({"-qp", "2222", "host"}).host, "host");
  EXPECT_TRUE(read_ssh_call({"-f", "host", "true"}).background);
}

TEST(SshCall, TheUserIsSaidInThreeWays) {
  EXPECT_EQ(read_ssh_call({"ann@host"}).user, "ann");
  EXPECT_EQ(read_ssh_call({"-l", "ann", "host"}).user, "ann");
  EXPECT_EQ(read_ssh_call({"ssh://ann@host:2222"}).user, "ann");
  EXPECT_EQ(read_ssh_call({"ssh://ann@host:2222"}).host, "host");
}

TEST(SshCall, WhatComesAfterTheCommandBeganIsItsOwn) {
  const SshCall call = read_ssh_call({"host", "ls", "-n", "-L"});
  EXPECT_THAT(call.command, ElementsAre("ls", "-n", "-L"));
  EXPECT_FALSE(call.no_input);
  EXPECT_EQ(call.foreign, "");
  EXPECT_THAT(read_ssh_call({"--", "host", "-n"}).command, ElementsAre("-n"));
}

TEST(SshCall, OptionsOfARealConnectionAreNamed) {
  EXPECT_EQ(read_ssh_call({"-L", "8080:localhost:80", "host"}).foreign, "-L");
  EXPECT_EQ(read_ssh_call({"-W", "other:22", "host"}).host, "host");
  EXPECT_EQ(read_ssh_call({"-V"}).foreign, "-V");
  EXPECT_EQ(read_ssh_call({"-V"}).host, "");
}

TEST(SshCall, CutArgumentsAreNoCommand) {
  EXPECT_EQ(read_ssh_call({}).host, "");
  EXPECT_EQ(read_ssh_call({"-p"}).host, "");
  EXPECT_EQ(read_ssh_call({"--"}).host, "");
  EXPECT_TRUE(read_ssh_call({"host"}).command.empty());
}

}  // namespace
}  // namespace assay::entry
