#include "config/yaml.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <sstream>

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include "core/files.h"
#include "core/text.h"

namespace assay::config {

namespace {

// Builds the tree from the parser's events: unlike YAML::Node they keep the mark of every key, show
// duplicate keys and tell an alias from a copy, so that expansion can be bounded.
class Builder : public YAML::EventHandler {
 public:
  explicit Builder(std::shared_ptr<const Source> source) : source_(std::move(source)) {}

  [[nodiscard]] const Node& root() const { return root_; }
  /// Where the document's last scalar begins, if it is quoted or a block.
  [[nodiscard]] const std::optional<YAML::Mark>& last_text() const { return last_text_; }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    add(Node::null(source_, line(mark), column(mark)), 1, anchor);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end())
      fail(mark, "an alias stands inside the value that it names", "write the value out");
    add(found->second.node, found->second.size, 0);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    const bool as_text = tag == "!" || tag == "tag:yaml.org,2002:str";
    last_text_ = as_text ? std::optional(mark) : std::nullopt;
    if (!as_text) check_tag(mark, tag);
    add(Node::scalar(value, !as_text, source_, line(mark), column(mark)), 1, anchor);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, false);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, true);
  }
  void OnMapEnd() override { close(); }

 private:
  struct Open {
    bool is_mapping;
    YAML::Mark mark;
    YAML::anchor_t anchor;
    std::size_t size = 1;
    bool expects_key = true;
    Entry entry{};
    std::vector<Node> items{};
    std::vector<Entry> entries{};
    std::map<std::string, std::size_t> seen{};  // key → index in entries
  };
  struct Anchored {
    Node node;
    std::size_t size;
  };

  static int line(const YAML::Mark& mark) { return mark.line + 1; }
  static int column(const YAML::Mark& mark) { return mark.column + 1; }

  [[noreturn]] void fail(const YAML::Mark& mark, const std::string& message,
                         const std::string& advice = {}) const {
    throw Error(ErrorKind::config, message, place(source_.get(), line(mark), column(mark)), advice);
  }

  void check_tag(const YAML::Mark& mark, const std::string& tag) const {
    if (tag.empty() || tag == "?" || tag == "!") return;
    fail(mark, "the tag '" + printable(ellipsize(tag, 60)) + "' is not supported",
         "write the plain value");
  }

  void open(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
            bool is_mapping) {
    check_tag(mark, tag);
    if (static_cast<int>(stack_.size()) >= kMaxDepth)
      fail(mark, "nested more than " + std::to_string(kMaxDepth) + " levels deep");
    stack_.push_back({is_mapping, mark, anchor});
  }

  void close() {
    Open top = std::move(stack_.back());
    stack_.pop_back();
    Node node =
        top.is_mapping
            ? Node::mapping(std::move(top.entries), source_, line(top.mark), column(top.mark))
            : Node::sequence(std::move(top.items), source_, line(top.mark), column(top.mark));
    add(std::move(node), top.size, top.anchor);
  }

  void add(Node node, std::size_t size, YAML::anchor_t anchor) {
    if (anchor != 0) anchors_.insert_or_assign(anchor, Anchored{node, size});
    if (stack_.empty()) {
      root_ = std::move(node);
      return;
    }
    Open& top = stack_.back();
    top.size += size;
    if (top.size > kMaxNodes)
      fail(top.mark, "more than " + std::to_string(kMaxNodes) + " values (aliases count in full)");
    if (!top.is_mapping) {
      top.items.push_back(std::move(node));
    } else if (top.expects_key) {
      take_key(top, node);
    } else {
      top.entry.value = std::move(node);
      top.entries.push_back(std::move(top.entry));
      top.expects_key = true;
    }
  }

  void take_key(Open& top, const Node& key) {
    if (!key.is_scalar()) key.fail("a key must be text, got " + key.describe());
    const std::string text = key.text();
    const auto [at, fresh] = top.seen.try_emplace(text, top.entries.size());
    if (!fresh) {
      const Entry& first = top.entries[at->second];
      key.fail("duplicate key '" + printable(ellipsize(text, 60)) + "', first given at line " +
                   std::to_string(first.line) + ", column " + std::to_string(first.column),
               "keep one of them");
    }
    top.entry = {text, key.line(), key.column(), Node()};
    top.expects_key = false;
  }

  std::shared_ptr<const Source> source_;
  std::optional<YAML::Mark> last_text_;
  std::vector<Open> stack_;
  std::map<YAML::anchor_t, Anchored> anchors_;
  Node root_;
};

