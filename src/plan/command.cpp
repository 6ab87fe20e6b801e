#include "plan/command.h"

#include <map>
#include <string_view>

#include "core/text.h"

namespace assay::plan {

namespace {

constexpr std::string_view kAlwaysActive = "|&;<>()$`";
constexpr std::string_view kGlob = "*?[";
constexpr const char* kShellAdvice =
    "Assay starts commands without a shell: quote the character, or add 'shell: true' to the case";

class Splitter {
 public:
  Splitter(const config::Node& node, std::string_view text) : node_(node), text_(text) {}

  std::vector<std::string> words() {
    while (at_ < text_.size()) step(text_[at_]);
    end_word();
    return std::move(words_);
  }

 private:
  void step(char c) {
    if (c == ' ' || c == '\t') {
      end_word();
      ++at_;
    } else if (c == '\'') {
      single_quoted();
    } else if (c == '"') {
      double_quoted();
    } else if (c == '\\') {
      escaped();
    } else {
      plain(c);
    }
  }

  void plain(char c) {
    if (c == '\n') refuse("a line break");
    if (kAlwaysActive.find(c) != std::string_view::npos ||
        kGlob.find(c) != std::string_view::npos || (!in_word_ && (c == '~' || c == '#')))
      refuse(std::string("'") + c + "'");
    add(c);
    ++at_;
  }

  void single_quoted() {
    const auto close = text_.find('\'', at_ + 1);
    if (close == std::string_view::npos) unclosed("'");
    in_word_ = true;
    word_ += text_.substr(at_ + 1, close - at_ - 1);
    at_ = close + 1;
  }

  void double_quoted() {
    in_word_ = true;
    const std::size_t open = at_++;
    for (; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      const char c = text_[at_];
      if (c == '$' || c == '`') refuse(std::string("'") + c + "' in double quotes");
      if (c == '\\' && at_ + 1 < text_.size() &&
          std::string_view("$`\"\\\n").find(text_[at_ + 1]) != std::string_view::npos) {
        ++at_;
        if (text_[at_] != '\n') word_ += text_[at_];
      } else {
        word_ += c;
      }
    }
    if (at_ >= text_.size()) {
      at_ = open;
      unclosed("\"");
    }
    ++at_;
  }

  void escaped() {
    if (at_ + 1 >= text_.size()) node_.fail("the command ends with a backslash");
    if (text_[at_ + 1] != '\n') add(text_[at_ + 1]);
    at_ += 2;
  }

  void add(char c) {
    in_word_ = true;
    word_ += c;
  }

  void end_word() {
    if (in_word_) words_.push_back(std::move(word_));
    word_.clear();
    in_word_ = false;
  }

  [[noreturn]] void refuse(const std::string& what) const {
    node_.fail("the command contains " + what + ", which only a shell understands (character " +
                   std::to_string(at_ + 1) + ")",
               kShellAdvice);
  }

  [[noreturn]] void unclosed(const std::string& quote) const {
    node_.fail("the quote " + quote + " at character " + std::to_string(at_ + 1) +
               " of the command is not closed");
  }

  const config::Node& node_;
  std::string_view text_;
  std::size_t at_ = 0;
  bool in_word_ = false;
  std::string word_;
  std::vector<std::string> words_;
};

// FOO=1 before the program is an assignment to a shell, but a file name to everything else.
bool is_assignment(std::string_view word) {
  const auto equals = word.find('=');
  if (equals == std::string_view::npos || equals == 0) return false;
  return word.substr(0, equals).find_first_not_of(
             "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") ==
         std::string_view::npos;
}

}  // namespace

std::vector<std::string> read_command(const config::Node& node, bool shell) {
  std::vector<std::string> argv;
  if (node.is_sequence()) {
    if (shell) node.fail("'shell: true' needs the command as text, not as a list");
    argv = node.texts();
  } else if (shell) {
    argv = {"/bin/sh", "-c", node.nonempty_text()};
  } else {
    const std::string text = node.nonempty_text();
    argv = Splitter(node, trim(text)).words();
  }
  if (argv.empty() || argv[0].empty()) node.fail("the command is empty");
  if (!shell && is_assignment(argv[0]))
    node.fail("the command begins with the assignment '" + printable(ellipsize(argv[0], 60)) + "'",
              "put variables under 'env', or add 'shell: true' to the case");
  for (const std::string& word : argv) check_placeholders(node, word);
  return argv;
}

const std::vector<std::string>& placeholder_names() {
  static const std::vector<std::string> names{
      "bindir",     "config",      "data",        "host",      "hostfile",  "hosts",
      "local_rank", "master_addr", "master_port", "node_rank", "nodes",     "outdir",
      "procs",      "rank",        "ranktable",   "round",     "world_size"};
  return names;
}

bool uses_placeholder(const std::string& text, const std::string& name) {
  std::map<std::string, std::string> values;
  for (const std::string& known : placeholder_names()) values.emplace(known, "");
  const std::string without = expand(text, values, {});
  values[name] = "x";
  return expand(text, values, {}) != without;
}

void check_placeholders(const config::Node& node, const std::string& text) {
  check_placeholders(node.where(), text);
}

void check_placeholders(const std::string& where, const std::string& text) {
  static const std::map<std::string, std::string> known = [] {
    std::map<std::string, std::string> values;
    for (const std::string& name : placeholder_names()) values.emplace(name, "");
    return values;
  }();
  (void)expand(text, known, where);
}

}  // namespace assay::plan
