#include <filesystem>
#include <fstream>
#include <map>

#include <gmock/gmock.h>

#include "error_of.h"
#include "lang/language.h"

namespace assay::lang {
namespace {

using testing::error_of;
using ::testing::HasSubstr;

Language chosen(const std::string& option, std::map<std::string, std::string> variables) {
  return choose_language(option, [&](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  });
}

class Reader {
 public:
  explicit Reader(Language language) { set_reader_language(language); }
  ~Reader() { set_reader_language(Language::english); }
};

TEST(Language, IsEnglishUnlessSomethingElseIsAskedFor) {
  EXPECT_EQ(chosen("", {}), Language::english);
  EXPECT_EQ(chosen("", {{"LANG", "C.UTF-8"}}), Language::english);
}

TEST(Language, IsThatOfTheLocale) {
  EXPECT_EQ(chosen("", {{"LANG", "zh_CN.UTF-8"}}), Language::chinese);
  EXPECT_EQ(chosen("", {{"LANG", "zh_CN.UTF-8"}, {"LC_MESSAGES", "en_US.UTF-8"}}),
            Language::english);
  EXPECT_EQ(chosen("", {{"LANG", "en_US.UTF-8"}, {"LC_ALL", "zh_CN"}}), Language::chinese);
  EXPECT_EQ(chosen("", {{"LANG", "zh_CN"}, {"LC_ALL", ""}}), Language::chinese);
}

TEST(Language, IsThatOfLanguageUnlessTheLocaleIsPlain) {
  EXPECT_EQ(chosen("", {{"LANG", "en_US.UTF-8"}, {"LANGUAGE", "zh_CN:en"}}), Language::chinese);
  EXPECT_EQ(chosen("", {{"LANG", "zh_CN.UTF-8"}, {"LANGUAGE", "de:en:zh"}}), Language::english);
  EXPECT_EQ(chosen("", {{"LANG", "zh_CN.UTF-8"}, {"LANGUAGE", "de"}}), Language::chinese);
  EXPECT_EQ(chosen("", {{"LANG", "zh_CN.UTF-8"}, {"LANGUAGE", ""}}), Language::chinese);
  EXPECT_EQ(chosen("", {{"LC_ALL", "C.UTF-8"}, {"LANGUAGE", "zh_CN"}}), Language::english);
  EXPECT_EQ(chosen("", {{"LANGUAGE", "zh_CN"}}), Language::english);
}

TEST(Language, IsEnglishWhereChineseCouldNotBeRead) {
  EXPECT_EQ(chosen("", {{"LANG", "zh_CN.GB18030"}}), Language::english);
  EXPECT_EQ(chosen("", {{"LANG", "zh_TW.Big5"}}), Language::english);
  EXPECT_EQ(chosen("", {{"LANG", "zh_CN.utf8"}}), Language::chinese);
  EXPECT_EQ(chosen("zh", {{"LANG", "zh_CN.GBK"}}), Language::chinese);
}

TEST(Language, IsAskedForByOptionBeforeVariableBeforeLocale) {
  EXPECT_EQ(chosen("zh", {{"ASSAY_LANG", "en"}}), Language::chinese);
  EXPECT_EQ(chosen("", {{"ASSAY_LANG", "en"}, {"LANG", "zh_CN.UTF-8"}}), Language::english);
}

TEST(Language, IsKnownByTheNameOfALocale) {
  for (const char* name : {"zh_CN", "zh_CN.UTF-8", "zh-CN", "zh-Hans", "ZH"})
    EXPECT_EQ(chosen(name, {}), Language::chinese) << name;
  EXPECT_EQ(chosen("en_US.UTF-8", {{"LANG", "zh_CN"}}), Language::english);
  EXPECT_EQ(chosen("", {{"ASSAY_LANG", "zh_CN"}}), Language::chinese);
}

TEST(Language, RefusesOneThatThereIsNot) {
  for (const char* name : {"fr", "fr_FR.UTF-8", "zhuang", "_CN", "-"})
    EXPECT_THAT(error_of([&] { return chosen(name, {}); }), HasSubstr("--lang")) << name;
  EXPECT_THAT(error_of([] {
                return chosen("", {{"ASSAY_LANG", "fr_FR"}});
              }),
              HasSubstr("ASSAY_LANG"));
}

TEST(Language, IsWhatABrowserPrefers) {
  EXPECT_EQ(preferred_language("zh-CN,zh;q=0.9,en;q=0.8"), Language::chinese);
  EXPECT_EQ(preferred_language("en-US,en;q=0.9,zh;q=0.5"), Language::english);
  EXPECT_EQ(preferred_language("de, zh;q=0.4, en;q=0.2"), Language::chinese);
  EXPECT_EQ(preferred_language(""), Language::english);
  EXPECT_EQ(preferred_language("zh;q=nonsense"), Language::english);
}

TEST(Language, SpeaksToTheReader) {
  EXPECT_EQ(tr("Summary"), "Summary");
  const Reader scope(Language::chinese);
  EXPECT_EQ(tr("Summary"), "汇总");
}

TEST(Language, TranslatesLinesColumnByColumn) {
  const Reader scope(Language::chinese);
  EXPECT_EQ(tr_lines("Examples:\n  assay run   the suite that fits this machine\n"),
            "示例：\n  assay run   适合本机的套件\n");
}

TEST(Language, TranslatesAForeignTextAsAWholeOrNotAtAll) {
  const Reader scope(Language::chinese);
  EXPECT_EQ(tr_whole("Summary"), "汇总");
  EXPECT_EQ(tr_whole("Summary (2 cases)"), "Summary (2 cases)");
}

TEST(Language, LeavesNamesWithinATextAsTheyAre) {
  EXPECT_EQ(in_language(Language::english, name("note") + ": 2 rows"), "note: 2 rows");
  EXPECT_EQ(in_language(Language::chinese, name("note") + ": 2 rows"), "note：2 行");
  EXPECT_EQ(in_language(Language::chinese, name("2 rows")), "2 rows");
}

TEST(Language, LeavesBlanksWithinANameOfALine) {
  const Reader reader(Language::chinese);
  EXPECT_EQ(tr_lines("  " + name("note  note") + "  2 cases\n"), "  note  note  2 个用例\n");
}

TEST(Language, HasEveryDescriptionOfWhatIsShipped) {
  namespace fs = std::filesystem;
  constexpr std::string_view kKey = "description: ";
  int found = 0;
  for (const char* part : {"suites", "workloads", "vendors"})
    for (const auto& file : fs::directory_iterator(fs::path(ASSAY_SOURCE_DIR) / "conf" / part)) {
      if (file.path().extension() != ".yaml") continue;
      std::ifstream in(file.path());
      for (std::string line; std::getline(in, line);) {
        if (!line.starts_with(kKey)) continue;
        ++found;
        EXPECT_TRUE(chinese_messages().find(line.substr(kKey.size()))) << file.path() << line;
      }
    }
  EXPECT_GT(found, 40);
}

TEST(Language, HasMessagesWithTheSamePlaceholders) {
  for (const Message& message : chinese_messages().messages())
    EXPECT_EQ(placeholders(message.english), placeholders(message.translation))
        << message.english << "\n"
        << message.translation;
}

}  // namespace
}  // namespace assay::lang
