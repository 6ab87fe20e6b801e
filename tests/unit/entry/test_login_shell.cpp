#include <gtest/gtest.h>

#include "entry/login_shell.h"

namespace assay::entry {
namespace {

TEST(LoginShell, IsTheOneOfTheEnvironment) {
  EXPECT_EQ(login_shell("/bin/bash"), "/bin/bash");
}

TEST(LoginShell, IsAnyShellWhereThatCannotBeUsed) {
  EXPECT_EQ(login_shell("/nowhere/fish"), "/bin/sh");
  EXPECT_EQ(login_shell("/usr/sbin/nologin"), "/bin/sh");
  EXPECT_EQ(login_shell("/bin/false"), "/bin/sh");
}

}  // namespace
}  // namespace assay::entry
