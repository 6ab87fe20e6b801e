#include "lang/language.h"

#include <algorithm>
#include <atomic>

#include "chinese_texts.h"
#include "core/error.h"
#include "core/parse_number.h"
#include "core/text.h"

namespace assay::lang {

namespace {

std::atomic<Language> reader{Language::english};

// Accepts forms used by locales and browsers too: zh_CN.UTF-8, zh-Hans.
Language named(const std::string& name, const std::string& where) {
  if (const auto language =
          parse_enum<Language>(to_lower(name.substr(0, name.find_first_of("_-.")))))
    return *language;
  throw Error(ErrorKind::usage, "there is no language '" + printable(name) + "'", where,
              "languages: en, zh");
}

// Chinese can only be shown in UTF-8, not in other encodings such as "zh_CN.GB18030". A locale
// without an encoding is taken to be UTF-8.
bool is_utf8(std::string_view locale) {
  const std::size_t dot = locale.find('.');
  if (dot == std::string_view::npos) return true;
  const std::string encoding = to_lower(locale.substr(dot + 1, locale.find('@') - dot - 1));
  return encoding == "utf-8" || encoding == "utf8";
}

// The first of Assay's languages in gettext's list ("zh_CN:en").
std::optional<Language> preferred_of(std::string_view list) {
  for (const std::string_view one : split(list, ':')) {
    const std::string name = to_lower(one.substr(0, one.find_first_of("_-.@")));
    if (const auto language = parse_enum<Language>(name)) return language;
    if (name == "c") return Language::english;
  }
  return std::nullopt;
}

// Mark a name within a text. Text from elsewhere is made printable, so it cannot contain them.
constexpr char kNameBegins = '\x0e';
constexpr char kNameEnds = '\x0f';

/// The names in a text, which are taken out and put back.
class Names {
 public:
  /// `text` with numbers in place of the names; no message contains such numbers.
  std::string taken_out_of(std::string_view text) {
    std::string out;
    while (true) {
      const std::size_t begin = text.find(kNameBegins);
      const std::size_t end = text.find(kNameEnds, std::min(begin, text.size()));
      if (end == std::string_view::npos) return out += text;
      out += text.substr(0, begin + 1);
      out += std::to_string(names_.size()) + kNameEnds;
      names_.emplace_back(text.substr(begin + 1, end - begin - 1));
      text.remove_prefix(end + 1);
    }
  }

  [[nodiscard]] std::string put_back_into(std::string_view text) const {
    std::string out;
    while (true) {
      const std::size_t begin = std::min(text.find(kNameBegins), text.size());
      const std::size_t end = text.find(kNameEnds, begin);
      out += text.substr(0, begin);
      if (end == std::string_view::npos) return out += text.substr(begin);
      const auto number = parse_number<std::size_t>(text.substr(begin + 1, end - begin - 1));
      if (number && *number < names_.size()) out += names_[*number];
      text.remove_prefix(end + 1);
    }
  }

 private:
  std::vector<std::string> names_;
};

std::string translated_lines(std::string_view english) {
  std::string out;
  for (std::string_view line : split(english, '\n')) {
    if (line.data() != english.data()) out += '\n';
    while (!line.empty()) {
      // Columns are separated by at least two blanks.
      const std::size_t begin = std::min(line.find_first_not_of(' '), line.size());
      const std::size_t end = std::min(line.find("  ", begin), line.size());
      out += line.substr(0, begin);
      out += chinese_messages().translate(line.substr(begin, end - begin));
      line.remove_prefix(end);
    }
  }
  return out;
}

// `text`, in Chinese through `translation`, without the marks of names in either language.
template <class Translation>
std::string translated(Language language, std::string_view text, Translation translation) {
  Names names;
  const std::string bare = names.taken_out_of(text);
  return names.put_back_into(language == Language::english ? bare : translation(bare));
}

}  // namespace

Language choose_language(const std::string& option, const Variable& variable) {
  if (!option.empty()) return named(option, "--lang");
  if (const auto own = variable("ASSAY_LANG"); own && !own->empty())
    return named(*own, "ASSAY_LANG");
  std::string locale;
  for (const char* name : {"LC_ALL", "LC_MESSAGES", "LANG"})
    if (const auto set = variable(name); locale.empty() && set) locale = *set;
  // As in gettext, which ignores LANGUAGE for the plain locales.
  if (locale.empty() || locale == "C" || locale.starts_with("C.") || locale == "POSIX" ||
      !is_utf8(locale))
    return Language::english;
  if (const auto list = variable("LANGUAGE"))
    if (const auto language = preferred_of(*list)) return *language;
  return locale.starts_with("zh") ? Language::chinese : Language::english;
}

Language preferred_language(std::string_view accept_language) {
  Language best = Language::english;
  double best_weight = 0;
  for (std::string_view entry : split(accept_language, ',')) {
    entry = trim(entry);
    const std::size_t at = entry.find(";q=");
    const double weight =
        at == std::string_view::npos ? 1 : parse_number<double>(entry.substr(at + 3)).value_or(0);
    const std::string tag = to_lower(entry.substr(0, 2));
    if (weight <= best_weight || (tag != "zh" && tag != "en")) continue;
    best = tag == "zh" ? Language::chinese : Language::english;
    best_weight = weight;
  }
  return best;
}

Language reader_language() noexcept {
  return reader.load(std::memory_order_relaxed);
}

void set_reader_language(Language language) noexcept {
  reader.store(language, std::memory_order_relaxed);
}

const MessageTable& chinese_messages() {
  static const MessageTable kTable = [] {
    std::vector<Message> all;
    for (const auto& [name, text] : kChineseTexts)
      for (Message& message : read_po(text, "conf/lang/" + std::string(name)))
        all.push_back(std::move(message));
    return MessageTable(std::move(all));
  }();
  return kTable;
}

std::string name(std::string_view text) {
  return kNameBegins + std::string(text) + kNameEnds;
}

std::string in_language(Language language, std::string_view english) {
  return translated(language, english,
                    [](std::string_view text) { return chinese_messages().translate(text); });
}

std::string tr(std::string_view english) {
  return in_language(reader_language(), english);
}

std::string tr_whole(std::string_view text) {
  if (reader_language() == Language::english) return std::string(text);
  return std::string(chinese_messages().find(text).value_or(text));
}

std::string tr_lines(std::string_view english) {
  return translated(reader_language(), english, translated_lines);
}

}  // namespace assay::lang
