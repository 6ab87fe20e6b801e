#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "commands/base/commands.h"
#include "commands/base/extras.h"
#include "commands/base/terminal.h"

namespace assay::commands {

namespace {

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
  candidates->callback([words, &app, &action] {
    action = [words, &app] { return extras_for("completion").print_candidates(app, *words); };
  });
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
