// Assay as somebody sees it who reads Chinese.

#include <regex>
#include <set>

#include <gmock/gmock.h>

#include "chinese_text.h"
#include "core/files.h"
#include "core/host.h"
#include "core/text.h"
#include "e2e/harness.h"

namespace assay::e2e {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class Chinese : public AssayTest {
 protected:
  [[nodiscard]] CommandResult chinese(std::vector<std::string> args) const {
    args.insert(args.end(), {"--lang", "zh"});
    return assay(std::move(args), std::chrono::seconds(120));
  }
};

constexpr const char* kSuite =
    "name: tiny\n"
    "cases:\n"
    "  - case: null:native:cpu:1:2:3\n"
    "    config: {steps: 20, step_ms: 10}\n"
    "    rules: {min-duration: off, repeat-spread: off}\n"
    "  - case: matmul:native:cpu:1:1:1\n"
    "    config: {min_seconds: 1}\n";

// Two words of English prose, one after the other.
std::set<std::string> english(const std::string& text) {
  static const std::regex kProse("\\b[A-Za-z]?[a-z]{2,} [a-z]{2,}\\b");
  std::set<std::string> out;
  for (std::sregex_iterator it(text.begin(), text.end(), kProse), end; it != end; ++it)
    out.insert(it->str());
  return out;
}

std::string without(const std::string& text, const std::string& pattern) {
  return std::regex_replace(text, std::regex(pattern), " ");
}

// What a page shows: its texts, but not code and what the machine says of itself.
std::string shown_by(std::string page) {
  for (const std::string element : {"script", "style", "code", "pre"})
    for (std::size_t from = page.find("<" + element); from != std::string::npos;
         from = page.find("<" + element, from)) {
      const std::size_t end = page.find("</" + element + ">", from);
      if (end == std::string::npos) break;
      page.erase(from, end - from);
    }
  page.resize(std::min(page.find("<section class=\"evidence\""), page.size()));
  std::string out;
  bool tag = false;
  for (const char c : page) {
    if (c == '<') out += '\n';
    tag = c == '<' || (tag && c != '>');
    if (!tag && c != '>') out += c;
  }
  return out;
}

TEST_F(Chinese, ARunSaysNothingInEnglish) {
  const CommandResult run = chinese({"run", write("tiny.yaml", kSuite).string()});
  EXPECT_EQ(run.status.code, 0) << run.out << run.err;
  EXPECT_THAT(run.out, HasSubstr("有效"));
  EXPECT_THAT(run.out, HasSubstr("报告："));
  EXPECT_THAT(english(without(run.out, "/[^ ]*|results[^ ]*")), IsEmpty()) << run.out;
}

// Cases that fail and whose names, units and settings are Assay's own words.
constexpr const char* kOddNames =
    "name: failed\n"
    "cases:\n"
    "  - {name: killed, command: [echo, 'n: 5'], repeats: 1,\n"
    "     metrics: {throughput: {match: 'n: *([0-9]+)', unit: samples, better: higher}}}\n"
    "  - {name: target, command: ['false'], repeats: 2}\n"
    "  - {name: step 10, command: [sleep, '1'], repeats: 1}\n"
    "  - {name: 2 ranks, command: [sleep, '1'], repeats: 1}\n";

TEST_F(Chinese, ARunThatFailsSaysNothingInEnglish) {
  const CommandResult run = chinese({"run", write("odd.yaml", kOddNames).string()});
  EXPECT_EQ(run.status.code, 5) << run.out << run.err;
  EXPECT_THAT(run.out, HasSubstr("后结束（退出码 1）"));
  // With the rules that other load was allowed by, and commands that go over a line's end.
  const std::set<std::string> names{"failed", "killed", "target", "step",     "ranks",    "samples",
                                    "run",    "conf",   "steal",  "swapping", host_name()};
  EXPECT_THAT(testing::english_in(without(run.out, "/[^ ]*|results[^ ]*"), names), IsEmpty())
      << run.out;
}

TEST_F(Chinese, NamesThatSomebodyGaveAreNotTranslated) {
  const CommandResult run = chinese({"run", write("odd.yaml", kOddNames).string()});
  for (const char* shown : {"[4/5] step 10  第", "\nkilled ", "\ntarget ", "\nstep 10 ",
                            "\n2 ranks ", "5 samples ", "\nfailed  run"})
    EXPECT_THAT(run.out, HasSubstr(shown));
  const std::string page = shown_by(read_file(latest() / "report.html"));
  for (const char* title : {"\nfailed\n", "\nkilled\n", "\ntarget\n", "\nstep 10\n", "\n2 ranks\n"})
    EXPECT_THAT(page, HasSubstr(title));
  for (const std::string& text : {run.out, page})
    for (const char* wrong : {"已停止", "目标", "第 10 步", "2 个 rank"})
      EXPECT_THAT(text, Not(HasSubstr(wrong)));
  const auto refused = [&](const std::string& more) {
    return chinese({"run",
                    write("w.yaml", "name: x\ncases:\n  - {name: a, command: [a], " + more + "}\n")
                        .string()})
        .err;
  };
  EXPECT_THAT(refused("metric: 3"), HasSubstr("未知的键 'metric'（是否想写 'metrics'？）"));
  EXPECT_THAT(refused("target: 3"), HasSubstr("'target' 应为映射，实际为 '3'"));
  EXPECT_THAT(
      chinese({"init", "own.yaml", "--command", "a", "--sample", "step 10 | loss 2.3", "--yes"})
          .err,
      HasSubstr("  1  step 10\n"));
}

TEST_F(Chinese, AComparisonNamesItsCasesAsTheyAre) {
  ASSERT_EQ(chinese({"run", write("odd.yaml", kOddNames).string()}).status.code, 5);
  const CommandResult compared = chinese({"compare", "results/latest", "results/latest"});
  EXPECT_THAT(compared.out, AllOf(HasSubstr("\nkilled "), HasSubstr("\ntarget "),
                                  HasSubstr("  target：没有比较："), HasSubstr("只完成了 0 轮")));
}

TEST_F(Chinese, APlanSaysNothingInEnglishAndJsonIsTheSame) {
  const std::string suite = write("tiny.yaml", kSuite).string();
  const CommandResult plan = chinese({"run", suite, "--dry-run"});
  EXPECT_EQ(plan.status.code, 0) << plan.err;
  EXPECT_THAT(plan.out, AllOf(HasSubstr("\n用例 null:native:cpu:1:2:3\n"),
                              HasSubstr("\n  命令        "), HasSubstr("\n    环境    ")));
  // Not the commands, and where settings are from.
  EXPECT_THAT(english(without(plan.out, "命令 .*|rank [0-9]+ .*|# .*|/[^ ]*")), IsEmpty())
      << plan.out;
  const Json json = Json::parse(chinese({"run", suite, "--dry-run", "--format", "json"}).out);
  EXPECT_EQ(json["plan"]["cases"][0]["name"], "null:native:cpu:1:2:3");
}

TEST_F(Chinese, ChecksAndExportsSayNothingInEnglish) {
  const std::string suite = write("tiny.yaml", kSuite).string();
  const CommandResult checked = chinese({"check", suite});
  const std::set<std::string> names{"always", "madvise", "never", "tsc", "chrony", host_name()};
  EXPECT_THAT(testing::english_in(without(checked.out, "/[^ ]*|(PASS|WARN|FAIL) +[a-z-]+"), names),
              IsEmpty())
      << checked.out;
  ASSERT_EQ(chinese({"run", suite}).status.code, 0);
  const CommandResult rows = chinese({"export", "csv", "results/latest", "--to", "tables"});
  EXPECT_THAT(rows.out, AllOf(HasSubstr("tables/steps.csv："), HasSubstr(" 行\n")));
  EXPECT_THAT(chinese({"export", "tensorboard", "results/latest", "--to", "curves"}).out,
              HasSubstr("curves 中有 "));
}

TEST_F(Chinese, AReportSaysNothingInEnglish) {
  ASSERT_EQ(chinese({"run", write("tiny.yaml", kSuite).string()}).status.code, 0);
  const std::string page = read_file(latest() / "report.html");
  EXPECT_THAT(page, HasSubstr("<html lang=\"zh-CN\">"));
  EXPECT_THAT(english(shown_by(page)), IsEmpty());
}

TEST_F(Chinese, ComparisonsAndHistorySayNothingInEnglish) {
  ASSERT_EQ(chinese({"run", write("tiny.yaml", kSuite).string()}).status.code, 0);
  const CommandResult compared = chinese({"compare", "results/latest", "results/latest"});
  EXPECT_EQ(compared.status.code, 0) << compared.err;
  EXPECT_THAT(compared.out, HasSubstr("误报的概率"));
  EXPECT_THAT(english(without(compared.out, "[^ ]*results[^ ]*")), IsEmpty()) << compared.out;
  const CommandResult none = chinese({"history", "--case", "no-such-case"});
  EXPECT_THAT(none.out, HasSubstr("没有计入结果的用例"));
}

TEST_F(Chinese, ResultsAreTheSameInEveryLanguage) {
  ASSERT_EQ(chinese({"run", write("tiny.yaml", kSuite).string()}).status.code, 0);
  const auto files = [&] {
    std::vector<std::string> out;
    for (const char* name : {"result.json", "results.csv", "ranks.csv", "junit.xml"})
      out.push_back(read_file(latest() / name));
    return out;
  };
  const auto before = files();
  ASSERT_EQ(assay({"report", "results/latest"}).status.code, 0);
  EXPECT_EQ(files(), before);
  EXPECT_THAT(read_file(latest() / "report.html"), HasSubstr("<html lang=\"en\">"));
}

TEST_F(Chinese, ErrorsAndTheirAdviceAreTranslated) {
  const CommandResult unknown = chinese({"compar"});
  EXPECT_EQ(unknown.status.code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("没有命令 'compar'"));
  EXPECT_THAT(unknown.err, HasSubstr("是否想写 'compare'？"));
  EXPECT_THAT(unknown.err, HasSubstr("命令：run, check, list, "));
  EXPECT_THAT(assay({"--lang", "zh", "compar"}).err, HasSubstr("没有命令 'compar'"));
  const CommandResult missing = chinese({"run", "no-such-suite"});
  EXPECT_EQ(missing.status.code, 2);
  EXPECT_THAT(missing.err, HasSubstr("没有套件 'no-such-suite'"));
  EXPECT_THAT(chinese({"compare"}).err, HasSubstr("见 'assay compare --help'"));
  EXPECT_THAT(chinese({"init", "own.yaml", "--launcher", "本地", "--yes"}).err,
              HasSubstr("'本地' 不在其中"));
}

TEST_F(Chinese, HelpOfEveryCommandIsTranslated) {
  const CommandResult names = assay({"completion", "candidates", "--", ""});
  ASSERT_EQ(names.status.code, 0);
  int commands = 0;
  for (const std::string_view line : split(names.out, '\n')) {
    const std::string name(line.substr(0, line.find('\t')));
    if (name.empty() || name.starts_with('-') || name.starts_with(':')) continue;
    const CommandResult help = chinese({name, "--help"});
    ASSERT_EQ(help.status.code, 0) << name;
    EXPECT_THAT(help.out, HasSubstr("用法")) << name;
    // Commands to type stay as they are, and so do names of things.
    const std::string choices = without(help.out, "[a-z0-9.-]+(\\|[a-z0-9._-]+)+");
    const std::string prose =
        without(without(choices, "'[^']*'|rank table|host slots|base new"), "assay [\\x20-\\x7e]*");
    EXPECT_THAT(english(prose), IsEmpty()) << name << "\n" << help.out;
    ++commands;
  }
  EXPECT_GT(commands, 30);
}

TEST_F(Chinese, IsTheLanguageOfTheLocale) {
  ::setenv("LANG", "zh_CN.UTF-8", 1);
  const CommandResult help = assay({"list", "--help"});
  ::unsetenv("LANG");
  EXPECT_THAT(help.out, HasSubstr("用法"));
}

TEST_F(Chinese, FindingsAreExplained) {
  const CommandResult rule = chinese({"explain", "cpu-taken"});
  EXPECT_EQ(rule.status.code, 0) << rule.err;
  EXPECT_THAT(rule.out, HasSubstr("为何重要"));
  EXPECT_THAT(rule.out, HasSubstr("docs/zh/rules.md"));
  EXPECT_THAT(english(rule.out), IsEmpty()) << rule.out;
  EXPECT_EQ(chinese({"explain", "no-such-thing-at-all"}).status.code, 2);
}

TEST_F(Chinese, TheDoctorSeesThisMachine) {
  const CommandResult seen = chinese({"doctor"});
  EXPECT_THAT(seen.out, HasSubstr("这台机器"));
  EXPECT_THAT(seen.out, HasSubstr("assay-agent"));
  const CommandResult json = assay({"doctor", "--format", "json"});
  EXPECT_EQ(Json::parse(json.out).at(0).at("section"), "This installation");
}

TEST_F(Chinese, InitWritesASuiteThatRuns) {
  const CommandResult made = assay({"init", "own.yaml", "--command", "echo speed: 12.5", "--sample",
                                    "speed: 12.5", "--vendor", "cpu", "--yes"});
  ASSERT_EQ(made.status.code, 0) << made.out << made.err;
  EXPECT_THAT(made.out, HasSubstr("assay run own.yaml"));
  EXPECT_EQ(assay({"run", "own.yaml", "--dry-run"}).status.code, 0);
  EXPECT_EQ(assay({"init", "own.yaml", "--yes"}).status.code, 2);
}

TEST_F(Chinese, InitWithoutAnswersWritesASuiteForThisMachine) {
  const CommandResult made = assay(
      {"init", "usual.yaml", "--command", "echo speed: 12.5", "--sample", "speed: 12.5", "--yes"});
  EXPECT_EQ(made.status.code, 0) << made.out << made.err;
  EXPECT_EQ(assay({"run", "usual.yaml", "--dry-run"}).status.code, 0);
}

TEST_F(Chinese, IsAskedForByTheNameOfALocaleToo) {
  EXPECT_THAT(assay({"run", "--help", "--lang", "zh_CN"}).out, HasSubstr("用法"));
  EXPECT_THAT(assay({"--lang=zh_CN.UTF-8", "list", "suites"}).out, HasSubstr("套件"));
  EXPECT_EQ(assay({"run", "--help", "--lang", "fr_FR"}).status.code, 2);
  EXPECT_THAT(assay({"completion", "candidates", "--", "--lang", ""}).out, HasSubstr("zh"));
}

TEST_F(Chinese, WhatARuleFillsInIsNotExplained) {
  EXPECT_THAT(assay({"explain", "cpu-taken"}).out,
              AllOf(HasSubstr("other programs used …"), Not(HasSubstr("{"))));
  EXPECT_THAT(chinese({"explain", "cpu-taken"}).out, Not(HasSubstr("{")));
}

}  // namespace assay::e2e