// yaml-cpp accepts the end of the last line as the end of quoted text, whatever lies between. A
// comment after it makes yaml-cpp notice that the text is not closed.
bool runs_to_the_end(std::string_view text, const std::shared_ptr<const Source>& source) {
  std::istringstream stream{std::string(text) + "\n#"};
  YAML::Parser parser(stream);
  Builder builder(source);
  try {
    (void)parser.HandleNextDocument(builder);
    return false;
  } catch (const YAML::Exception& e) {
    return e.msg == YAML::ErrorMsg::EOF_IN_SCALAR;
  }
}

struct Position {
  int line = 1;
  int column = 1;
};

Position position_of(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, offset);
  const auto newline = before.rfind('\n');
  const auto start = newline == std::string_view::npos ? 0 : newline + 1;
  return {static_cast<int>(std::ranges::count(before, '\n')) + 1,
          static_cast<int>(code_points(before.substr(start))) + 1};
}

// printable() changes exactly the parts that are not clean UTF-8 text.
std::size_t first_unclean(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const auto lead = static_cast<unsigned char>(text[at]);
    const std::size_t length = lead < 0xC0 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    const std::string_view character = text.substr(at, length);
    if (printable(character) != character) return at;
    at += length;
  }
  return text.size();
}

[[noreturn]] void fail_unclean(std::string_view rest, const std::string& where) {
  const auto byte = [&](std::size_t i) {
    return i < rest.size() ? static_cast<unsigned>(static_cast<unsigned char>(rest[i])) : 0U;
  };
  const unsigned turned = (byte(0) & 0xFU) << 12 | (byte(1) & 0x3FU) << 6 | (byte(2) & 0x3FU);
  if (byte(0) == 0xE2 &&
      ((turned >= 0x202A && turned <= 0x202E) || (turned >= 0x2066 && turned <= 0x2069)))
    throw Error(ErrorKind::config,
                fmt::format("a bidirectional control character (U+{:04X})", turned), where,
                "remove it: it makes the text behind it look like another");
  const bool c1 = byte(0) == 0xC2 && byte(1) >= 0x80 && byte(1) <= 0x9F;
  if (byte(0) < 0x20 || byte(0) == 0x7F || c1)
    throw Error(ErrorKind::config,
                fmt::format("a control character (U+{:04X})", c1 ? byte(1) : byte(0)), where,
                "remove it; is it a YAML file at all?");
  throw Error(ErrorKind::config, fmt::format("not a UTF-8 text file: the byte 0x{:02X}", byte(0)),
              where, "save the file as UTF-8; is it a YAML file at all?");
}

void check_text(std::string_view text, const Source& source) {
  std::string body;
  body.reserve(text.size());
  for (const char c : text)
    if (c != '\r') body += c;
  if (printable(body) == body) return;
  const std::size_t at = first_unclean(body);
  const Position position = position_of(body, at);
  fail_unclean(std::string_view(body).substr(at), place(&source, position.line, position.column));
}

// The scanner reads a run of opening brackets to its end before the parser sees the first one,
// using about 200 bytes of memory for each, so a run that is too deep is refused beforehand.
void check_brackets(std::string_view text, const Source& source) {
  int run = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '[' || c == '{') {
      if (++run <= kMaxDepth) continue;
      const Position position = position_of(text, i);
      throw Error(ErrorKind::config,
                  "nested more than " + std::to_string(kMaxDepth) + " levels deep",
                  place(&source, position.line, position.column));
    }
    if (c != ' ' && c != '\n' && c != '\r' && c != '\t') run = 0;
  }
}

