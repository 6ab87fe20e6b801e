#include <algorithm>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include <gmock/gmock.h>

#include "catalog/shipped_rules.h"
#include "chinese_text.h"
#include "core/error.h"
#include "explain/explain.h"
#include "lang/language.h"

namespace assay::explain {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

const std::vector<catalog::Rule>& rules() {
  return catalog::shipped_rules().rules;
}

std::vector<std::string> names(const std::string& kind) {
  std::vector<std::string> out;
  for (const Topic& topic : topics(rules()))
    if (topic.kind == kind) out.push_back(topic.name);
  return out;
}

TEST(Explain, KnowsEveryRuleWithItsAdvice) {
  for (const catalog::Rule& rule : rules()) {
    const auto found = explain(rule.id, rules());
    ASSERT_THAT(found, Not(IsEmpty())) << rule.id;
    EXPECT_EQ(found[0].kind, "rule");
    EXPECT_TRUE(std::ranges::any_of(found[0].paragraphs, [&](const Paragraph& part) {
      return part.heading == "What to do" && part.text == rule.advice;
    })) << rule.id;
  }
}

TEST(Explain, KnowsMetricsErrorsExitCodesAndVerdicts) {
  for (const char* name : {"steady_throughput", "usage", "round_failed", "5", "VALID", "relaxed"})
    EXPECT_THAT(explain(name, rules()), Not(IsEmpty())) << name;
}

TEST(Explain, KnowsTheWordsOfComparisonsAndChecks) {
  for (const char* word : {"FASTER", "SLOWER", "BETTER", "WORSE", "SAME", "UNSURE", "WARN", "FAIL"})
    EXPECT_EQ(explain(word, rules()).size(), 1) << word;
}

TEST(Explain, DoesNotMindCase) {
  EXPECT_THAT(explain("incomplete", rules()), Not(IsEmpty()));
}

TEST(Explain, KnowsNothingOfOtherNames) {
  EXPECT_THAT(explain("", rules()), IsEmpty());
  EXPECT_THAT(explain("no-such-thing", rules()), IsEmpty());
}

TEST(Explain, KnowsTheExitCodeOfEveryKindOfError) {
  const auto codes = names("exit code");
  for (const ErrorKind kind :
       {ErrorKind::usage, ErrorKind::config, ErrorKind::environment, ErrorKind::launch,
        ErrorKind::round_failed, ErrorKind::invalid, ErrorKind::internal}) {
    EXPECT_THAT(codes, Contains(std::to_string(exit_code(kind))));
    EXPECT_THAT(explain(to_string(kind), rules()), SizeIs(::testing::Ge(1U)));
  }
}

TEST(Explain, CtrlCEndsFollowingWith130AndARunWith5) {
  const auto found = explain("130", rules());
  ASSERT_THAT(found, SizeIs(1U));
  ASSERT_THAT(found[0].paragraphs, Not(IsEmpty()));
  EXPECT_THAT(found[0].paragraphs[0].text, ::testing::HasSubstr("--follow"));
  EXPECT_THAT(found[0].paragraphs[0].text, ::testing::HasSubstr("'assay run' ends with 5"));
}

// The findings that the judge makes without a rule are texts with dashes in its sources.
TEST(Explain, KnowsEveryFindingOfTheJudge) {
  const auto known = topics(rules());
  const std::regex name("\"([a-z]+(-[a-z]+)+)\"");
  for (const auto& entry : fs::directory_iterator(fs::path(ASSAY_SOURCE_DIR) / "src/judge")) {
    std::stringstream text;
    text << std::ifstream(entry.path()).rdbuf();
    const std::string source = text.str();
    for (std::sregex_iterator it(source.begin(), source.end(), name), end; it != end; ++it)
      EXPECT_TRUE(std::ranges::any_of(
          known, [&](const Topic& topic) { return topic.name == (*it)[1].str(); }))
          << entry.path() << ": " << (*it)[1].str() << " needs a row in src/explain";
  }
}

std::string without_placeholders(const std::string& title) {
  return std::regex_replace(title, std::regex("\\{[^}]*\\}"), "7");
}

TEST(NameIn, IsTheOneThatALineOfAReportGives) {
  const auto known = topics(rules());
  EXPECT_EQ(name_in("  invalid     rank 0 took 3 steps (round 1) [min-steps]", known), "min-steps");
  EXPECT_EQ(name_in("- **note**: what a rank said (round-failed)", known), "round-failed");
  EXPECT_EQ(name_in("something [else] altogether", known), "");
  EXPECT_EQ(name_in("", known), "");
}

TEST(NameIn, IsFoundByTheWordsOfARule) {
  const auto known = topics(rules());
  for (const catalog::Rule& rule : rules()) {
    if (without_placeholders(rule.reason).size() < 20) continue;
    const std::string name = name_in("case: " + without_placeholders(rule.reason), known);
    const auto found = explain(name, rules());
    ASSERT_THAT(found, Not(IsEmpty())) << rule.id;
    EXPECT_EQ(without_placeholders(found[0].title), without_placeholders(rule.reason)) << rule.id;
  }
}

TEST(Explain, KnowsTheRefusalsOfAServer) {
  for (const char* code : {"no_room", "may_not", "busy", "does_not_fit"})
    EXPECT_EQ(explain(code, rules()).size(), 1U) << code;
}

TEST(Explain, NamesPagesThatAreThere) {
  std::set<std::string> pages;
  for (const Topic& topic : topics(rules()))
    for (const Explanation& one : explain(topic.name, rules())) pages.insert(one.page);
  for (const std::string& page : pages)
    EXPECT_TRUE(fs::exists(fs::path(ASSAY_SOURCE_DIR) / page)) << page;
}

// Not only its sentences: the unit and the direction of every metric, too.
TEST(Explain, IsSaidInChineseToTheLastWord) {
  const std::vector<Topic> all = topics(rules());
  std::set<std::string> known;
  for (const Topic& topic : all) known.insert(topic.name);
  const auto check = [&](const std::string& text) {
    const std::string shown = lang::in_language(lang::Language::chinese, text);
    EXPECT_THAT(testing::english_in(shown, known), IsEmpty()) << text << "\n" << shown;
  };
  for (const Topic& topic : all)
    for (const Explanation& one : explain(topic.name, rules())) {
      check(one.title);
      for (const Paragraph& part : one.paragraphs) {
        check(part.heading);
        check(part.text);
      }
    }
}

}  // namespace
}  // namespace assay::explain
