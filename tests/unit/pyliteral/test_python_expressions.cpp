#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pyliteral/python_literals.h"

namespace assay::pyliteral {
namespace {

using ::testing::HasSubstr;

/// The value that `expression` has in Python, as JSON; "not read: …" when it is not a literal.
Json value_of(const std::string& expression) {
  const Module module = parse_python("x = " + expression + "\n", "t.py");
  if (const Setting* setting = module.find("x")) return to_json(setting->value);
  if (module.not_literal.empty()) return "nothing";
  return "not read: " + module.not_literal.front().what;
}

struct Example {
  const char* expression;
  const char* json;
};

class ReadsLikePython : public ::testing::TestWithParam<Example> {};

// The right-hand sides are what CPython 3.11 prints for json.dumps of the same expression.
TEST_P(ReadsLikePython, Value) {
  const Json expected = Json::parse(GetParam().json);
  const Json got = value_of(GetParam().expression);
  EXPECT_EQ(got, expected) << GetParam().expression;
  EXPECT_EQ(got.type_name(), std::string(expected.type_name())) << GetParam().expression;
}

INSTANTIATE_TEST_SUITE_P(
    Numbers, ReadsLikePython,
    ::testing::Values(Example{"1_000_000", "1000000"}, Example{"0x1F", "31"}, Example{"0b101", "5"},
                      Example{"0o17", "15"}, Example{"1e-4", "0.0001"},
                      Example{"312e12", "312000000000000.0"}, Example{"5.", "5.0"},
                      Example{".5", "0.5"}, Example{"-1", "-1"}, Example{"- -3", "3"},
                      Example{"2 ** 20", "1048576"}, Example{"-2 ** 2", "-4"},
                      Example{"2 ** 3 ** 2", "512"}, Example{"2 ** -1", "0.5"},
                      Example{"7 // -2", "-4"}, Example{"-7 % 3", "2"}, Example{"7 % -3", "-2"},
                      Example{"1 / 4", "0.25"}, Example{"32 * 8", "256"}, Example{"1 + 2 * 3", "7"},
                      Example{"(1 + 2) * 3", "9"}, Example{"True + 1", "2"},
                      Example{"9007199254740993", "9007199254740993"}));

INSTANTIATE_TEST_SUITE_P(
    Strings, ReadsLikePython,
    ::testing::Values(Example{"'a' \"b\" '''c\nd'''", R"("abc\nd")"},
                      Example{R"(r'\n')", R"("\\n")"},
                      Example{R"('\x41\u4e2d\101\q')", R"("A中A\\q")"}, Example{"u'x'", R"("x")"},
                      Example{"f'{{a}}'", R"("{a}")"}, Example{"'训练'", R"("训练")"},
                      Example{"'a#b'", R"("a#b")"},
                      Example{"'/home' + \"/result/\"", R"("/home/result/")"},
                      Example{"'ab' * 2", R"("abab")"}, Example{"'a\\\nb'", R"("ab")"}));

INSTANTIATE_TEST_SUITE_P(
    Containers, ReadsLikePython,
    ::testing::Values(Example{"[1, [2, (3,)], ]", "[1, [2, [3]]]"}, Example{"()", "[]"},
                      Example{"(1)", "1"}, Example{"1, 2,", "[1, 2]"}, Example{"{}", "{}"},
                      Example{"{'a': {'b': None}, 'c': True,}", R"({"a": {"b": null}, "c": true})"},
                      Example{"{1: 'x', 1.0: 'y'}", R"({"1": "y"})"},
                      Example{"[1] * 2 + [3]", "[1, 1, 3]"},
                      Example{"dict(a=1, b=dict(c=[2]))", R"({"a": 1, "b": {"c": [2]}})"},
                      Example{"[1, 2, 3][-1]", "3"}, Example{"{'a': 5}['a']", "5"}));

TEST(PythonExpressions, ACallIsNamedAndNotRead) {
  EXPECT_EQ(value_of("GradScaler(init_scale=2)"), "not read: a function call, GradScaler(…)");
  EXPECT_EQ(value_of("os.path.join('a', 'b')"), "not read: a function call, os.path.join(…)");
  EXPECT_EQ(value_of("'a'.upper()"), "not read: a method call, 'a'.upper(…)");
}

TEST(PythonExpressions, WhatIsNotALiteralIsNamed) {
  EXPECT_EQ(value_of("[i for i in y]"), "not read: a name that this file does not define, i");
  EXPECT_EQ(value_of("[1 for i in y]"), "not read: a comprehension");
  EXPECT_EQ(value_of("lambda: 3"), "not read: a lambda");
  EXPECT_EQ(value_of("f'{2 + 2}'"), "not read: an f-string with the expression {2 + 2}");
  EXPECT_EQ(value_of("1j"), "not read: an imaginary number");
  EXPECT_EQ(value_of("os.sep"), "not read: a name that this file does not define, os");
  EXPECT_EQ(value_of("'abc'[0:2]"), "not read: a slice");
  EXPECT_EQ(value_of("1 if [] else 2"), "not read: an expression with 'if'");
  EXPECT_EQ(value_of("not 0"), "not read: an expression with 'not'");
  EXPECT_EQ(value_of("1 << 10"), "not read: an expression with '<<'");
  EXPECT_EQ(value_of("{1, 2}"), "not read: a set");
  EXPECT_EQ(value_of("b'x'"), "not read: bytes");
  EXPECT_EQ(value_of("'%d' % 3"), "not read: str % int");
  EXPECT_EQ(value_of("float('1')"), "not read: a function call, float(…)");
}

TEST(PythonExpressions, AnFStringMayNameAnEarlierString) {
  const Module module = parse_python("root = '/data'\nn = 3\nx = f'{root}/v{n}'\n", "t.py");
  ASSERT_NE(module.find("x"), nullptr);
  EXPECT_EQ(module.find("x")->value.text, "/data/v3");
}

TEST(PythonExpressions, AnIntegerBeyond64BitsIsKeptAsAFloatAndSaid) {
  const Module module = parse_python("x = 123456789012345678901234567890\n", "t.py");
  ASSERT_NE(module.find("x"), nullptr);
  EXPECT_DOUBLE_EQ(module.find("x")->value.real, 123456789012345678901234567890.0);
  ASSERT_EQ(module.diagnostics.size(), 1U);
  EXPECT_EQ(to_string(module.diagnostics[0]),
            "t.py:1:5: note: an integer beyond 64 bits, kept as a floating-point number");
}

TEST(PythonExpressions, InfinityBecomesTextSinceJsonHasNone) {
  EXPECT_EQ(value_of("1e400"), "inf");
  EXPECT_EQ(value_of("-1e400"), "-inf");
}

TEST(PythonExpressions, DivisionByZeroIsAnErrorOfTheFile) {
  const Module module = parse_python("x = 1 // 0\n", "t.py");
  EXPECT_FALSE(module.syntax_ok);
  EXPECT_THAT(to_string(module.diagnostics.at(0)),
              HasSubstr("t.py:1:7: error: a division by zero"));
}

TEST(PythonExpressions, LeadingZerosAreNotPython) {
  EXPECT_FALSE(parse_python("x = 007\n", "t.py").syntax_ok);
  EXPECT_TRUE(parse_python("x = 000\n", "t.py").syntax_ok);
}

// Hostile input: each of these would cost gigabytes, minutes or the stack if it were not bounded.

TEST(PythonBounds, HundredThousandParentheses) {
  const Module module = parse_python("x = " + std::string(100'000, '('), "t.py");
  EXPECT_FALSE(module.syntax_ok);
  EXPECT_THAT(to_string(module.diagnostics.at(0)), HasSubstr("nested deeper than 200"));
}

TEST(PythonBounds, HundredThousandSigns) {
  EXPECT_EQ(value_of(std::string(100'000, '-') + "1"), Json(1));
}

TEST(PythonBounds, ChainedPowers) {
  std::string powers = "2";
  for (int i = 0; i < 50'000; ++i) powers += "**1";
  EXPECT_EQ(value_of(powers), "not read: an expression nested too deeply");
}

TEST(PythonBounds, ValuesThatDoubleOnEveryLine) {
  std::string source = "a = [1, 2]\ns = 'xy'\n";
  for (int i = 0; i < 64; ++i) source += "a = [a, a]\ns = s + s\n";
  const Module module = parse_python(source, "t.py");
  EXPECT_EQ(module.find("a"), nullptr);
  EXPECT_EQ(module.find("s"), nullptr);
}

TEST(PythonBounds, ValuesThatNestOnEveryLine) {
  std::string source = "a = [1]\n";
  for (int i = 0; i < 20'000; ++i) source += "a=[a]\n";
  EXPECT_EQ(parse_python(source, "t.py").find("a"), nullptr);
}

TEST(PythonBounds, HugeRepetitionsAndPowers) {
  EXPECT_THAT(value_of("'x' * 10**12").get<std::string>(), HasSubstr("larger than an import"));
  EXPECT_THAT(value_of("10 ** 10 ** 10").get<std::string>(), HasSubstr("too large"));
}

}  // namespace
}  // namespace assay::pyliteral
