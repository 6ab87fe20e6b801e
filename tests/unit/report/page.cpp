#include "page.h"

#include <gtest/gtest.h>

#include "core/subprocess.h"
#include "temporary_folder.h"

namespace assay::report {

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
            if name in ("src", "href", "action", "data") and not value.startswith(("#", "data:,")):
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

void expect_sound_page(const std::string& page) {
  const testing::TemporaryFolder folder;
  const auto path = folder.write("page.html", page);
  const auto result = run_command({"python3", "-c", kLint, path});
  if (result.not_found) GTEST_SKIP() << "python3 is not installed";
  EXPECT_TRUE(result.status.ok()) << result.out << result.err;
}

}  // namespace assay::report
