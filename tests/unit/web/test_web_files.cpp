#include <algorithm>
#include <regex>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "core/json.h"
#include "web/files.h"

namespace assay::web {
namespace {

std::string text_of(std::string_view name) {
  for (const page::Asset& file : files())
    if (file.name == name) return std::string(file.text);
  ADD_FAILURE() << name << " is not embedded";
  return {};
}

std::set<std::string> matches(const std::string& text, const std::string& pattern) {
  std::set<std::string> out;
  const std::regex regex(pattern);
  for (std::sregex_iterator it(text.begin(), text.end(), regex), end; it != end; ++it)
    out.insert((*it)[1]);
  return out;
}

std::string all_scripts() {
  std::string text;
  for (const page::Asset& file : files())
    if (file.name.ends_with(".js")) text += file.text;
  return text;
}

TEST(WebFiles, BothLanguagesHaveTheSameMessagesWithTheSamePlaceholders) {
  const Json english = parse_json(text_of("messages_en.json"), "messages_en.json");
  const Json chinese = parse_json(text_of("messages_zh.json"), "messages_zh.json");
  EXPECT_GT(english.size(), 200U);
  EXPECT_EQ(english.size(), chinese.size());
  for (const auto& [key, message] : english.items()) {
    ASSERT_TRUE(chinese.contains(key)) << key;
    EXPECT_EQ(matches(message.get<std::string>(), R"(\{([a-z_]+)\})"),
              matches(chinese[key].get<std::string>(), R"(\{([a-z_]+)\})"))
        << key;
    EXPECT_FALSE(chinese[key].get<std::string>().empty()) << key;
  }
}

TEST(WebFiles, EveryMessageThatAPageNamesIsThere) {
  const Json english = parse_json(text_of("messages_en.json"), "messages_en.json");
  const auto named = matches(all_scripts(), R"(\bt\('([a-z_.-]+)')");
  EXPECT_GT(named.size(), 150U);
  for (const std::string& key : named) EXPECT_TRUE(english.contains(key)) << key;
}

TEST(WebFiles, EveryScriptThatIsImportedIsEmbedded) {
  for (const std::string& name : matches(all_scripts(), R"(['"]\./([a-z_]+\.js)['"])"))
    EXPECT_FALSE(text_of(name).empty()) << name;
}

TEST(WebFiles, AreSmallEnoughForOneVisit) {
  std::size_t bytes = 0;
  for (const page::Asset& file : files()) bytes += file.text.size();
  EXPECT_LT(bytes, 300'000U);
}

TEST(WebFiles, NothingIsMadeFromMarkupOrFromElsewhere) {
  const std::string scripts = all_scripts();
  for (const char* risk : {"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write",
                           "eval(", "new Function", "https://"})
    EXPECT_EQ(scripts.find(risk), std::string::npos) << risk;
  const std::string page = text_of("index.html");
  EXPECT_EQ(page.find("<script>"), std::string::npos);
  EXPECT_EQ(page.find("style="), std::string::npos);
  EXPECT_EQ(page.find("http"), std::string::npos);
}

TEST(WebFiles, TheStyleIsTheReportsAndItsOwn) {
  const std::string style = text_of("style.css");
  EXPECT_NE(style.find("--accent: #3b46c4"), std::string::npos);
  EXPECT_NE(style.find(".console"), std::string::npos);
}

TEST(WebFiles, ThePageOfOneRunAsksItsOwnInterface) {
  const std::string page = run_page("api");
  EXPECT_NE(page.find("data-mode=\"run\""), std::string::npos);
  EXPECT_NE(page.find("data-api=\"api\""), std::string::npos);
}

}  // namespace
}  // namespace assay::web
