#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/yaml.h"
#include "temporary_folder.h"

namespace assay::config {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

Node parse_text(std::string_view text) {
  return parse_yaml(text, {"s.yaml", "", false});
}

std::string yaml_error(std::string_view text) {
  try {
    (void)parse_text(text).json();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::config);
    return e.what();
  }
  return "no error";
}

TEST(Yaml, ReadsMappingsSequencesAndScalarsWithTheirPlaces) {
  const Node root = parse_text("a: 1\nb:\n  - x\n  - {c: y}\n");
  EXPECT_EQ(dump_line(root.json()), R"({"a":1,"b":["x",{"c":"y"}]})");
  EXPECT_EQ(root.find("b")->items()[1].find("c")->where(), "s.yaml:4:9");
  EXPECT_EQ(root.find("b")->items()[1].find("c")->origin(), "s.yaml:4");
}

TEST(Yaml, DuplicateKeyNamesBothPlaces) {
  EXPECT_EQ(yaml_error("a: 1\nb: 2\na: 3\n"),
            "s.yaml:3:1: duplicate key 'a', first given at line 1, column 1\n  keep one of them");
  EXPECT_THAT(yaml_error("x: {k: 1, k: 2}\n"), StartsWith("s.yaml:1:11: duplicate key 'k'"));
}

TEST(Yaml, SecondDocumentIsRefused) {
  EXPECT_THAT(yaml_error("a: 1\n---\nb: 2\n"), StartsWith("s.yaml:3:1: more than one document"));
}

TEST(Yaml, AQuotationMarkIsClosed) {
  EXPECT_THAT(yaml_error("a: 1\nb: \"x\nc: 2\n"),
              StartsWith("s.yaml:2:4: a quotation mark is not closed"));
  EXPECT_THAT(yaml_error("a: 'x"), StartsWith("s.yaml:1:6: a quotation mark is not closed"));
  EXPECT_THAT(yaml_error("a: 1\n\"b: 2\n"), Not(HasSubstr("no error")));
  for (const char* text : {"a: \"x\"", "a: 'it''s'\n", "a: \"x\n  y\" # '\n", "a: |\n  \"x\n",
                           "a: >\n  'x\n\n", "{a: \"#\"}\n", "a: \"x\"\n...\n"})
    EXPECT_EQ(yaml_error(text), "no error") << text;
}

TEST(Yaml, SyntaxErrorHasLineAndColumn) {
  EXPECT_THAT(yaml_error("a: b: c\n"), StartsWith("s.yaml:1:5: not valid YAML: "));
}

TEST(Yaml, TabIndentationIsNamed) {
  EXPECT_THAT(yaml_error("a:\n  - x\n\t- y\n"), HasSubstr("line 3 is indented with a tab"));
  EXPECT_THAT(yaml_error("a:\n\tb: 1\n"), HasSubstr("line 2 is indented with a tab"));
}

TEST(Yaml, EmptyAndCommentOnlyFilesAreNull) {
  EXPECT_TRUE(parse_text("").is_null());
  EXPECT_TRUE(parse_text("# nothing\n").is_null());
}

TEST(Yaml, BinaryAndInvalidUtf8AreRefusedAtTheByte) {
  EXPECT_THAT(yaml_error(std::string_view("a: 1\nb: \0x", 10)),
              StartsWith("s.yaml:2:4: a control character (U+0000)"));
  EXPECT_THAT(yaml_error("a: \xff\xfe\n"),
              StartsWith("s.yaml:1:4: not a UTF-8 text file: the byte 0xFF"));
  EXPECT_THAT(yaml_error("a: \xef\n"), StartsWith("s.yaml:1:4: not a UTF-8"));
  EXPECT_THAT(yaml_error("a: é\u0085\n"), StartsWith("s.yaml:1:5: a control character (U+0085)"));
}

