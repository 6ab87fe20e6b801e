#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "commands/base/commands.h"
#include "commands/base/known_commands.h"
#include "commands/base/terminal.h"
#include "commands/results/history_folder.h"
#include "core/error.h"
#include "core/text.h"
#include "core/time.h"
#include "history/run_index.h"
#include "history/run_labels.h"
#include "store/archived_run.h"
#include "store/run_dir.h"

namespace assay::commands {

namespace {

// A run, or the remains of an archived one, whose tags and notes are beside its packed file.
std::filesystem::path labeled_run(const std::string& name, const std::string& results) {
  const std::filesystem::path folder = run_folder(name, results);
  return store::is_archived(folder) ? folder : store::RunDir::open(folder).path();
}

struct TagArguments {
  std::string run;
  std::string results = "results";
  CLI::App* command = nullptr;  ///< its remaining arguments are the tags: "-bad" is not an option
};

int tag_run(const TagArguments& arguments) {
  const std::vector<std::string> words = arguments.command->remaining();
  for (const std::string& word : words) {
    if (word.starts_with("--"))
      throw Error(ErrorKind::usage, "there is no option '" + printable(word) + "'", {},
                  "see 'assay tag --help'");
    history::check_tag(word.starts_with('+') || word.starts_with('-') ? word.substr(1) : word);
  }
  const auto run = labeled_run(arguments.run, arguments.results);
  history::Labels labels;
  if (words.empty()) {
    labels = history::read_labels(run);
  } else {
    labels = history::change_labels(run, [&](history::Labels& now) {
      for (const std::string& word : words) {
        if (word.starts_with('-'))
          std::erase(now.tags, word.substr(1));
        else
          now.tags.push_back(word.starts_with('+') ? word.substr(1) : word);
      }
    });
    history::index_run(run, false);
  }
  for (const std::string& one : labels.tags) say(one + "\n");
  return 0;
}

struct NoteArguments {
  std::string run;
  std::string results = "results";
  std::string text;
  std::size_t remove = 0;
};

int note_run(const NoteArguments& arguments) {
  if (!arguments.text.empty()) history::check_note(arguments.text);
  const auto run = labeled_run(arguments.run, arguments.results);
  history::Labels labels;
  if (arguments.text.empty() && arguments.remove == 0) {
    labels = history::read_labels(run);
  } else {
    labels = history::change_labels(run, [&](history::Labels& now) {
      if (arguments.remove > now.notes.size())
        throw Error(ErrorKind::usage,
                    fmt::format("there is no note {}: the run has {}", arguments.remove,
                                counted(now.notes.size(), "note")));
      if (arguments.remove > 0)
        now.notes.erase(now.notes.begin() + static_cast<std::ptrdiff_t>(arguments.remove) - 1);
      if (!arguments.text.empty()) now.notes.push_back({iso_utc(wall_now_ns()), arguments.text});
    });
    history::index_run(run, false);
  }
  for (std::size_t i = 0; i < labels.notes.size(); ++i)
    tell(fmt::format("{}  {}  {}\n", i + 1, printable(labels.notes[i].at),
                     printable(labels.notes[i].text)));
  return 0;
}

}  // namespace

void add_tag(CLI::App& app, Action& action) {
  const auto arguments = std::make_shared<TagArguments>();
  CLI::App* command = add_known(app, "tag");
  arguments->command = command;
  // "-hot" removes a tag.
  command->set_help_flag("--help", "Print this help message and exit");
  command->add_option("run", arguments->run, "Folder of a run, or its name")
      ->required()
      ->type_name("RUN");
  add_results_option(*command, arguments->results);
  command->allow_extras();
  command->footer(
      "Examples:\n"
      "  assay tag results/latest +accepted +new-driver\n"
      "  assay tag run20261115T101500Z-3f2a -accepted\n"
      "  assay tag results/latest              # shows them\n"
      "\n"
      "They lie in labels.json of the run's folder: no evidence, and under no seal.");
  command->callback([arguments, &action] { action = [arguments] { return tag_run(*arguments); }; });
}

void add_note(CLI::App& app, Action& action) {
  const auto arguments = std::make_shared<NoteArguments>();
  CLI::App* command = add_known(app, "note");
  command->add_option("run", arguments->run, "Folder of a run, or its name")
      ->required()
      ->type_name("RUN");
  command->add_option("text", arguments->text, "The note")->type_name("TEXT");
  command->add_option("--remove", arguments->remove, "Take this note away, by its number")
      ->check(CLI::Range(1, 1'000'000'000))
      ->type_name("N");
  add_results_option(*command, arguments->results);
  command->footer(
      "Examples:\n"
      "  assay note results/latest 'fan 3 was broken'\n"
      "  assay note results/latest\n"
      "  assay note results/latest --remove 1");
  command->callback(
      [arguments, &action] { action = [arguments] { return note_run(*arguments); }; });
}

}  // namespace assay::commands
