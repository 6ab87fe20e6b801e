#include <array>

#include "core/error.h"
#include "explain/topic_kinds.h"

namespace assay::explain {

namespace {

struct Known {
  std::string_view name;
  std::string_view title;
  std::string_view meaning;
  std::string_view advice;
  std::string_view page;
};

constexpr std::array kErrors{
    Known{"usage", "usage or configuration",
          "The command line cannot be understood or asks for what there is not. Nothing was run.",
          "read the message's second line, or 'assay COMMAND --help'", "docs/README.md"},
    Known{
        "config", "a suite, catalog or plan file is wrong",
        "A file says something that cannot be. The message begins with its name, line and column. "
        "Nothing was run.",
        "correct that line; 'assay check SUITE' reads it again without running anything",
        "docs/suite.md"},
    Known{"environment", "environment or cluster not fit",
          "A machine, cluster or file system lacks something: a program, room on a disk, a "
          "permission, a device, a server that answers.",
          "'assay doctor' shows this machine, 'assay check SUITE' those of the suite",
          "docs/reliability.md"},
    Known{
        "launch", "launch failed",
        "An agent or a rank could not be started: a host that cannot be reached, a program that is "
        "not there, a scheduler that refused.",
        "the message names the host and what it said; then go on with 'assay run --resume'",
        "docs/clusters.md"},
    Known{
        "round_failed", "a round failed",
        "A training ran and did not end as it should: a rank ended with an error, the time was "
        "over, or nothing moved any more.",
        "the report names the rank that failed first and quotes its log; 'assay logs RUN' has them "
        "all, and 'assay run --resume RUN --failed' runs the round again",
        "docs/reliability.md"},
    Known{
        "invalid", "finished but INVALID",
        "Everything ran, and a rule says that the number is not the result of what was asked for.",
        "the report names each rule with its reason and advice; 'assay explain RULE' says more",
        "docs/rules.md"},
    Known{"internal", "a defect in Assay", "Something happened that Assay's code excludes.",
          "please report it with the command that was used and what 'assay version' prints",
          "docs/README.md"},
};

constexpr std::array kExitCodes{
    Known{"0", "ok", "Everything ran, and the verdict is VALID.", "", "docs/rules.md"},
    Known{"1", "a defect in Assay", "Something happened that Assay's code excludes.",
          "please report it with the command that was used and what 'assay version' prints",
          "docs/README.md"},
    Known{"2", "usage or configuration",
          "The command line, a suite or another file is wrong. Nothing was run.",
          "the message says what and where", "docs/suite.md"},
    Known{"3", "environment or cluster not fit",
          "A machine, cluster or file system lacks something. Of 'assay check': something FAILs.",
          "'assay doctor' shows this machine, 'assay check SUITE' those of the suite",
          "docs/reliability.md"},
    Known{"4", "launch failed", "An agent or a rank could not be started.",
          "the message names the host and what it said; then go on with 'assay run --resume'",
          "docs/clusters.md"},
    Known{"5", "a round failed", "A round failed, or the run is INCOMPLETE.",
          "the report says why; 'assay run --resume RUN --failed' runs again what failed",
          "docs/reliability.md"},
    Known{"6", "finished but INVALID", "Everything ran, and a rule makes the result INVALID.",
          "the report names each rule with its reason and advice", "docs/rules.md"},
    Known{
        "7", "a comparison exceeds its bound",
        "'assay compare' or 'assay history' with a bound: a metric got worse by more than it, and "
        "that is certain.",
        "the output names the case, the metric and what differed between the runs",
        "docs/compare.md"},
    Known{"130", "no longer followed",
          "'assay submit --follow' or 'assay job --follow' was ended by Ctrl-C; the job goes on. "
          "'assay run' ends with 5 after Ctrl-C: its run is INCOMPLETE.",
          "'assay jobs' shows the job; 'assay run --resume' goes on with a run that was stopped",
          "docs/platform.md"},
};

constexpr std::array kVerdicts{
    Known{"VALID", "the result can be defended",
          "All rounds completed, everything that the numbers are computed from is there and "
          "unchanged, nothing contradicts itself, and no rule was broken.",
          "", "docs/rules.md"},
    Known{"INVALID", "the number is not the result of what was asked for",
          "A rule of severity invalid was broken: a rank failed, the machine was not fit, the "
          "evidence was changed or cannot be true.",
          "the findings name each rule with its reason and advice", "docs/rules.md"},
    Known{"INCOMPLETE", "something is missing before it can be judged",
          "A round was not run, evidence is missing, or a run has no seal.",
          "'assay run --resume' runs what is missing", "docs/rules.md"},
    Known{"SKIPPED", "a case that was passed over",
          "What the case depends on did not hold, or this machine lacks what it needs.",
          "the finding says which", "docs/suite.md"},
    Known{"relaxed", "a verdict under rules that were made milder",
          "A suite switched a rule off, widened its bound or lowered its severity. A verdict is "
          "never "
          "shown without saying so.",
          "run the suite without its changes of rules for a verdict under the standard rules",
          "docs/rules.md"},
};

// Verdicts of 'assay compare' and 'assay history'.
constexpr std::array kChanges{
    Known{"FASTER", "a change for the better that chance does not explain",
          "The whole 95 % interval of the change lies on the better side: of a rate upwards, of a "
          "time downwards. Over all headlines together a false one is less probable than 5 %.",
          "", "docs/compare.md"},
    Known{"SLOWER", "a change for the worse that chance does not explain",
          "The whole 95 % interval of the change lies on the worse side: of a rate downwards, of a "
          "time upwards. Over all headlines together a false one is less probable than 5 %.",
          "what differed between the runs stands above the table, and below it for each case",
          "docs/compare.md"},
    Known{"BETTER", "as FASTER, for what is neither a rate nor a time",
          "Such as the energy of a sample or the loss.", "", "docs/compare.md"},
    Known{"WORSE", "as SLOWER, for what is neither a rate nor a time",
          "Such as the energy of a sample or the loss.",
          "what differed between the runs stands above the table, and below it for each case",
          "docs/compare.md"},
    Known{"SAME", "no change that matters",
          "The whole interval lies within the tolerance: 2 %, or what --tolerance says.", "",
          "docs/compare.md"},
    Known{"UNSURE", "neither a change nor sameness can be said",
          "The rounds differ too much among themselves, or are too few.",
          "the line below the table says how many rounds on each side would decide it",
          "docs/compare.md"},
};

// Results of 'assay check' and 'assay doctor' for a machine.
constexpr std::array kLevels{
    Known{"PASS", "a check that found nothing wrong", "Nothing is to be done.", "",
          "docs/install.md"},
    Known{"WARN", "something that cannot be had here, or makes numbers worse",
          "Runs are possible. Without a counter there is no energy; beside other load results are "
          "INVALID.",
          "the line below it says what helps", "docs/install.md"},
    Known{"FAIL", "something without which nothing is run", "The exit code is 3.",
          "do what the line below it says, and check again", "docs/install.md"},
};

// Codes of a server's refusals that say more than which field is wrong.
constexpr std::array kRefusals{
    Known{"not_signed_in", "the server does not know who asks",
          "No session and no token came with the request, or the token has ended.",
          "'assay login' signs in; a program sends a token in ASSAY_TOKEN", "docs/platform.md"},
    Known{"may_not", "the server knows who asks, and the role is not enough",
          "Jobs of others, queues, nodes and users are for those who own or administrate them.",
          "ask an administrator of the platform, or sign in as somebody else", "docs/platform.md"},
    Known{"does_not_fit", "what is asked for does not fit the state of the job",
          "Such as resuming what is not paused, or canceling what has ended.",
          "'assay job' shows the state", "docs/platform-api.md"},
    Known{"problems", "the submission cannot be run as it is",
          "Each problem is named with the field that it is about. Nothing was submitted.",
          "correct the fields and send it again", "docs/platform.md"},
    Known{"too_large", "more bytes than the server takes",
          "A body, a file or an upload is larger than its limit, which the message names.",
          "send less, or have the server's limit raised", "docs/platform-api.md"},
    Known{"too_many_requests", "more requests than one client may send",
          "The answer says in Retry-After when the next one is taken.",
          "wait for as long, and ask less often", "docs/platform-api.md"},
    Known{"busy", "the server cannot answer in time",
          "More is asked than it does at once, or another program holds its records.",
          "try again later; what was sent before is kept", "docs/platform-api.md"},
    Known{"no_room", "the disk of the server is full",
          "Nothing can be recorded, so nothing is accepted. What was sent before is kept.",
          "make room on the file system of the server's --data, then try again",
          "docs/platform-api.md"},
    Known{"unavailable", "the records of the server cannot be written",
          "Their file was removed or cannot be written, so nothing is accepted.",
          "its operator finds why in its log", "docs/platform-api.md"},
    Known{"wrong_host", "the server was asked by a name that it does not have",
          "Requests for other hosts are refused, because a page of theirs might have sent them.",
          "use the address that 'assay serve' prints, or give it this name with --name",
          "docs/platform.md"},
    Known{"logs_removed", "the job's logs and metrics were removed",
          "It ended longer ago than the platform keeps them; verdict and results are still there.",
          "", "docs/platform.md"},
};

template <std::size_t N>
void add(std::vector<Explanation>& out, const std::array<Known, N>& all, std::string_view kind) {
  for (const Known& one : all) {
    Explanation made{std::string(one.name),
                     std::string(kind),
                     std::string(one.title),
                     {},
                     std::string(one.page)};
    made.paragraphs.push_back({"What it means", std::string(one.meaning)});
    if (!one.advice.empty()) made.paragraphs.push_back({"What to do", std::string(one.advice)});
    out.push_back(std::move(made));
  }
}

}  // namespace

std::vector<Explanation> error_topics() {
  std::vector<Explanation> out;
  add(out, kErrors, "error");
  add(out, kExitCodes, "exit code");
  add(out, kVerdicts, "verdict");
  add(out, kChanges, "verdict");
  add(out, kLevels, "check");
  add(out, kRefusals, "refusal");
  return out;
}

}  // namespace assay::explain
