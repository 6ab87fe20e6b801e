#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/text.h"
#include "plan/command.h"
#include "unit/plan/testing.h"

namespace assay::plan {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;

config::Node text(const std::string& command) {
  return config::Node::scalar(
      command, true, std::make_shared<config::Source>(config::Source{"s.yaml", "", false}), 3, 5);
}

std::vector<std::string> words(const std::string& command) {
  return read_command(text(command), false);
}

TEST(Command, TextIsSplitLikeAShellWould) {
  EXPECT_THAT(words("python3  pretrain.py --lr 1e-4"),
              ElementsAre("python3", "pretrain.py", "--lr", "1e-4"));
  EXPECT_THAT(words(R"(echo 'a b' "c d" e\ f '' x"y"'z')"),
              ElementsAre("echo", "a b", "c d", "e f", "", "xyz"));
  EXPECT_THAT(words(R"(printf "a\"b\\c\n" '$HOME|*')"),
              ElementsAre("printf", "a\"b\\c\\n", "$HOME|*"));
}

TEST(Command, SplittingUndoesShellQuoting) {
  const std::vector<std::string> argv{"a", "b c", "d'e", "\"$x`\\", "", "*?[|&;<>()#~"};
  EXPECT_EQ(words(shell_join(argv)), argv);
}

TEST(Command, ShellCharactersAreRefusedByName) {
  for (const char* c : {"|", "&", ";", "<", ">", "(", ")", "$", "`", "*", "?", "["})
    EXPECT_THAT(error_of([&] { return words(std::string("run x") + c + "y"); }),
                HasSubstr(std::string("s.yaml:3:5: the command contains '") + c + "'"))
        << c;
  EXPECT_THAT(error_of([] { return words("a > out.txt"); }), HasSubstr("(character 3)"));
  EXPECT_THAT(error_of([] { return words("a > out.txt"); }), HasSubstr("'shell: true'"));
  EXPECT_THAT(error_of([] { return words("echo \"$HOME\""); }), HasSubstr("in double quotes"));
  EXPECT_THAT(error_of([] { return words("ls ~/x"); }), HasSubstr("'~'"));
  EXPECT_THAT(error_of([] { return words("ls # x"); }), HasSubstr("'#'"));
  EXPECT_THAT(error_of([] { return words("a\nb"); }), HasSubstr("a line break"));
}

TEST(Command, TildeAndHashInsideAWordAreOrdinary) {
  EXPECT_THAT(words("a b~c d#e"), ElementsAre("a", "b~c", "d#e"));
}

TEST(Command, UnclosedQuotesAndTrailingBackslashAreErrors) {
  EXPECT_THAT(error_of([] { return words("a 'b"); }), HasSubstr("quote ' at character 3"));
  EXPECT_THAT(error_of([] { return words("a \"b"); }), HasSubstr("quote \" at character 3"));
  EXPECT_THAT(error_of([] { return words("a \\"); }), HasSubstr("ends with a backslash"));
}

TEST(Command, AssignmentBeforeTheProgramIsNamed) {
  EXPECT_THAT(error_of([] { return words("LR=1 python3 x.py"); }), HasSubstr("under 'env'"));
}

TEST(Command, EmptyCommandsAreErrors) {
  EXPECT_THAT(error_of([] { return words("  "); }), HasSubstr("empty"));
  EXPECT_THAT(error_of([] { return words("''"); }), HasSubstr("the command is empty"));
  EXPECT_THAT(error_of([] { return read_command(testing::node("[]"), false); }),
              HasSubstr("the command is empty"));
}

TEST(Command, ShellTrueHandsTheTextToSh) {
  EXPECT_THAT(read_command(text("a | b > c"), true), ElementsAre("/bin/sh", "-c", "a | b > c"));
  EXPECT_THAT(error_of([] { return read_command(testing::node("[a]"), true); }),
              HasSubstr("not as a list"));
}

TEST(Command, ListIsTakenWordForWord) {
  EXPECT_THAT(read_command(testing::node("[run, a b, 1e-4, '*']"), false),
              ElementsAre("run", "a b", "1e-4", "*"));
}

TEST(Command, OnlyKnownPlaceholdersAreAllowed) {
  EXPECT_THAT(words("torchrun --node_rank {node_rank} --master {master_addr}:{master_port}"),
              ElementsAre("torchrun", "--node_rank", "{node_rank}", "--master",
                          "{master_addr}:{master_port}"));
  EXPECT_THAT(error_of([] { return words("run {node_rnk}"); }),
              HasSubstr("unknown placeholder {node_rnk} (did you mean 'node_rank'?)"));
  EXPECT_THAT(words("awk '{{print}}'"), ElementsAre("awk", "{{print}}"));
}

}  // namespace
}  // namespace assay::plan
