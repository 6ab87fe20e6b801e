#include <gmock/gmock.h>

#include "lang/message_table.h"

namespace assay::lang {
namespace {

using ::testing::ElementsAre;

MessageTable table() {
  return MessageTable({
      {"Summary", "", "汇总"},
      {"note", "", "提示"},
      {"{} round", "{} rounds", "{} 轮"},
      {"{} case", "{} cases", "{} 个用例"},
      {"{} of {} rounds completed", "", "{1} 轮中完成了 {0} 轮"},
      {"{value:rank|ranks} did not end with exit code 0 ({detail})", "",
       "{value} 个 rank 没有以退出码 0 结束（{detail}）"},
      {"{} at {}", "", "{}（{}）"},
      {"rank {} was lost", "", "rank {} 丢失"},
      {"the disk is full", "", "磁盘已满"},
      {"free some space", "", "请腾出空间"},
      {"took {:.1f} s", "", "用时 {} s"},
  });
}

TEST(MessageTable, TranslatesATextThatItHas) {
  EXPECT_EQ(table().translate("Summary"), "汇总");
  EXPECT_EQ(table().translate("  note "), "  提示 ");
}

TEST(MessageTable, LeavesWhatItDoesNotHave) {
  EXPECT_EQ(table().translate("matmul:native:cpu:1:1:3"), "matmul:native:cpu:1:1:3");
  EXPECT_EQ(table().translate(""), "");
  EXPECT_EQ(table().translate("  "), "  ");
  EXPECT_EQ(table().translate("summary of everything"), "summary of everything");
}

TEST(MessageTable, PutsValuesIntoTheTranslationInItsOrder) {
  EXPECT_EQ(table().translate("3 of 5 rounds completed"), "5 轮中完成了 3 轮");
  EXPECT_EQ(table().translate("took 2.5 s"), "用时 2.5 s");
}

TEST(MessageTable, KnowsOneAndMany) {
  EXPECT_EQ(table().translate("1 round"), "1 轮");
  EXPECT_EQ(table().translate("1,024 rounds"), "1,024 轮");
}

TEST(MessageTable, TakesAPluralForNumbersOnly) {
  EXPECT_EQ(table().translate("over all rounds"), "over all rounds");
}

TEST(MessageTable, LeavesWhatStandsInQuotes) {
  const MessageTable own({{"note", "", "提示"},
                          {"unknown key '{}'{}", "", "未知的键 '{}'{}"},
                          {"did you mean '{}'?", "", "是否想写 '{}'？"},
                          {"{} needs '{}'", "", "{} 需要 '{}'"}});
  EXPECT_EQ(own.translate("unknown key 'note' (did you mean 'note'?)"),
            "未知的键 'note'（是否想写 'note'？）");
  EXPECT_EQ(own.translate("'note' needs 'note'"), "'note' 需要 'note'");
  EXPECT_EQ(own.translate("'a; note: b': note"), "'a; note: b'：提示");
  EXPECT_EQ(own.translate("the rank's note: note"), "the rank's note：提示");
}

TEST(MessageTable, LeavesWhatATranslationCallsAName) {
  const MessageTable own({{"note", "", "提示"},
                          {"note b", "", "提示乙"},
                          {"measured in {}", "", "以 {:name} 计"},
                          {"{} of {}", "", "{1:name} 的 {0}"}});
  EXPECT_EQ(own.translate("measured in note"), "以 note 计");
  EXPECT_EQ(own.translate("note of note b"), "note b 的提示");
}

TEST(MessageTable, WritesListsOfNumbersAsItsLanguageDoes) {
  const MessageTable own({{"rounds {}", "", "第 {} 轮"}});
  EXPECT_EQ(own.translate("rounds 1, 2 and 5–7"), "第 1、2 和 5–7 轮");
  EXPECT_EQ(own.translate("rounds 1 and 2"), "第 1 和 2 轮");
  EXPECT_EQ(own.translate("rounds 1, 2"), "第 1, 2 轮");
}

TEST(MessageTable, HasBlanksOnlyBesideAnotherScript) {
  const MessageTable own({{"{} is {}", "", "{} 的判定为 {}"},
                          {"INVALID", "", "无效"},
                          {"the run", "", "运行"},
                          {"Report", "", "报告"}});
  EXPECT_EQ(own.translate("the run is INVALID"), "运行的判定为无效");
  EXPECT_EQ(own.translate("a1 is INVALID"), "a1 的判定为无效");
  EXPECT_EQ(own.translate("the run is b"), "运行的判定为 b");
  EXPECT_EQ(own.translate("Report: "), "报告：");
}

TEST(MessageTable, TakesNoSentencesForAValue) {
  const MessageTable own({{"{} is better", "", "{} 更好"},
                          {"Lower is better", "", "越低越好"},
                          {"it took {} s", "", "用时 {} s"}});
  EXPECT_EQ(own.translate("it took 3 s. Lower is better."), "用时 3 s。越低越好。");
}

TEST(MessageTable, LeavesListsOfNames) {
  const MessageTable own({{"keys of {}: {}", "", "{} 的键：{}"},
                          {"a suite", "", "套件"},
                          {"{} {} cases", "", "{} {} 个用例"},
                          {"round", "", "轮次"}});
  EXPECT_EQ(own.translate("keys of a suite: name, cases, round"), "套件的键：name, cases, round");
  EXPECT_EQ(own.translate("round"), "轮次");
}

TEST(MessageTable, TranslatesWhatGoesOnLikeThis) {
  const MessageTable own({{"ids must be 0, 1, 2", "", "编号必须是 0、1、2"}});
  EXPECT_EQ(own.translate("ids must be 0, 1, 2, …"), "编号必须是 0、1、2 …");
}

TEST(MessageTable, ReadsThePlaceholdersOfRules) {
  EXPECT_EQ(table().translate("1 rank did not end with exit code 0 (rank 3 was lost)"),
            "1 个 rank 没有以退出码 0 结束（rank 3 丢失）");
  EXPECT_EQ(table().translate("2 ranks did not end with exit code 0 (host a)"),
            "2 个 rank 没有以退出码 0 结束（host a）");
}

TEST(MessageTable, TranslatesTheParts) {
  EXPECT_EQ(table().translate("2 cases, 6 rounds"), "2 个用例，6 轮");
  EXPECT_EQ(table().translate("/data: the disk is full; free some space."),
            "/data：磁盘已满；请腾出空间。");
  EXPECT_EQ(table().translate("Summary (2 cases)"), "汇总（2 个用例）");
}

TEST(MessageTable, LeavesSentencesOfSomebodyElseWhole) {
  const MessageTable own({{"{} for {}", "", "{1}：{0}"},
                          {"the disk is full", "", "磁盘已满"},
                          {"Workers", "", "Worker"}});
  for (const char* text :
       {"Searches for architectures and hyper-parameters with two workers, and gives one score.",
        "the disk is full, and nobody looks after it any more",
        "Workers and what they do all day long"})
    EXPECT_EQ(own.translate(text), text);
  EXPECT_EQ(own.translate("/data, the disk is full"), "/data，磁盘已满");
}

TEST(MessageTable, TakesARemarkInBracketsForItself) {
  EXPECT_EQ(table().translate("rank 3 was lost (2 rounds)"), "rank 3 丢失（2 轮）");
  EXPECT_EQ(table().translate("a (b, c), 2 rounds"), "a (b, c)，2 轮");
}

TEST(MessageTable, TakesTheLongestRunOfParts) {
  const MessageTable own({{"sealed, and unchanged since then", "", "已封存，此后没有改动"},
                          {"signed by {}", "", "签名者 {}"}});
  EXPECT_EQ(own.translate("sealed, and unchanged since then, signed by a1"),
            "已封存，此后没有改动，签名者 a1");
}

TEST(MessageTable, TranslatesWhatStandsBesideANumber) {
  const MessageTable own({{"rules hold", "", "条规则满足"}, {"First step", "", "第一步"}});
  EXPECT_EQ(own.translate("First step -0.7 %"), "第一步 -0.7 %");
  EXPECT_EQ(own.translate("15 rules hold"), "15 条规则满足");
  EXPECT_EQ(own.translate("First step 2.9 %"), "第一步 2.9 %");
}

TEST(MessageTable, TakesAMessageWithHardlyAWordForPlainValuesOnly) {
  EXPECT_EQ(table().translate("9 s at 772 samples/s"), "9 s（772 samples/s）");
  EXPECT_EQ(table().translate("look at the log at once"), "look at the log at once");
}

// What comes before a colon is no part of the message behind it.
TEST(MessageTable, DoesNotTakeANameAndHalfASentenceForAValue) {
  const MessageTable own({{"{} of {} rounds completed", "", "{1} 轮中完成了 {0} 轮"},
                          {"only {} of {} rounds completed", "", "{1} 轮中只完成了 {0} 轮"},
                          {"not compared", "", "没有比较"}});
  EXPECT_EQ(own.translate("train: not compared: only 0 of 2 rounds completed"),
            "train：没有比较：2 轮中只完成了 0 轮");
}

TEST(MessageTable, LeavesAListOfNamesBehindAColon) {
  const MessageTable own({{"commands", "", "命令"}, {"note", "", "提示"}});
  EXPECT_EQ(own.translate("commands: run, note, key"), "命令：run, note, key");
}

TEST(MessageTable, LeavesAMessageItsBracketsBehindAColon) {
  const MessageTable own(
      {{"note", "", "提示"}, {"each has its own (all get the same)", "", "各不相同"}});
  EXPECT_EQ(own.translate("note: each has its own (all get the same)"), "提示：各不相同");
}

TEST(MessageTable, EndsWithAnyText) {
  std::string text;
  for (int i = 0; i < 2000; ++i) text += "a, b: c (d) and e; ";
  EXPECT_EQ(table().translate(text), text);
}

TEST(MessageTable, ComparesPlaceholdersByTheValuesThatTheyName) {
  EXPECT_THAT(placeholders("{} of {:.1f}"), ElementsAre("0", "1"));
  EXPECT_THAT(placeholders("{1}、{0}"), ElementsAre("0", "1"));
  EXPECT_THAT(placeholders("{value:rank|ranks} ({detail})"), ElementsAre("detail", "value"));
  EXPECT_THAT(placeholders("a {{b}}"), ElementsAre());
}

}  // namespace
}  // namespace assay::lang
