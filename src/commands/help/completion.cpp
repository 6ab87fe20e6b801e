#include "commands/help/completion.h"

#include <algorithm>

#include "core/text.h"

namespace assay::commands {

namespace {

bool is_hidden(const CLI::App& command) {
  return command.get_group().empty();
}

// "TEXT:{suites,workloads}": a check's allowed values are part of the type's name.
std::vector<std::string> members_of(const std::string& type) {
  const std::size_t open = type.find('{');
  const std::size_t close = type.find('}', open);
  std::vector<std::string> out;
  if (open == std::string::npos || close == std::string::npos) return out;
  const std::string members = type.substr(open + 1, close - open - 1);
  for (const std::string_view word : split(members, ',')) out.emplace_back(trim(word));
  return out;
}

// "HOST,…" and "RUN..." are lists of a kind.
std::string kind_of(const std::string& type) {
  return type.substr(0, type.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ-"));
}

bool is_option(const std::string& word) {
  return word.size() > 1 && word.front() == '-';
}

class Completer {
 public:
  Completer(const CLI::App& app, const ValuesOf& values) : command_(&app), values_(values) {}

  Completion run(const std::vector<std::string>& words) {
    for (std::size_t i = 0; i + 1 < words.size(); ++i) take(words[i]);
    const std::string last = words.empty() ? "" : words.back();
    if (const std::size_t equals = last.find('=');
        waiting_ == nullptr && last.starts_with("--") && equals != std::string::npos) {
      offer_value(find(last.substr(0, equals)), last.substr(0, equals + 1));
    } else if (waiting_ != nullptr) {
      offer_value(waiting_, "");
    } else if (!only_arguments_ && last.starts_with('-')) {
      offer_options();
    } else {
      offer_words();
    }
    std::erase_if(out_.candidates,
                  [&](const Candidate& one) { return !one.word.starts_with(last); });
    std::ranges::sort(out_.candidates);
    const auto same = std::ranges::unique(out_.candidates);
    out_.candidates.erase(same.begin(), same.end());
    return std::move(out_);
  }

 private:
  [[nodiscard]] const CLI::Option* find(const std::string& name) const {
    for (const CLI::Option* option : command_->get_options())
      if (option->check_name(name)) return option;
    return nullptr;
  }

  void take(const std::string& word) {
    if (waiting_ != nullptr) {
      waiting_ = nullptr;
      return;
    }
    if (word == "--") {
      only_arguments_ = true;
      return;
    }
    if (!only_arguments_ && is_option(word)) {
      if (word.find('=') != std::string::npos) return;
      const CLI::Option* option = find(word);
      if (option != nullptr && option->get_expected_max() > 0) waiting_ = option;
      return;
    }
    for (const CLI::App* sub : command_->get_subcommands({}))
      if (arguments_ == 0 && sub->get_name() == word) {
        command_ = sub;
        return;
      }
    ++arguments_;
  }

  void offer_value(const CLI::Option* option, const std::string& prefix) {
    if (option == nullptr) return;
    const std::string type = option->get_type_name();
    for (const std::string& member : members_of(type))
      out_.candidates.push_back({prefix + member, ""});
    const std::string kind = kind_of(type);
    for (Candidate& one : values_(kind))
      out_.candidates.push_back({prefix + one.word, std::move(one.what)});
    if (kind == "FILE" || kind == "SUITE") out_.files = true;
    if (kind == "DIR" || kind == "FOLDER" || kind == "RUN" || kind == "BASE" || kind == "NEW")
      out_.folders = true;
  }

  void offer_options() {
    for (const CLI::Option* option : command_->get_options()) {
      if (option->get_group().empty()) continue;
      for (const std::string& name : option->get_lnames())
        out_.candidates.push_back({"--" + name, option->get_description()});
    }
  }

  void offer_words() {
    if (arguments_ == 0)
      for (const CLI::App* sub : command_->get_subcommands({}))
        if (!is_hidden(*sub)) out_.candidates.push_back({sub->get_name(), sub->get_description()});
    int place = 0;
    for (const CLI::Option* option : command_->get_options()) {
      if (!option->get_positional()) continue;
      const int most = option->get_items_expected_max();
      if (arguments_ < place + most || most >= CLI::detail::expected_max_vector_size)
        return offer_value(option, "");
      place += most;
    }
  }

  const CLI::App* command_;
  const ValuesOf& values_;
  const CLI::Option* waiting_ = nullptr;  // the next word is its value
  int arguments_ = 0;                     // of the command so far
  bool only_arguments_ = false;           // after "--"
  Completion out_;
};

}  // namespace

Completion complete(const CLI::App& app, const std::vector<std::string>& words,
                    const ValuesOf& values) {
  return Completer(app, values).run(words);
}

}  // namespace assay::commands
