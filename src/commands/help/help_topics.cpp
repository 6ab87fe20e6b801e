#include "commands/help/help_topics.h"

#include <array>

namespace assay::commands {

namespace {

constexpr std::array kTopics{
    HelpTopic{
        "suite", "What is measured, where, and by which rules",
        "A suite is a YAML file:\n"
        "  name      how reports call it\n"
        "  cases     what to run: 'case: matmul:native:cpu:1:2:3', or a 'command' of your own\n"
        "  cluster   where: {launcher: local | ssh | slurm, hosts: […]}\n"
        "  defaults  settings of every case, such as rules that are milder or stricter\n"
        "\n"
        "  assay init                     writes one by asking\n"
        "  assay run my.yaml --dry-run    shows every command, file and environment\n"
        "  assay check my.yaml            is it right, are the machines fit?\n",
        "docs/suite.md"},
    HelpTopic{
        "metrics", "The numbers of a report",
        "  assay list metrics             all of them, with unit and direction\n"
        "  assay explain NAME             how one is computed, and which rules bound it\n"
        "\n"
        "What a command prints becomes a metric with 'metrics: {NAME: {match: …}}' in its case.\n",
        "docs/metrics.md"},
    HelpTopic{"rules", "What makes a result VALID",
              "  assay list rules               all of them, with their bounds\n"
              "  assay explain NAME             what one means, why it matters, what to do\n"
              "\n"
              "A case changes them, or 'defaults' for all, with 'rules: {min-steps: {min: 5}, "
              "min-duration: off}'.\n",
              "docs/rules.md"},
    HelpTopic{"exit-codes", "What commands end with",
              "  0    ok\n"
              "  1    a defect in Assay\n"
              "  2    usage or configuration\n"
              "  3    environment or cluster not fit\n"
              "  4    launch failed\n"
              "  5    a round failed\n"
              "  6    finished but INVALID\n"
              "  7    a comparison exceeds its bound\n"
              "  130  with --follow: no longer followed\n"
              "\n"
              "  assay explain 5                what one means, and what to do\n",
              "docs/reliability.md"},
    HelpTopic{"environment", "Variables that Assay reads",
              "  ASSAY_LANG          language of what is shown: en or zh\n"
              "  ASSAY_CONF          the configuration folder, instead of all others\n"
              "  ASSAY_KEYS          the folder of your keys\n"
              "  ASSAY_SERVER        address of the platform\n"
              "  ASSAY_TOKEN         token for the platform\n"
              "  ASSAY_TESTER_TOKEN  token for a tester\n"
              "  NO_COLOR            no colors on the terminal\n",
              "docs/install.md"},
    HelpTopic{"cluster", "More than one machine",
              "  cluster: {launcher: ssh, hosts: [node1, node2], ssh: {user: bench}}\n"
              "  cluster: {launcher: slurm, slurm: {partition: gpu}}\n"
              "\n"
              "  assay check my.yaml            hosts, clocks, data, ports and firewalls\n"
              "  assay doctor                   what this machine has for it\n",
              "docs/clusters.md"},
    HelpTopic{"platform", "Jobs of many people",
              "  assay serve                    the server; prints an address for the browser\n"
              "  assay submit my.yaml --follow  a suite or command as a job\n"
              "  assay jobs, job, cancel, ssh   list, show, stop and enter jobs\n",
              "docs/platform.md"},
    HelpTopic{"tester", "Runs judged by somebody else",
              "  assay serve --no-jobs          the tester's server\n"
              "  assay push RUN --to URL        send a run with its evidence\n"
              "  assay pack RUN                 a run as one file, for those without a network\n",
              "docs/tester.md"},
};

}  // namespace

std::span<const HelpTopic> help_topics() {
  return kTopics;
}

}  // namespace assay::commands
