#include "page/template.h"

#include <algorithm>
#include <span>
#include <vector>

#include "core/error.h"

namespace assay::page {

class Filler {
 public:
  Filler(const Asset& form, std::span<const Field> fields)
      : form_(form), rest_(form.text), fields_(fields), used_(fields.size()) {}

  Html run() {
    section("", true);
    for (std::size_t i = 0; i < fields_.size(); ++i)
      if (!used_[i]) fail("no placeholder for the field", fields_[i].name_);
    return Html(std::move(out_));
  }

 private:
  [[noreturn]] void fail(std::string_view what, std::string_view name) const {
    throw Error(ErrorKind::internal, std::string(what) + " '" + std::string(name) + "'",
                std::string(form_.name));
  }

  const Field& field(std::string_view name) {
    const auto found = std::ranges::find(fields_, name, &Field::name_);
    if (found == fields_.end()) fail("no value for", name);
    used_[static_cast<std::size_t>(found - fields_.begin())] = true;
    return *found;
  }

  // Returns the name in the tag at the start of the rest and removes the tag.
  std::string_view take(std::string_view open, std::string_view close) {
    const auto end = rest_.find(close);
    if (end == std::string_view::npos) fail("not closed:", rest_.substr(0, 20));
    const std::string_view name = rest_.substr(open.size(), end - open.size());
    rest_.remove_prefix(end + close.size());
    return name;
  }

  void value(std::string_view name, Field::Kind wanted, bool shown) {
    const Field& found = field(name);
    if (found.kind_ != wanted)
      fail(wanted == Field::Kind::html ? "not Html:" : "not a text or number:", name);
    if (shown) out_ += found.content_;
  }

  void line_break(bool shown) {
    const std::string_view before = form_.text.substr(0, form_.text.size() - rest_.size());
    rest_.remove_prefix(std::min(rest_.find_first_not_of("\n "), rest_.size()));
    const bool after_tag = before.empty() || before.ends_with('>') || before.ends_with("}}");
    const bool before_tag = rest_.empty() || rest_.starts_with('<') || rest_.starts_with("{{");
    if (shown && !(after_tag && before_tag)) out_ += ' ';
  }

  // Goes up to the end of the section `name`, or of the whole form.
  void section(std::string_view name, bool shown) {
    while (!rest_.empty()) {
      if (rest_.starts_with("{{{")) {
        value(take("{{{", "}}}"), Field::Kind::html, shown);
      } else if (rest_.starts_with("{{#")) {
        const std::string_view inner = take("{{#", "}}");
        const bool wanted = !field(inner).content_.empty();
        section(inner, shown && wanted);
      } else if (rest_.starts_with("{{/")) {
        if (const std::string_view closed = take("{{/", "}}"); closed != name || name.empty())
          fail("not open:", closed);
        return;
      } else if (rest_.starts_with("{{")) {
        if (const std::string_view inner = take("{{", "}}"); inner != "\\n")
          value(inner, Field::Kind::text, shown);
        else if (shown)
          out_ += '\n';
      } else if (rest_.starts_with('\n')) {
        line_break(shown);
      } else {
        const std::string_view plain =
            rest_.substr(0, std::min(rest_.find('\n'), rest_.find("{{")));
        if (shown) out_ += plain;
        rest_.remove_prefix(plain.size());
      }
    }
    if (!name.empty()) fail("not closed: the section", name);
  }

  const Asset& form_;
  std::string_view rest_;
  std::span<const Field> fields_;
  std::vector<bool> used_;
  std::string out_;
};

Html fill(const Asset& form, std::initializer_list<Field> fields) {
  return Filler(form, {fields.begin(), fields.size()}).run();
}

}  // namespace assay::page
