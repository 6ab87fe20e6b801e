#include "sound_page.h"

#include <gtest/gtest.h>

#include "core/subprocess.h"
#include "core/text.h"
#include "needs.h"
#include "temporary_folder.h"

namespace assay::testing {

namespace {

// Every element that is opened is closed, in order; no attribute or element that loads something.
const std::string kLint = R"(
import sys
from html.parser import HTMLParser
VOID = {"meta", "link", "input", "br", "img", "hr"}
class Lint(HTMLParser):
    def __init__(self):
        super().__init__()
        self.stack, self.ids, self.bad = [], set(), []
    def handle_starttag(self, tag, attrs):
        if tag not in VOID: self.stack.append(tag)
        for name, value in attrs:
            if name == "id":
                if value in self.ids: self.bad.append("id twice: " + value)
                self.ids.add(value)
            link = tag in ("a", "form") and value and value.startswith(sys.argv[2])
            if name in ("src", "href", "action", "data") and not link and not value.startswith(("#", "data:,")):
                self.bad.append(name + "=" + value)
            if name.startswith("on"): self.bad.append("handler " + name)
    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID: self.stack.pop()
    def handle_endtag(self, tag):
        if not self.stack or self.stack.pop() != tag: self.bad.append("unbalanced </" + tag + ">")
lint = Lint()
lint.feed(open(sys.argv[1], encoding="utf-8").read())
lint.close()
if lint.stack: lint.bad.append("open: " + " ".join(lint.stack))
print("\n".join(lint.bad[:10]))
sys.exit(1 if lint.bad else 0)
)";

}  // namespace

void expect_sound_page(const std::string& page, const std::string& links) {
  const TemporaryFolder folder;
  const auto path = folder.write("page.html", page);
  const auto result = run_command({"python3", "-c", kLint, path, links});
  if (result.not_found) GTEST_SKIP() << needs::package("python3");
  EXPECT_TRUE(result.status.ok()) << result.out << result.err;
}

std::string longest_literal(std::string_view form) {
  std::string_view longest;
  while (!form.empty()) {
    const std::string_view part = form.substr(0, form.find_first_of("{}\n"));
    if (trim(part).size() > longest.size()) longest = trim(part);
    form.remove_prefix(std::min(part.size() + 1, form.size()));
  }
  return std::string(longest);
}

}  // namespace assay::testing
