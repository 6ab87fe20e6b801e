#include "page/bilingual.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "core/json.h"
#include "page/document.h"
#include "page/markup.h"
#include "page/page_assets.h"
#include "page/template.h"

namespace assay::page {

namespace {

using lang::Language;

// The same lists as in language.js.
constexpr std::array<std::string_view, 5> kUntouched{"script", "style", "code", "pre", "textarea"};
constexpr std::array<std::string_view, 5> kAttributes{"title", "aria-label", "data-label",
                                                      "placeholder", "alt"};

constexpr std::array<std::pair<std::string_view, char>, 5> kEntities{
    {{"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&#39;", '\''}}};

std::string unescape(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const auto entity = std::ranges::find_if(
        kEntities, [&](const auto& entry) { return text.starts_with(entry.first); });
    out += entity == kEntities.end() ? text[0] : entity->second;
    text.remove_prefix(entity == kEntities.end() ? 1 : entity->first.size());
  }
  return out;
}

std::string_view tag_name(std::string_view tag) {
  return tag.substr(1, tag.find_first_of(" >/\n", 2) - 1);
}

bool is_name(std::string_view tag) {
  return tag.find(" translate=\"no\"") != std::string_view::npos;
}

bool is_untouched(std::string_view tag) {
  return std::ranges::find(kUntouched, tag_name(tag)) != kUntouched.end() || is_name(tag);
}

// The end of the element inside which `html` begins; it may contain elements of the same name.
std::size_t end_of_element(std::string_view html, std::string_view name) {
  const std::string open = "<" + std::string(name);
  const std::string close = "</" + std::string(name);
  std::size_t end = html.find(close);
  for (std::size_t inner = html.find(open); inner < end && end != std::string_view::npos;
       inner = html.find(open, inner + open.size())) {
    const std::size_t behind = inner + open.size();
    if (behind < html.size() && (html[behind] == '>' || html[behind] == ' '))
      end = html.find(close, end + close.size());
  }
  return std::min(end, html.size());
}

/// Goes through a page once and collects every text that differs in Chinese.
class Translator {
 public:
  explicit Translator(Language first) : first_(first) {}

  [[nodiscard]] Language first() const noexcept { return first_; }

  std::string page(std::string_view html) {
    std::string out;
    while (!html.empty()) {
      const std::size_t open = std::min(html.find('<'), html.size());
      out += text(html.substr(0, open));
      html.remove_prefix(open);
      if (html.empty()) break;
      const std::size_t close = std::min(html.find('>'), html.size() - 1) + 1;
      const std::string_view tag = html.substr(0, close);
      html.remove_prefix(close);
      out += is_name(tag) ? std::string(tag) : attributes(tag);
      if (tag.ends_with("/>") || !is_untouched(tag)) continue;
      const std::size_t end = end_of_element(html, tag_name(tag));
      out += html.substr(0, end);
      html.remove_prefix(end);
    }
    return out;
  }

  /// {"first": "zh", "texts": [["Summary", "汇总"], …], "order": [0, …]}, in order of occurrence.
  [[nodiscard]] Json words() const {
    Json texts = Json::array();
    for (const auto& [english, chinese] : texts_) texts.push_back({english, chinese});
    return {{"first", std::string(to_text(first_))}, {"texts", texts}, {"order", order_}};
  }

 private:
  // An escaped text of an element or attribute, including the blanks at its ends.
  std::string text(std::string_view escaped) {
    constexpr std::string_view kBlank = " \n\t";
    constexpr std::string_view kUnbreakable = "&nbsp;";
    const std::size_t begin = escaped.find_first_not_of(kBlank);
    if (begin == std::string_view::npos) return std::string(escaped);
    std::size_t end = escaped.find_last_not_of(kBlank) + 1;
    if (escaped.substr(begin, end - begin).ends_with(kUnbreakable)) end -= kUnbreakable.size();
    const auto shown = translated(unescape(escaped.substr(begin, end - begin)));
    if (!shown) return std::string(escaped);
    return std::string(escaped.substr(0, begin)) + escape_markup(*shown) +
           std::string(escaped.substr(end));
  }

  std::optional<std::string> translated(const std::string& english) {
    auto found = known_.find(english);
    if (found == known_.end()) {
      const std::string chinese = lang::in_language(Language::chinese, english);
      std::optional<std::size_t> at;
      if (chinese != english) {
        at = texts_.size();
        texts_.emplace_back(english, chinese);
      }
      found = known_.emplace(english, at).first;
    }
    if (!found->second) return std::nullopt;
    order_.push_back(*found->second);
    return first_ == Language::chinese ? texts_[*found->second].second : english;
  }

  std::string attributes(std::string_view tag) {
    std::string out;
    while (!tag.empty()) {
      const std::size_t equals = tag.find("=\"");
      const std::size_t close =
          equals == std::string_view::npos ? equals : tag.find('"', equals + 2);
      if (close == std::string_view::npos) break;
      const std::string_view name = tag.substr(0, equals);
      const bool shown = std::ranges::any_of(kAttributes, [&](std::string_view one) {
        return name.ends_with(one) && name.size() > one.size() &&
               name[name.size() - one.size() - 1] == ' ';
      });
      const std::string_view value = tag.substr(equals + 2, close - equals - 2);
      out += name;
      out += "=\"" + (shown ? text(value) : std::string(value)) + "\"";
      tag.remove_prefix(close + 1);
    }
    return out += tag;
  }

  Language first_;
  std::map<std::string, std::optional<std::size_t>> known_;
  std::vector<std::pair<std::string, std::string>> texts_;
  std::vector<std::size_t> order_;
};

void replace_first(std::string& text, std::string_view what, const std::string& by) {
  if (const std::size_t at = text.find(what); at != std::string::npos)
    text.replace(at, what.size(), by);
}

std::string translated_page(Translator& translator, std::string_view html) {
  std::string out = translator.page(html);
  if (translator.first() == Language::chinese)
    replace_first(out, "<html lang=\"en\">", "<html lang=\"zh-CN\">");
  return out;
}

// JSON within a page, where no text can end the enclosing element.
std::string safe_json(const Json& json) {
  std::string out;
  for (const char c : dump_line(json)) {
    if (c == '<')
      out += "\\u003c";
    else
      out += c;
  }
  return out;
}

}  // namespace

std::string in_language(std::string_view html, Language language) {
  if (language == Language::english) return std::string(html);
  Translator translator(language);
  return translated_page(translator, html);
}

std::string bilingual(std::string_view html, Language first) {
  Translator translator(first);
  std::string out = translated_page(translator, html);
  replace_first(out, "script-src '", "script-src '" + script_source(assets::kLanguage) + "' '");
  const Html parts =
      fill(assets::kLanguageSwitch, {{"words", Html(safe_json(translator.words()))},
                                     {"script", Html(std::string(assets::kLanguage.text))}});
  const std::size_t body = out.rfind("</body>");
  out.insert(std::min(body, out.size()), parts.str());
  return out;
}

std::string bilingual(std::string_view html) {
  return bilingual(html, lang::reader_language());
}

}  // namespace assay::page