TEST(Yaml, ACharacterThatTurnsTextIsNamedAtItsPlace) {
  EXPECT_THAT(yaml_error("a: 1\nname: gp\u202eu\n"),
              StartsWith("s.yaml:2:9: a bidirectional control character (U+202E)"));
  EXPECT_THAT(yaml_error("a: \u2066\u2014\n"),
              StartsWith("s.yaml:1:4: a bidirectional control character (U+2066)"));
}

TEST(Yaml, WindowsLineEndsAndByteOrderMarkAreFine) {
  EXPECT_EQ(dump_line(parse_text("\xEF\xBB\xBF"
                                 "a: 1\r\nb: x\r\n")
                          .json()),
            R"({"a":1,"b":"x"})");
}

TEST(Yaml, AliasesAreCopiesOfTheValue) {
  EXPECT_EQ(dump_line(parse_text("a: &x [1, 2]\nb: *x\n").json()), R"({"a":[1,2],"b":[1,2]})");
}

TEST(Yaml, AliasBombIsRefusedQuickly) {
  std::string text = "a0: &a0 [x, x]\n";
  for (int i = 1; i < 60; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + before + ", " + before +
            "]\n";
  }
  EXPECT_THAT(yaml_error(text), HasSubstr("aliases count in full"));
}

TEST(Yaml, AliasInsideItselfIsRefused) {
  EXPECT_THAT(yaml_error("&a [*a]\n"), HasSubstr("inside the value that it names"));
}

TEST(Yaml, DeepNestingIsRefused) {
  EXPECT_THAT(yaml_error(std::string(1'000'000, '[')), HasSubstr("levels deep"));
  std::string dashes;
  for (int i = 0; i < 100'000; ++i) dashes += "- ";
  EXPECT_THAT(yaml_error(dashes), HasSubstr("levels deep"));
  std::string flow;
  for (int i = 0; i < 5'000; ++i) flow += "[a,";
  EXPECT_THAT(yaml_error(flow), HasSubstr("levels deep"));
}

TEST(Yaml, TagsNeverMakeObjects) {
  EXPECT_THAT(yaml_error("a: !!python/object:os.system x\n"), HasSubstr("is not supported"));
  EXPECT_EQ(dump_line(parse_text("a: !!str 1\n").json()), R"({"a":"1"})");
}

TEST(Yaml, KeysMustBeText) {
  EXPECT_THAT(yaml_error("? [a]\n: 1\n"), HasSubstr("a key must be text"));
  EXPECT_THAT(yaml_error("~: 1\n"), HasSubstr("a key must be text"));
}

class YamlFile : public ::testing::Test {
 protected:
  assay::testing::TemporaryFolder folder_;
  const std::filesystem::path dir_ = folder_.path();
};

TEST_F(YamlFile, MissingFileFolderAndHugeFileAreConfigErrors) {
  const auto message = [](const std::filesystem::path& path) -> std::string {
    try {
      (void)load_yaml(path);
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), ErrorKind::config);
      EXPECT_EQ(e.where(), path.string());
      return e.message();
    }
    return "no error";
  };
  EXPECT_EQ(message(dir_ / "none.yaml"), "no such file");
  EXPECT_EQ(message(dir_), "is a folder, not a file");
  EXPECT_EQ(message("/dev/null"), "not a regular file");
  std::ofstream(dir_ / "huge.yaml") << std::string(kMaxFileBytes + 1, '#');
  EXPECT_EQ(message(dir_ / "huge.yaml"), "larger than 4 MiB");
}

TEST_F(YamlFile, OriginUsesTheDisplayNameAndErrorsThePath) {
  const auto path = dir_ / "v.yaml";
  std::ofstream(path) << "a: 1\n";
  const Node node = *load_yaml(path, "conf/v.yaml").find("a");
  EXPECT_EQ(node.origin(), "conf/v.yaml:1");
  EXPECT_EQ(node.where(), path.string() + ":1:4");
}

}  // namespace
}  // namespace assay::config