// The first line up to `last` (1-based) that is indented with a tab, or 0.
int tab_indented_line(std::string_view text, int last) {
  int number = 0;
  for (const std::string_view line : split(text, '\n')) {
    if (++number > last) break;
    const auto content = line.find_first_not_of(" \t\r");
    if (content == std::string_view::npos || line[content] == '#') continue;
    if (line.substr(0, content).find('\t') != std::string_view::npos) return number;
  }
  return 0;
}

[[noreturn]] void fail_not_closed(const YAML::Mark& mark, const Source& source) {
  throw Error(ErrorKind::config, "a quotation mark is not closed",
              place(&source, mark.line + 1, mark.column + 1),
              "the quoted text goes on to the end of the file");
}

[[noreturn]] void rethrow(const YAML::Exception& e, std::string_view text, const Source& source) {
  if (e.msg == YAML::ErrorMsg::EOF_IN_SCALAR) fail_not_closed(e.mark, source);
  const int line = e.mark.is_null() ? 0 : e.mark.line + 1;
  const int tab = tab_indented_line(text, line == 0 ? std::numeric_limits<int>::max() : line);
  std::string advice;
  if (tab != 0)
    advice = "line " + std::to_string(tab) + " is indented with a tab: use spaces";
  else if (e.msg.find("map") != std::string::npos || e.msg.find("sequence") != std::string::npos)
    advice = "check indentation, and quote text that contains ': ' or begins with one of [ { * & %";
  throw Error(ErrorKind::config, "not valid YAML: " + e.msg,
              place(&source, line, e.mark.column + 1), advice);
}

}  // namespace

Node parse_yaml(std::string_view text, const Source& source) {
  if (text.size() > kMaxFileBytes)
    throw Error(ErrorKind::config, "larger than " + std::to_string(kMaxFileBytes >> 20) + " MiB",
                source.path, "is it the right file?");
  check_text(text, source);
  check_brackets(text, source);
  const auto shared = std::make_shared<const Source>(source);
  Builder builder(shared);
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    if (!parser.HandleNextDocument(builder)) return Node::null(shared, 1, 1);
    Builder second(shared);
    if (parser.HandleNextDocument(second))
      throw Error(ErrorKind::config, "more than one document ('---')", second.root().where(),
                  "keep one document per file");
    if (const auto mark = builder.last_text(); mark && runs_to_the_end(text, shared))
      fail_not_closed(*mark, *shared);
  } catch (const YAML::Exception& e) {
    rethrow(e, text, source);
  }
  return builder.root();
}

std::string read_yaml_text(const std::filesystem::path& path) {
  std::error_code ec;
  const auto status = std::filesystem::status(path, ec);
  if (!std::filesystem::exists(status))
    throw Error(ErrorKind::config, "no such file", path.string());
  if (!std::filesystem::is_regular_file(status))
    throw Error(
        ErrorKind::config,
        std::filesystem::is_directory(status) ? "is a folder, not a file" : "not a regular file",
        path.string());
  if (const auto bytes = std::filesystem::file_size(path, ec); !ec && bytes > kMaxFileBytes)
    throw Error(ErrorKind::config, "larger than " + std::to_string(kMaxFileBytes >> 20) + " MiB",
                path.string(), "is it the right file?");
  try {
    return read_file(path);
  } catch (const Error& e) {
    throw Error(ErrorKind::config, e.message(), path.string(), "check the file's permissions");
  }
}

Node load_yaml(const std::filesystem::path& path, const std::string& display) {
  return parse_yaml(read_yaml_text(path), {path.string(), display, false});
}

}  // namespace assay::config
