#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "pyliteral/python_literals.h"
#include "temporary_folder.h"

namespace assay::pyliteral {
namespace {

namespace fs = std::filesystem;
using assay::testing::TemporaryFolder;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Json values(const Module& module) {
  Json out = Json::object();
  for (const Setting& setting : module.settings) out[setting.name] = to_json(setting.value);
  return out;
}

std::vector<std::string> messages(const Module& module) {
  std::vector<std::string> out;
  for (const Diagnostic& diagnostic : module.diagnostics) out.push_back(to_string(diagnostic));
  return out;
}

std::vector<std::string> unread(const Module& module) {
  std::vector<std::string> out;
  for (const NotLiteral& name : module.not_literal) out.push_back(name.name);
  return out;
}

Module parse(const std::string& source) {
  return parse_python(source, "t.py");
}

TEST(PythonModules, AssignmentsOfEveryForm) {
  const Module module = parse(
      "'''docstring'''\n"
      "a = b = 1; c: float = 2.5  # comment\n"
      "d, e = 3, 'x'\n"
      "(f, g) = [4, 5]\n"
      "a += 10\n"
      "declared: int\n"
      "h = {\n  'k': [  # inside\n    1,\n\n  ],\n}\n"
      "h['m'] = a\n"
      "i = 1 + \\\n    2\n"
      "pass\n");
  EXPECT_EQ(values(module), Json::parse(R"({"a": 11, "b": 1, "c": 2.5, "d": 3, "e": "x", "f": 4,
      "g": 5, "h": {"k": [1], "m": 11}, "i": 3})"));
  EXPECT_TRUE(module.fully_read());
  EXPECT_THAT(module.diagnostics, IsEmpty());
}

TEST(PythonModules, LineEndingsByteOrderMarkAndTabs) {
  const Json expected = Json::parse(R"({"a": 1, "b": [1, 2]})");
  EXPECT_EQ(values(parse("a = 1\r\nb = [1,\r\n\t2]\r\n")), expected);
  EXPECT_EQ(values(parse("a = 1\rb = [1,\r2]\r")), expected);
  EXPECT_EQ(values(parse("\xEF\xBB\xBF"
                         "a\t=\t1\nb = [1, 2]")),
            expected);
}

TEST(PythonModules, ColumnsCountCharactersAndLinesCountFromOne) {
  const Module module = parse("\n名 = '训练'; x = f()\n");
  ASSERT_EQ(module.not_literal.size(), 1U);
  EXPECT_THAT(messages(module),
              ElementsAre("t.py:2:15: warning: a function call, f(…): x is not read"));
}

TEST(PythonModules, TheLastAssignmentCounts) {
  const Module module = parse("x = f()\nx = 3\ny = 4\ny = g()\n");
  EXPECT_EQ(values(module), Json::parse(R"({"x": 3})"));
  EXPECT_THAT(unread(module), ElementsAre("y"));
}

TEST(PythonModules, WhatDependsOnAnUnreadNameIsNotReadEither) {
  const Module module = parse("import os\nroot = os.getcwd()\nlogs = root + '/logs'\nn = 2\n");
  EXPECT_EQ(values(module), Json::parse(R"({"n": 2})"));
  EXPECT_THAT(unread(module), ElementsAre("root", "logs"));
  EXPECT_THAT(messages(module),
              ElementsAre("t.py:1:1: note: import of os: ignored",
                          "t.py:2:8: warning: a function call, os.getcwd(…): root is not read",
                          "t.py:3:8: warning: a name that is not a literal, root (a function "
                          "call, os.getcwd(…)): logs is not read"));
}

TEST(PythonModules, ABlockIsNamedAndDecidesTheNamesInIt) {
  const Module module = parse(
      "a = 1\n"
      "b = 2\n"
      "if a:\n"
      "    b = 3\n"
      "elif a > 2:\n"
      "    for c in range(3):\n"
      "        d = c\n"
      "else: e = 4\n"
      "f = 5\n");
  EXPECT_EQ(values(module), Json::parse(R"({"a": 1, "f": 5})"));
  EXPECT_THAT(messages(module), ElementsAre("t.py:3:1: warning: an if statement: not read; it "
                                            "defines b, c, d, e"));
}

TEST(PythonModules, NamesInsideAFunctionAreItsOwn) {
  const Module module = parse(
      "lr = 0.1\n"
      "@cache\n"
      "def schedule(step):\n"
      "    lr = 0.2\n"
      "    return lr\n"
      "class C:\n"
      "    lr = 0.3\n");
  EXPECT_EQ(values(module), Json::parse(R"({"lr": 0.1})"));
  EXPECT_THAT(unread(module), ElementsAre("schedule", "C"));
  EXPECT_FALSE(module.fully_read());
}

TEST(PythonModules, AMainGuardIsNotPartOfTheSettings) {
  const Module module = parse("a = 1\nif __name__ == '__main__':\n    a = 2\n");
  EXPECT_EQ(values(module), Json::parse(R"({"a": 1})"));
  EXPECT_TRUE(module.fully_read());
}

TEST(PythonModules, ACallMayChangeTheContainersItNames) {
  const Module module = parse("a = [1]\nb = [2]\nn = 3\na.append(n)\n");
  EXPECT_EQ(values(module), Json::parse(R"({"b": [2], "n": 3})"));
  EXPECT_THAT(unread(module), ElementsAre("a"));
}

TEST(PythonModules, AChangeOfASharedListIsNotGuessed) {
  // In Python, b is [1, 2] as well.
  const Module module = parse("a = [1]\nb = a\na += [2]\n");
  EXPECT_THAT(unread(module), ElementsAre("a", "b"));
}

TEST(PythonModules, SyntaxErrorsHaveTheirPlaceAndTheRestIsStillRead) {
  const Module module = parse("a = 1\nb = 'open\nc = 3)\nd = 4\ne = \nf = = 5\n  g = 6\n");
  EXPECT_FALSE(module.syntax_ok);
  EXPECT_EQ(values(module)["a"], 1);
  EXPECT_EQ(values(module)["d"], 4);
  EXPECT_THAT(messages(module),
              ElementsAre("t.py:2:5: error: a string is not closed on its line",
                          "t.py:3:6: error: ')' closes nothing",
                          "t.py:5:3: error: an assignment without a value: e is not read",
                          "t.py:6:7: error: an assignment without a value: f is not read",
                          "t.py:7:3: error: unexpected indentation"));
}

TEST(PythonModules, AnUnclosedBracketIsReportedWhereItOpens) {
  const Module module = parse("a = 1\nb = [1,\n  (2, 3\n");
  EXPECT_EQ(values(module), Json::parse(R"({"a": 1})"));
  EXPECT_THAT(messages(module), ElementsAre("t.py:3:3: error: '(' is never closed"));
}

TEST(PythonModules, NulBytesAndInvalidUtf8) {
  EXPECT_FALSE(parse(std::string("a = 1\0b", 7)).syntax_ok);
  const Module module = parse("# \xC4\xE3\na = 1\nb = '\xC4\xE3'\n");
  EXPECT_EQ(values(module), Json::parse(R"({"a": 1})"));
  EXPECT_THAT(unread(module), ElementsAre("b"));
}

TEST(PythonModules, ADuplicateKeyIsSaid) {
  const Module module = parse("CASES = {\n  'a': 1,\n  'a': 2,\n}\n");
  EXPECT_EQ(values(module), Json::parse(R"({"CASES": {"a": 2}})"));
  EXPECT_THAT(messages(module), ElementsAre(HasSubstr("t.py:3:3: note: the key a again")));
}

TEST(PythonImports, AStarImportReadsTheFileBesideIt) {
  const TemporaryFolder folder;
  folder.write("config_common.py", "vendor = 'nvidia'\n_own = 1\nlr = 1\nscaler = Scaler()\n");
  const Module module =
      parse_python_file(folder.write("config_A100x1x8.py", "from config_common import*\nlr = 2\n"));
  EXPECT_EQ(values(module), Json::parse(R"({"lr": 2, "vendor": "nvidia"})"));
  EXPECT_THAT(unread(module), ElementsAre("scaler"));
  EXPECT_THAT(module.star_imports, ElementsAre("config_common"));
  EXPECT_THAT(messages(module),
              ElementsAre(HasSubstr("config_common.py:4:10: warning: a function")));
}

TEST(PythonImports, SingleNamesAreTakenFromTheFileBesideIt) {
  const TemporaryFolder folder;
  folder.write("base.py", "a = 1\nb = 2\n");
  const Module module =
      parse_python_file(folder.write("config_x.py", "from base import (a as c, missing)\n"));
  EXPECT_EQ(values(module), Json::parse(R"({"c": 1})"));
  EXPECT_THAT(messages(module), ElementsAre(HasSubstr("1:1: error: base does not define missing")));
}

TEST(PythonImports, AnInstalledModuleIsIgnoredAndNamed) {
  const Module module = parse("from torch.cuda.amp import GradScaler, autocast as ac\nlr = 1\n");
  EXPECT_TRUE(module.fully_read());
  EXPECT_THAT(messages(module), ElementsAre("t.py:1:1: note: import of GradScaler, autocast from "
                                            "torch.cuda.amp: ignored"));
}

TEST(PythonImports, EverythingFromAnUnknownModuleIsAWarning) {
  const Module module = parse("from somewhere import *\nlr = 1\n");
  EXPECT_FALSE(module.fully_read());
  EXPECT_THAT(messages(module), ElementsAre(HasSubstr("1:1: warning: everything from somewhere")));
}

TEST(PythonImports, ACircleEnds) {
  const TemporaryFolder folder;
  folder.write("b.py", "from a import *\ny = 2\n");
  const Module module = parse_python_file(folder.write("a.py", "from b import *\nx = 1\n"));
  EXPECT_EQ(values(module), Json::parse(R"({"y": 2, "x": 1})"));
  EXPECT_THAT(messages(module), Contains(HasSubstr("imports itself")));
}

TEST(PythonImports, AFileThatIsTooLargeIsRefused) {
  const TemporaryFolder folder;
  const fs::path path = folder.write("big.py", std::string(kMaxPythonFile + 1, '#'));
  EXPECT_THROW(static_cast<void>(parse_python_file(path)), Error);
}

}  // namespace
}  // namespace assay::pyliteral
