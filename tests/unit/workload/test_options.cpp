#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "workload/options.h"

namespace assay::workload {
namespace {

using ::testing::HasSubstr;

template <class Read>
std::string error_of(const std::string& text, const Read& read) {
  Options options = Options::from_text(text);
  try {
    read(options);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::config);
    return error.what();
  }
  return "no error";
}

TEST(OptionsTest, AKeyThatIsNotGivenHasItsDefault) {
  Options options = Options::from_text("size: 7");
  EXPECT_EQ(options.integer("size", 3, 1, 10, "rows"), 7);
  EXPECT_EQ(options.number("rate", 0.5, 0, 1, "of learning"), 0.5);
  EXPECT_TRUE(options.flag("fast", true, "quickly"));
  EXPECT_EQ(options.text("path", "", "a folder"), "");
}

TEST(OptionsTest, AWholeNumberMayBeAutoWhereThatIsDeclared) {
  Options options = Options::from_text("{size: auto, rows: 7, few: 3.5}");
  EXPECT_EQ(options.integer_or_auto("size", 3, 1, 10, "of all"), std::nullopt);
  EXPECT_EQ(options.integer_or_auto("rows", 3, 1, 10, "of all"), 7);
  EXPECT_EQ(options.integer_or_auto("columns", 3, 1, 10, "of all"), 3);
  EXPECT_EQ(options.declared()[0].value, "auto");
  EXPECT_EQ(options.declared()[0].range, "1 … 10, or auto");
  EXPECT_TRUE(options.declared()[0].automatic);
  EXPECT_THAT(error_of("size: auto", [](Options& o) { (void)o.integer("size", 3, 1, 10, "rows"); }),
              HasSubstr("'size' must be a whole number"));
  EXPECT_THAT(
      error_of("few: 3.5", [](Options& o) { (void)o.integer_or_auto("few", 3, 1, 10, "rows"); }),
      HasSubstr("'few' must be a whole number"));
}

TEST(OptionsTest, AWorkloadsDefaultIsStrongerThanTheCallsAndWeakerThanTheFile) {
  Options options = Options::from_text("size: 7");
  options.set_defaults("{size: 5, rate: 0.25}");
  EXPECT_EQ(options.integer("size", 3, 1, 10, "rows"), 7);
  EXPECT_EQ(options.number("rate", 0.5, 0, 1, "of learning"), 0.25);
  EXPECT_TRUE(options.has("size"));
  EXPECT_FALSE(options.has("rate"));
}

TEST(OptionsTest, AWholeNumberMayBeWrittenAsAJsonWriterWritesIt) {
  Options options = Options::from_text(R"({"a": 1e3, "b": 5.0})");
  EXPECT_EQ(options.integer("a", 0, 0, 10000, "a"), 1000);
  EXPECT_EQ(options.integer("b", 0, 0, 10, "b"), 5);
}

TEST(OptionsTest, AValueOutOfItsRangeIsAnErrorAtItsPlace) {
  const auto size = [](Options& o) { static_cast<void>(o.integer("size", 1, 1, 9, "rows")); };
  EXPECT_THAT(error_of("size: 10", size), HasSubstr("whole number from 1 to 9"));
  EXPECT_THAT(error_of("\nsize: 1.5", size), HasSubstr(":2:7"));
  EXPECT_THAT(error_of("size: many", size), HasSubstr("'many'"));
  const auto rates = [](Options& o) { static_cast<void>(o.numbers("r", {}, 0, 1, "rates")); };
  EXPECT_THAT(error_of("r: [0.5, 2]", rates), HasSubstr("from 0 to 1"));
  const auto color = [](Options& o) {
    static_cast<void>(o.choice("color", "red", {"red", "green"}, "of it"));
  };
  EXPECT_THAT(error_of("color: gren", color), HasSubstr("green"));
}

TEST(OptionsTest, AKeyThatNobodyAsksForIsAnErrorThatNamesTheNearest) {
  const auto read = [](Options& options) {
    static_cast<void>(options.integer("size", 1, 1, 9, "rows"));
    options.reject_unknown();
  };
  EXPECT_THAT(error_of("sise: 2", read), HasSubstr("did you mean 'size'?"));
}

TEST(OptionsTest, AnUnknownKeyAmongTheDefaultsIsAnErrorToo) {
  Options options("");
  options.set_defaults("{sise: 2}");
  static_cast<void>(options.integer("size", 1, 1, 9, "rows"));
  EXPECT_THROW(options.reject_unknown(), Error);
}

TEST(OptionsTest, ReadingAnOptionDeclaresIt) {
  Options options("");
  options.section("Shape");
  static_cast<void>(options.integer("size", 3, 1, 10, "rows"));
  static_cast<void>(options.number("rate", 2, 0, 9, "of learning"));
  ASSERT_EQ(options.declared().size(), 2);
  EXPECT_EQ(options.declared()[0].section, "Shape");
  EXPECT_EQ(options.declared()[0].value, "3");
  EXPECT_EQ(options.declared()[0].range, "1 … 10");
  EXPECT_EQ(options.declared()[1].value, "2.0") << "a number is told from a whole number";
}

TEST(OptionsTest, TermsAreWhatAllRanksMustHaveAlike) {
  Options options = Options::from_text("{threads: 4, size: 2}");
  static_cast<void>(options.integer("threads", 1, 1, 9, per_rank("threads")));
  static_cast<void>(options.integer("size", 1, 1, 9, "rows"));
  EXPECT_EQ(options.terms(), "size: 2\n");
}

TEST(OptionsTest, ASettingOfTheProgramCountsAsIfTheFileSaidSo) {
  Options options("");
  options.set("fast", "true");
  EXPECT_TRUE(options.flag("fast", false, "quickly"));
}

}  // namespace
}  // namespace assay::workload
