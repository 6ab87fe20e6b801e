#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/sha256.h"
#include "unit/plan/testing.h"

namespace assay::plan {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using testing::suite;

std::string suite_error(const std::string& yaml) {
  return error_of([&] { return suite(yaml); });
}

TEST(Suite, SmallestSuiteHasWorkingDefaults) {
  const Suite s = parse_suite("cases: [null:native:cpu:1:2:3]", "dir/smoke.yaml");
  EXPECT_EQ(s.name, "smoke");
  EXPECT_EQ(s.vendor, "cpu");
  EXPECT_EQ(s.cluster.launcher(), "local");
  EXPECT_EQ(s.telemetry.interval, 1s);
  EXPECT_TRUE(s.telemetry.enabled);
  ASSERT_EQ(s.cases.size(), 1U);
  EXPECT_EQ(s.cases[0].name, "null:native:cpu:1:2:3");
  EXPECT_EQ(s.cases[0].procs, 2);
  EXPECT_EQ(s.sha256, sha256("cases: [null:native:cpu:1:2:3]"));
}

TEST(Suite, EveryTopKeyIsRead) {
  const Suite s = suite(R"(
name: acceptance
description: text
vendor: nvidia
cluster:
  launcher: ssh
  hosts: [10.1.2.3, {name: node-2, slots: 8}]
  master_addr: 10.1.2.3
  master_port: 29501
  ssh: {user: bench, port: 2222, identity: ~/.ssh/id, jump: gate}
  slurm: {partition: ignored}
telemetry: {interval: 250ms, enabled: no}
defaults: {limits: {time: 1h, stall: off, grace: 3s, output: 64M}, env: {A: '1'}, repeats: 4, warmup_steps: 2}
cases: [{name: x, command: run}]
)");
  EXPECT_EQ(s.cluster.hosts.at(1).name, "node-2");
  EXPECT_EQ(s.cluster.hosts.at(1).slots, 8);
  const auto& ssh = std::get<SshOptions>(s.cluster.options);
  EXPECT_EQ(ssh.user, "bench");
  EXPECT_EQ(ssh.port, 2222);
  EXPECT_EQ(ssh.identity, "~/.ssh/id");
  EXPECT_EQ(ssh.jump, "gate");
  EXPECT_EQ(s.cluster.master_port, 29501);
  EXPECT_EQ(s.telemetry.interval, 250ms);
  EXPECT_FALSE(s.telemetry.enabled);
  EXPECT_EQ(s.defaults.limits.stall, 0ns);
  EXPECT_EQ(s.defaults.limits.output_bytes, 64ULL << 20);
  EXPECT_EQ(s.cases.at(0).repeats, 4);
}

TEST(Suite, OwnCommandCaseIsComplete) {
  const Suite s = suite(R"(
cases:
  - name: my-llm
    nodes: 2
    procs: 8
    command: python3 pretrain.py --lr 1e-4
    launch: per-node
    workdir: /srv/llm
    data: /data/wiki
    metrics:
      throughput: {match: 'Tokens/p/s: *([0-9.]+)', unit: tokens/s/device, better: higher, across: sum}
    target: {metric: loss, value: 2.5, better: lower}
    peak_flops: 312e12
)");
  const SuiteCase& c = s.cases.at(0);
  EXPECT_EQ(c.model, "my-llm");
  EXPECT_EQ(c.framework, "command");
  EXPECT_EQ(c.hardware, "cpu");
  EXPECT_THAT(c.command, ElementsAre("python3", "pretrain.py", "--lr", "1e-4"));
  EXPECT_EQ(c.metrics.at(0).better, Better::higher);
  EXPECT_EQ(c.metrics.at(0).reduce, "last");
  EXPECT_EQ(c.metrics.at(0).across, "sum");
  EXPECT_EQ(c.target->better, Better::lower);
  EXPECT_EQ(c.peak_flops, 312e12);
  EXPECT_EQ(c.peak_flops_origin, "s.yaml:13");
}

TEST(Suite, ModelWithoutNameIsNamedByItsKey) {
  EXPECT_EQ(suite("cases: [{model: matmul, procs: 2, repeats: 3}]").cases.at(0).name,
            "matmul:native:cpu:1:2:3");
}

TEST(SuiteErrors, UnknownKeyAtEveryLevel) {
  EXPECT_THAT(suite_error("case: []\n"),
              StartsWith("s.yaml:1:1: unknown key 'case' (did you mean 'cases'?)"));
  EXPECT_THAT(suite_error("cases: [a:b:c:1:1:1]\ntelemetry: {intervall: 1s}\n"),
              StartsWith("s.yaml:2:13: unknown key 'intervall' (did you mean 'interval'?)"));
  EXPECT_THAT(suite_error("cases:\n  - case: a:b:c:1:1:1\n    comand: x\n"),
              StartsWith("s.yaml:3:5: unknown key 'comand' (did you mean 'command'?)"));
  EXPECT_THAT(suite_error("cases: [a:b:c:1:1:1]\ncluster: {ssh: {usr: x}}\n"),
              HasSubstr("did you mean 'user'?"));
}

TEST(SuiteErrors, EmptyFileAndNoCases) {
  EXPECT_THAT(suite_error(""), HasSubstr("the suite is empty"));
  EXPECT_THAT(suite_error("name: x\n"), HasSubstr("a suite needs 'cases'"));
  EXPECT_THAT(suite_error("cases: []\n"), HasSubstr("no cases"));
  EXPECT_THAT(suite_error("- a\n"), HasSubstr("expected a mapping for a suite, got a list"));
  EXPECT_THAT(suite_error("cases: {a: 1}\n"), HasSubstr("expected a list, got a mapping"));
}

TEST(SuiteErrors, DuplicateCaseNamesBothPlaces) {
  EXPECT_THAT(suite_error("cases:\n  - a:b:c:1:1:1\n  - a:b:c:1:1:1\n"),
              StartsWith("s.yaml:3:5: the case 'a:b:c:1:1:1' exists twice, first at s.yaml:2:5"));
}

TEST(SuiteErrors, TelemetryIntervalIsBounded) {
  EXPECT_THAT(suite_error("cases: [a:b:c:1:1:1]\ntelemetry: {interval: fast}\n"),
              StartsWith("s.yaml:2:23: expected a duration such as 1s, got 'fast'"));
  for (const char* value : {"50ms", "61s", "0"})
    EXPECT_THAT(
        suite_error(std::string("cases: [a:b:c:1:1:1]\ntelemetry: {interval: ") + value + "}\n"),
        HasSubstr("from 100ms to 1m"))
        << value;
}

TEST(SuiteErrors, MetricsNeedANumericAddressAndAPort) {
  for (const char* value : {"9400", "localhost:9400", "127.0.0.1:0", "127.0.0.1:99999"})
    EXPECT_THAT(
        suite_error(std::string("cases: [a:b:c:1:1:1]\ntelemetry: {prometheus: {listen: \"") +
                    value + "\"}}\n"),
        HasSubstr("is not an address and a port"))
        << value;
}

TEST(SuiteErrors, KeyAndItsFieldsMustNotBothBeGiven) {
  EXPECT_THAT(suite_error("cases: [{case: a:b:c:1:1:1, procs: 2}]"),
              HasSubstr("'procs' is given by the case key already"));
}

TEST(SuiteErrors, NullAsAModelNeedsQuotes) {
  EXPECT_THAT(suite_error("cases: [{model: null}]"), HasSubstr("write 'null' in quotes"));
  EXPECT_EQ(suite("cases: [{model: 'null'}]").cases.at(0).model, "null");
}

TEST(SuiteErrors, MetricsAreChecked) {
  const auto with = [](const std::string& keys) {
    return suite_error("cases:\n  - {name: x, command: y, metrics: {m: {match: '(a)', " + keys +
                       "}}}\n");
  };
  EXPECT_EQ(with("reduce: sum, across: rank0, kind: speed, unit: it/s"), "no error");
  EXPECT_THAT(with("reduce: avg"), HasSubstr("expected one of last, first, mean"));
  EXPECT_THAT(with("across: rank1"), HasSubstr("(did you mean 'rank0'?)"));
  EXPECT_THAT(with("kind: rate"), HasSubstr("expected one of number, speed"));
  EXPECT_THAT(with("kind: speed"), StartsWith("s.yaml:2:40: a speed has a unit such as it/s"));
  EXPECT_THAT(with("kind: speed, unit: tokens"), HasSubstr("a speed has a unit such as it/s"));
  EXPECT_THAT(with("kinds: speed"), HasSubstr("(did you mean 'kind'?)"));
}

TEST(SuiteErrors, MetricPatternsAreCompiled) {
  const auto with = [](const std::string& match) {
    return suite_error("cases:\n  - {name: x, command: y, metrics: {m: {match: " + match + "}}}\n");
  };
  EXPECT_THAT(with("'a ([0-9]+'"), StartsWith("s.yaml:2:48: not a regular expression"));
  EXPECT_THAT(with("'([0-9]+)\\x{202f}s'"), HasSubstr("write the character itself"));
  EXPECT_THAT(with("'[0-9]+'"),
              HasSubstr("exactly one group in ( ), or the groups (?P<value> ) and "
                        "(?P<step> ); it has 0 groups"));
  EXPECT_THAT(with("'(a)(b)'"), HasSubstr("it has 2"));
  EXPECT_THAT(with("'(?P<step>b)'"), HasSubstr("it has 1 group"));
  EXPECT_THAT(with("'(?P<step>b)(c)'"), HasSubstr("it has 2 groups"));
  EXPECT_EQ(with("'(?:a|b)([0-9]+)'"), "no error");
  EXPECT_EQ(with("'(?P<value>[0-9]+)'"), "no error");
  EXPECT_EQ(with("'(?P<step>[0-9]+) (?P<value>[0-9]+)'"), "no error");
  EXPECT_THAT(with(R"('([0-9]+) \1')"), HasSubstr("back-references (\\1) are not supported"));
  EXPECT_THAT(with("'([0-9]+)(?=%)'"), HasSubstr("look-ahead (?= ) is not supported"));
  EXPECT_THAT(with("'" + std::string(900, '(') + "'"), HasSubstr("not a regular expression"));
  EXPECT_THAT(with("'((x{1,1000}){1,1000}){1,1000}'"), HasSubstr("not a regular expression"));
}

TEST(SuiteErrors, MetricsAreNotNamedLikeAssaysOwn) {
  const auto with = [](const std::string& name) {
    return suite_error("cases:\n  - {name: x, command: y, metrics: {" + name +
                       ": {match: '([0-9]+)'}}}\n");
  };
  EXPECT_THAT(with("p_whole"), StartsWith("s.yaml:2:"));
  EXPECT_THAT(with("p_whole"), HasSubstr("'p_whole' is a metric that Assay computes itself"));
  EXPECT_EQ(with("accuracy"), "no error");  // workloads report it
}

TEST(SuiteErrors, WordsForSshCannotBeOptions) {
  for (const char* cluster :
       {"{hosts: ['-oProxyCommand=evil']}", "{hosts: ['a b']}", "{ssh: {user: -x}}",
        "{ssh: {jump: -oX}}", "{slurm: {partition: --wrap=x}}"})
    EXPECT_THAT(suite_error(std::string("cases: [a:b:c:1:1:1]\ncluster: ") + cluster + "\n"),
                HasSubstr("must not begin with '-'"))
        << cluster;
  EXPECT_THAT(suite_error("cases: [a:b:c:1:1:1]\ncluster: {hosts: [a, a]}\n"),
              HasSubstr("listed twice"));
  EXPECT_THAT(suite_error("cases: [a:b:c:1:1:1]\ncluster: {launcher: ssh}\n"),
              HasSubstr("needs 'hosts'"));
  EXPECT_THAT(suite_error("cases: [a:b:c:1:1:1]\ncluster: {launcher: slrm}\n"),
              HasSubstr("did you mean 'slurm'?"));
}

TEST(Suite, ExcludedHostsAreNoPartOfTheCluster) {
  const Suite s = suite(
      "cases: [a:b:c:1:1:1]\n"
      "cluster: {launcher: ssh, hosts: [n1, n2, n3], exclude: [n2], min_nodes: 2}\n");
  ASSERT_EQ(s.cluster.hosts.size(), 2u);
  EXPECT_EQ(s.cluster.hosts[0].name, "n1");
  EXPECT_EQ(s.cluster.hosts[1].name, "n3");
  EXPECT_EQ(s.cluster.min_nodes, 2);
}

TEST(SuiteErrors, OfHostsThatAreExcludedNameThePlace) {
  const auto with = [](const std::string& more) {
    return suite_error("cases: [a:b:c:1:1:1]\ncluster: {launcher: ssh, hosts: [n1, n2], " + more +
                       "}\n");
  };
  EXPECT_THAT(with("exclude: [n3]"), HasSubstr("'n3' is not one of the hosts"));
  EXPECT_THAT(with("exclude: [n1, n1]"), HasSubstr("excluded twice"));
  EXPECT_THAT(with("exclude: [n1, n2]"), HasSubstr("every host is excluded"));
  EXPECT_THAT(with("min_nodes: 0"), HasSubstr("from 1 to 100000"));
  EXPECT_THAT(with("min_nodes: 3"), HasSubstr("min_nodes is 3, but the cluster has 2 hosts"));
  EXPECT_THAT(with("min_nodes: 3"), StartsWith("s.yaml:2:"));
  EXPECT_THAT(with("exclude: [n2], min_nodes: 2"), HasSubstr("but the cluster has 1 host"));
  EXPECT_THAT(with("exclude: [n3]"), StartsWith("s.yaml:2:"));
}

TEST(SuiteErrors, KeysThatALauncherWhichChoosesHostsWouldNotObeyAreRefused) {
  const auto with = [](const std::string& more) {
    return suite_error("cases: [a:b:c:1:1:1]\ncluster: {launcher: slurm, " + more + "}\n");
  };
  EXPECT_THAT(with("min_nodes: 2"), HasSubstr("'min_nodes' would have no effect"));
  EXPECT_THAT(with("hosts: [x1, x2], exclude: [x2]"),
              HasSubstr("the launcher 'slurm' chooses hosts by itself"));
  EXPECT_THAT(with("hosts: [x1, x2], exclude: [x2]"), HasSubstr("cluster.slurm.exclude"));
  EXPECT_THAT(with("min_nodes: 2"), StartsWith("s.yaml:2:"));
}

TEST(SuiteErrors, PortsAreNoPartOfAHostsName) {
  const auto with = [](const std::string& host) {
    return suite_error("cases: [a:b:c:1:1:1]\ncluster: {launcher: ssh, hosts: ['" + host + "']}\n");
  };
  for (const char* odd : {"node1:2222", "root@10.0.0.1:22", "[::1]", "[fe80::1]:22"})
    EXPECT_THAT(with(odd), HasSubstr("with a port or in brackets")) << odd;
  for (const char* good : {"::1", "fe80::1%eth0", "root@node1", "node1.rack2.example"})
    EXPECT_EQ(with(good), "no error") << good;
}

TEST(SuiteErrors, OptionsOfSshThatAssaySetsItselfAreRefused) {
  const auto with = [](const std::string& option) {
    return suite_error(
        "cases: [a:b:c:1:1:1]\ncluster: {launcher: ssh, hosts: [h], ssh: {options: [" + option +
        "]}}\n");
  };
  EXPECT_EQ(with("KexAlgorithms=^curve25519-sha256"), "no error");
  EXPECT_THAT(with("stricthostkeychecking=no"), HasSubstr("cannot be given here"));
  EXPECT_THAT(with("ControlPersist=yes"), HasSubstr("cannot be given here"));
  for (const char* odd :
       {"Compression", "'-oCompression=no'", "'Compression='", "'=no'", "'a b=c'"})
    EXPECT_THAT(with(odd), HasSubstr("not an option of ssh")) << odd;
}

TEST(SuiteErrors, KeysThatAContainerRuntimeWouldIgnoreAreRefused) {
  const auto with = [](const std::string& container) {
    return suite_error("container: {image: x, " + container + "}\ncases: [a:b:c:1:1:1]\n");
  };
  EXPECT_THAT(with("runtime: apptainer, shm_size: 8g"), HasSubstr("not for apptainer"));
  EXPECT_THAT(with("runtime: enroot, user: '0'"), HasSubstr("not for enroot"));
  EXPECT_EQ(with("runtime: docker, shm_size: 8g, user: '0', pull: never"), "no error");
}

TEST(SuiteErrors, EnvironmentMustBeNamesAndText) {
  EXPECT_THAT(suite_error("cases: [{name: x, command: y, env: {A: {B: 1}}}]"),
              HasSubstr("expected text"));
  EXPECT_THAT(suite_error("cases: [{name: x, command: y, env: {A: }}]"), HasSubstr("has no value"));
  EXPECT_THAT(suite_error("cases: [{name: x, command: y, env: {'A=B': 1}}]"),
              HasSubstr("not a variable name"));
  EXPECT_THAT(suite_error("cases: [{name: x, command: y, env: {A: '{nope}'}}]"),
              HasSubstr("unknown placeholder"));
  EXPECT_EQ(suite_error("cases: [{name: x, command: y, env: {A: 1, B: off}}]"), "no error");
}

TEST(SuiteErrors, LimitsAreChecked) {
  const auto with = [](const std::string& limits) {
    return suite_error("cases: [a:b:c:1:1:1]\ndefaults: {limits: {" + limits + "}}\n");
  };
  EXPECT_THAT(with("time: 0"), HasSubstr("expected a duration"));
  EXPECT_THAT(with("time: -1s"), HasSubstr("expected a duration"));
  EXPECT_THAT(with("output: 1K"), HasSubstr("at least 4K"));
  EXPECT_THAT(with("tme: 1s"), HasSubstr("did you mean 'time'?"));
}

TEST(SuiteErrors, ShellNeedsACommand) {
  EXPECT_THAT(suite_error("cases: [{case: a:b:c:1:1:1, shell: true}]"),
              HasSubstr("'shell' needs 'command'"));
}

TEST(SuiteErrors, MissingFileIsAConfigError) {
  EXPECT_EQ(error_of([] { return load_suite("/nowhere/suite.yaml"); }),
            "/nowhere/suite.yaml: no such file");
}

}  // namespace
}  // namespace assay::plan
