#include "lang/po.h"

#include <array>
#include <utility>

#include "core/error.h"
#include "core/text.h"

namespace assay::lang {

namespace {

constexpr std::array<std::pair<std::string_view, std::string Message::*>, 4> kKeywords{
    {{"msgid", &Message::english},
     {"msgid_plural", &Message::plural},
     {"msgstr", &Message::translation},
     {"msgstr[0]", &Message::translation}}};

class PoReader {
 public:
  explicit PoReader(const std::string& file) : file_(file) {}

  std::vector<Message> read(std::string_view text) {
    for (const std::string_view line : split(text, '\n')) {
      ++line_;
      read_line(trim(line));
    }
    finish();
    return std::move(out_);
  }

 private:
  void read_line(std::string_view line) {
    if (line.empty() || line.starts_with('#')) return;
    if (line.starts_with('"')) {
      if (field_ == nullptr) fail("a text without a keyword before it");
      *field_ += quoted(line);
      return;
    }
    const std::string_view keyword = line.substr(0, line.find(' '));
    field_ = nullptr;
    for (const auto& [name, field] : kKeywords)
      if (name == keyword) begin(field);
    if (field_ == nullptr) fail("expected msgid, msgid_plural, msgstr or msgstr[0]");
    *field_ = quoted(trim(line.substr(keyword.size())));
  }

  void begin(std::string Message::*field) {
    if (field == &Message::english) {
      finish();
      now_.line = line_;
    }
    field_ = &(now_.*field);
  }

  void finish() {
    if (!now_.english.empty() && !now_.translation.empty()) out_.push_back(std::move(now_));
    now_ = {};
    field_ = nullptr;
  }

  std::string quoted(std::string_view text) const {
    if (text.size() < 2 || !text.starts_with('"') || !text.ends_with('"'))
      fail("expected a text in double quotes");
    std::string out;
    text = text.substr(1, text.size() - 2);
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '"') fail("a double quote within a text needs a backslash");
      if (text[i] != '\\') {
        out += text[i];
        continue;
      }
      if (++i == text.size()) fail("a text that ends in a backslash");
      out += text[i] == 'n' ? '\n' : text[i] == 't' ? '\t' : text[i];
    }
    return out;
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ErrorKind::config, what, file_ + ":" + std::to_string(line_));
  }

  const std::string& file_;
  int line_ = 0;
  Message now_;
  std::string* field_ = nullptr;
  std::vector<Message> out_;
};

}  // namespace

std::vector<Message> read_po(std::string_view text, const std::string& file) {
  return PoReader(file).read(text);
}

}  // namespace assay::lang
