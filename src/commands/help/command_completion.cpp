#include <algorithm>
#include <filesystem>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "catalog/catalog.h"
#include "catalog/metrics.h"
#include "commands/base/commands.h"
#include "commands/base/paths.h"
#include "commands/base/terminal.h"
#include "commands/help/completion.h"
#include "commands/help/help_topics.h"
#include "commands/platform/platform_client.h"
#include "core/error.h"
#include "core/rank_log_name.h"
#include "core/run_layout.h"
#include "core/text.h"
#include "explain/explain.h"
#include "history/run_labels.h"
#include "lang/language.h"
#include "plan/suite.h"

namespace assay::commands {

namespace {

namespace fs = std::filesystem;

// clang-format mistakes parts of these for code.
// clang-format off
constexpr const char* kBash =
    R"sh(# Completion of assay's command line for bash; made by 'assay completion bash'.
# The text that a word as typed stands for.
_assay_plain() {
  local c quote='' i
  REPLY=''
  for ((i = 0; i < ${#1}; ++i)); do
    c=${1:i:1}
    if [[ -n $quote && $c == "$quote" ]]; then quote=''
    elif [[ -z $quote && $c == [\'\"] ]]; then quote=$c
    elif [[ $c == "\\" && $quote != \' ]]; then ((++i)); REPLY+=${1:i:1}
    else REPLY+=$c; fi
  done
}
_assay() {
  local REPLY line rest=$COMP_LINE i word='' words=() cut quoted=no files=()
  # bash takes words apart at ':' and '=' (COMP_WORDBREAKS); the program gets them whole.
  for ((i = 0; i <= COMP_CWORD; ++i)); do
    if ((i == 0)) || [[ $rest == [[:space:]]* ]]; then
      ((i > 1)) && _assay_plain "$word" && words+=("$REPLY")
      word=''
    fi
    rest=${rest#"${rest%%[![:space:]]*}"}
    rest=${rest#"${COMP_WORDS[i]}"}
    word+=${COMP_WORDS[i]}
  done
  _assay_plain "$word"
  words+=("$REPLY")
  # What is offered takes the place of what stands behind the last of them.
  cut=0
  if [[ $word == [\'\"]* ]]; then
    quoted=yes
  elif [[ $word == *[:=]* && $COMP_WORDBREAKS == *:* && $COMP_WORDBREAKS == *=* ]]; then
    _assay_plain "${word%"${word##*[:=]}"}"
    cut=${#REPLY}
  fi
  COMPREPLY=()
  while IFS= read -r line; do
    case $line in
      :files) files+=(-f) ;;
      :folders) files+=(-d) ;;
      *) COMPREPLY+=("${line%%$'\t'*}") ;;
    esac
  done < <("${COMP_WORDS[0]}" completion candidates -- "${words[@]}" 2>/dev/null)
  if ((${#files[@]})); then
    compopt -o filenames 2>/dev/null  # readline quotes them
    mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen "${files[0]}" -- "${words[-1]}")
  fi
  for i in "${!COMPREPLY[@]}"; do
    COMPREPLY[i]=${COMPREPLY[i]:cut}
    ((${#files[@]})) || [[ $quoted == yes ]] || printf -v "COMPREPLY[$i]" %q "${COMPREPLY[i]}"
  done
}
complete -F _assay assay
)sh";

constexpr const char* kZsh = R"sh(#compdef assay
# Completion of assay's command line for zsh; made by 'assay completion zsh'.
_assay() {
  local line paths=
  local -a candidates
  while IFS= read -r line; do
    case $line in
      :files) paths=files ;;
      :folders) paths=folders ;;
      *$'\t') candidates+=("${${line%$'\t'}//:/\\:}") ;;  # _describe shows '--' for an empty one
      *) candidates+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}") ;;
    esac
  done < <("${words[1]}" completion candidates -- "${(@Q)words[2,CURRENT]}" 2>/dev/null)
  # Within a path zsh's own functions know better what there is.
  [[ -n $paths && ${words[CURRENT]} == */* ]] && candidates=()
  (( ${#candidates} )) && _describe 'assay' candidates
  case $paths in
    files) _files ;;
    folders) _files -/ ;;
  esac
}
if [ "$funcstack[1]" = "_assay" ]; then _assay "$@"; else compdef _assay assay; fi
)sh";

constexpr const char* kFish =
    R"sh(# Completion of assay's command line for fish; made by 'assay completion fish'.
function __assay_candidates
    set -l words (commandline -opc) (commandline -ct)
    set -l lines ($words[1] completion candidates -- $words[2..-1] 2>/dev/null)
    # Within a path fish's own functions know what there is.
    if string match -q '*/*' -- $words[-1]; and string match -qr '^:' -- $lines
        set lines (string match -r '^:.*' -- $lines)
    end
    for line in $lines
        switch $line
            case ':files'
                __fish_complete_path (commandline -ct)
            case ':folders'
                __fish_complete_directories (commandline -ct)
            case '*'
                echo $line
        end
    end
end
complete -c assay -f -a '(__assay_candidates)'
)sh";
// clang-format on

// A shell is waiting, so answers that take a server more than a second are left out.
client::Client quick_client(const std::stop_token& stop) {
  return make_client({}, stop);
}

std::vector<Candidate> from_server(const std::string& kind) {
  std::vector<Candidate> out;
  std::stop_source late;
  const std::jthread clock([&](const std::stop_token& done) {
    for (int i = 0; i < 20 && !done.stop_requested(); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    late.request_stop();
  });
  const client::Client client = quick_client(late.get_token());
  if (kind == "JOB") {
    for (const client::JobRow& row : client.list({.limit = 100}).value.jobs)
      out.push_back({std::to_string(row.id), row.state.text + " " + row.name});
  } else if (kind == "NODE") {
    for (const jobs::NodeAnswer& node : client.nodes().value.nodes)
      out.push_back({node.name, node.device_type});
  } else {
    for (const client::QueueRow& queue : client.queues().value) out.push_back({queue.name, ""});
  }
  return out;
}

std::vector<Candidate> runs_here() {
  std::vector<Candidate> out;
  std::error_code ec;
  for (auto it = fs::directory_iterator("results", ec); !ec && it != fs::directory_iterator();
       it.increment(ec))
    if (it->is_directory(ec) && !it->path().filename().string().starts_with('.'))
      out.push_back({it->path().string(), ""});
  return out;
}

std::vector<fs::path> folders_in(const fs::path& folder) {
  std::vector<fs::path> out;
  std::error_code ec;
  for (auto it = fs::directory_iterator(folder, ec); !ec && it != fs::directory_iterator();
       it.increment(ec))
    if (it->is_directory(ec)) out.push_back(it->path());
  return out;
}

// The folders CASE/round1 of a run.
std::vector<fs::path> first_rounds(const fs::path& run) {
  std::vector<fs::path> out;
  std::error_code ec;
  for (const fs::path& one : folders_in(run))
    if (fs::is_directory(one / "round1", ec)) out.push_back(one / "round1");
  return out;
}

// The run named on the command line, else the latest.
fs::path run_of(const std::vector<std::string>& words) {
  std::error_code ec;
  for (std::size_t i = 0; i + 1 < words.size(); ++i)
    if (fs::is_regular_file(fs::path(words[i]) / layout::kPlan, ec)) return words[i];
  return "results/latest";
}

std::vector<Candidate> cases_of_run(const std::vector<std::string>& words) {
  std::vector<Candidate> out;
  for (const fs::path& round : first_rounds(run_of(words)))
    out.push_back({round.parent_path().filename(), ""});
  return out;
}

// Named like the folders and files of its first rounds: HOST_noderank0/rank3.out.log.
std::vector<Candidate> ranks_of_run(const std::vector<std::string>& words) {
  std::vector<Candidate> out;
  for (const fs::path& round : first_rounds(run_of(words)))
    for (const fs::path& node : folders_in(round)) {
      std::error_code ec;
      for (auto it = fs::directory_iterator(node, ec); !ec && it != fs::directory_iterator();
           it.increment(ec))
        if (const std::string name = it->path().filename(); layout::is_rank_log_name(name))
          out.push_back({name.substr(4, name.find('.') - 4), ""});
    }
  return out;
}

std::vector<Candidate> hosts_of_runs() {
  std::vector<Candidate> out;
  for (const fs::path& run : folders_in("results"))
    for (const fs::path& round : first_rounds(run))
      for (const fs::path& node : folders_in(round)) {
        const std::string name = node.filename().string();
        if (const std::size_t end = name.rfind("_noderank"); end != std::string::npos)
          out.push_back({name.substr(0, end), ""});
      }
  return out;
}

std::vector<Candidate> tags_of_runs() {
  std::vector<Candidate> out;
  for (const fs::path& run : folders_in("results")) try {
      for (const std::string& tag : history::read_labels(run).tags) out.push_back({tag, ""});
    } catch (const Error&) {
      // Returns the tags of the others.
    }
  return out;
}

// The keys for --set: a suite's, below "telemetry." and the like where needed, and those of a case
// alone, which apply to every case.
std::vector<Candidate> settings() {
  std::vector<Candidate> out;
  const auto& places = plan::suite_keys();
  const auto add = [&](const std::string& place, const std::string& prefix) {
    for (const std::string& key : places.at(place))
      if (!places.contains(prefix + key) && key != "cases") out.push_back({prefix + key + "=", ""});
  };
  add("", "");
  add("case", "");
  for (const char* place : {"cluster", "cluster.ssh", "cluster.slurm", "telemetry", "limits"})
    add(place, std::string(place) + ".");
  return out;
}

// The cases of the suite named on the command line, if any.
std::vector<Candidate> cases_of_suite(const std::vector<std::string>& words) {
  std::vector<Candidate> out;
  const catalog::ConfDirs dirs = catalog::find_conf_dirs();
  for (const std::string& word : words) {
    const bool may_be = word.ends_with(".yaml") || word.ends_with(".yml") ||
                        std::ranges::count(suite_names(dirs), word) > 0;
    std::error_code ec;
    if (!may_be) continue;
    const fs::path file = find_suite(word, dirs);
    if (!fs::is_regular_file(file, ec)) continue;
    for (const plan::SuiteCase& one : plan::load_suite(file).cases) out.push_back({one.name, ""});
  }
  return out;
}

std::vector<Candidate> topics_to_explain() {
  std::vector<Candidate> out;
  const auto rules = catalog::load_catalog(catalog::find_conf_dirs()).rules;
  for (const explain::Topic& topic : explain::topics(rules))
    out.push_back({topic.name, lang::tr(topic.kind)});
  return out;
}

std::vector<Candidate> topics_of_help(const CLI::App& app) {
  std::vector<Candidate> out;
  for (const HelpTopic& topic : help_topics()) out.push_back({topic.name, lang::tr(topic.title)});
  for (const CLI::App* command : app.get_subcommands({}))
    if (!command->get_group().empty())
      out.push_back({command->get_name(), command->get_description()});
  return out;
}

std::vector<Candidate> values_of(const CLI::App& app, const std::vector<std::string>& words,
                                 const std::string& kind) {
  std::vector<Candidate> out;
  try {
    if (kind == "SUITE")
      for (const std::string& name : suite_names(catalog::find_conf_dirs()))
        out.push_back({name, lang::tr("a suite of Assay's")});
    if (kind == "METRIC")
      for (const catalog::KnownMetric& known : catalog::known_metrics())
        out.push_back({std::string(known.name), lang::tr(known.title)});
    if (kind == "RUN" || kind == "BASE" || kind == "NEW") return runs_here();
    if (kind == "CASE") {
      std::vector<Candidate> cases = cases_of_suite(words);
      return cases.empty() ? cases_of_run(words) : cases;
    }
    if (kind == "HOST") return hosts_of_runs();
    if (kind == "TAG") return tags_of_runs();
    if (kind == "RANK") return ranks_of_run(words);
    if (kind == "KEY") return settings();
    if (kind == "TOPIC") return topics_to_explain();
    if (kind == "HELP-TOPIC") return topics_of_help(app);
    if (kind == "JOB" || kind == "NODE" || kind == "QUEUE") return from_server(kind);
  } catch (const Error&) {
    // There is then nothing to offer.
  }
  return out;
}

int print_candidates(const CLI::App& app, const std::vector<std::string>& words) {
  const Completion found =
      complete(app, words, [&](const std::string& kind) { return values_of(app, words, kind); });
  for (const Candidate& one : found.candidates)
    say(printable(one.word) + "\t" + ellipsize(printable(one.what), 100) + "\n");
  if (found.files) say(":files\n");
  if (found.folders) say(":folders\n");
  return 0;
}

}  // namespace

void add_completion(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("completion", "Print what completes assay's command line in a shell");
  command->require_subcommand(1);
  for (const auto& [name, script] :
       {std::pair("bash", kBash), std::pair("zsh", kZsh), std::pair("fish", kFish)})
    command->add_subcommand(name, std::string("For ") + name)->callback([script, &action] {
      action = [script] {
        say(script);
        return 0;
      };
    });
  const auto words = std::make_shared<std::vector<std::string>>();
  CLI::App* candidates = command->add_subcommand("candidates", "Asked by those scripts");
  candidates->group("");  // hidden from people
  candidates->add_option("words", *words)->expected(-1);
  candidates->callback(
      [words, &app, &action] { action = [words, &app] { return print_candidates(app, *words); }; });
  command->footer(
      "Examples:\n"
      "  source <(assay completion bash)                  # in ~/.bashrc\n"
      "  assay completion zsh > ~/.zfunc/_assay           # with fpath+=~/.zfunc in ~/.zshrc\n"
      "  assay completion fish > ~/.config/fish/completions/assay.fish\n"
      "\n"
      "An installed package brings them along. Commands and options complete with what they mean,\n"
      "and suites, runs, cases, ranks, hosts, tags, settings, metrics, topics, jobs, nodes and "
      "queues\nwith those that there are.");
}

}  // namespace assay::commands
