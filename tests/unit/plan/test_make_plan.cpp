#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/plan/testing.h"

namespace assay::plan {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::plan;
using ::testing::SizeIs;

std::string plan_error(const std::string& yaml) {
  return error_of([&] { return plan(yaml); });
}

TEST(RenderedPlan, SaysTheRulesOfEveryCaseOnce) {
  const std::string text =
      render_text(plan("cases:\n  - train:native:X1:1:1:1\n"
                       "  - {case: 'train:native:X1:1:2:1', rules: {min-steps: {min: 99}}}\n"));
  const auto count = [&](std::string_view what) {
    int n = 0;
    for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
    return n;
  };
  EXPECT_EQ(count("min-duration"), 1);
  EXPECT_EQ(count("steps ≥ 10"), 1);
  EXPECT_EQ(count("steps ≥ 99"), 1);
}

TEST(MakePlan, WorkloadDefaultsWithoutAnyOverride) {
  const CasePlan c = plan("cases: [train:native:cpu:1:1:1]").cases.at(0);
  EXPECT_EQ(dump_line(c.config), R"({"batch":32,"lr":0.1,"precision":"fp16","target":75.5,)"
                                 R"("amp":false,"layers":[1,2],"device":"cpu"})");
  EXPECT_EQ(c.config_origin.at("batch"), "conf/workloads/train.yaml:1");
  EXPECT_EQ(c.warmup_steps, 3);
  EXPECT_EQ(c.target->metric, "acc1");
  EXPECT_THAT(c.command, ElementsAre("/opt/assay/bin/assay-train", "--config", "{config}", "--rank",
                                     "{rank}"));
}

TEST(MakePlan, CachesAreDroppedWhereTheCaseOrElseTheSuiteSaysSo) {
  const auto dropped = [](const std::string& defaults, const std::string& own) {
    return plan(defaults + "cases: [{case: 'train:native:cpu:1:1:1'" + own + "}]")
        .cases.at(0)
        .drop_caches;
  };
  EXPECT_FALSE(dropped("", ""));
  EXPECT_TRUE(dropped("", ", drop_caches: true"));
  EXPECT_TRUE(dropped("defaults: {drop_caches: true}\n", ""));
  EXPECT_FALSE(dropped("defaults: {drop_caches: true}\n", ", drop_caches: false"));
}

TEST(MakePlan, RanksAreBoundAsTheCaseOrElseTheSuiteSays) {
  const auto bound = [](const std::string& defaults, const std::string& own) {
    return plan(defaults + "cases: [{case: 'train:native:cpu:1:2:1'" + own + "}]").cases.at(0).bind;
  };
  EXPECT_EQ(bound("", "").mode, BindMode::none);
  EXPECT_EQ(bound("defaults: {bind: numa}\n", "").mode, BindMode::numa);
  EXPECT_EQ(bound("defaults: {bind: numa}\n", ", bind: none").mode, BindMode::none);
  const Bind listed = bound("", ", bind: ['0-1,4', 3]");
  EXPECT_EQ(listed.mode, BindMode::listed);
  ASSERT_EQ(listed.lists.size(), 2u);
  EXPECT_EQ(listed.lists[0].text(), "0-1,4");
  EXPECT_EQ(listed.lists[1].text(), "3");
}

TEST(MakePlan, RefusesABindingThatNobodyCouldDo) {
  const auto with = [](const std::string& more) {
    return plan_error("cases: [{case: 'train:native:cpu:1:2:1'" + more + "}]");
  };
  EXPECT_THAT(with(", bind: socket"), HasSubstr("none, cores, numa"));
  EXPECT_THAT(with(", bind: listed"), HasSubstr("none, cores, numa"));
  EXPECT_THAT(with(", bind: []"), HasSubstr("the list is empty"));
  EXPECT_THAT(with(", bind: ['x', '1']"), HasSubstr("CPUs such as 0-3,8"));
  EXPECT_THAT(with(", bind: ['0']"), HasSubstr("'bind' has 1 list, but a node has 2 ranks"));
  EXPECT_THAT(with(", bind: cores, launch: per-node"), HasSubstr("starts its own"));
  EXPECT_THAT(with(", bind: cores, container: {runtime: docker, image: x}"),
              HasSubstr("docker's daemon"));
}

TEST(MakePlan, DataPathsAreTheCasesAndThoseThatTheWorkloadDeclares) {
  catalog::Catalog catalog = testing::small_catalog();
  catalog.workloads[0].data_keys = {"precision"};  // the only text in it
  const auto paths = [&](const std::string& more) {
    return make_plan(
               testing::suite("cases: [{case: 'train:native:cpu:1:1:1', data: /d" + more + "}]"),
               catalog)
        .cases.at(0)
        .data_paths;
  };
  EXPECT_THAT(paths(""), ElementsAre("/d", "fp16"));
  EXPECT_THAT(paths(", config: {precision: ''}"), ElementsAre("/d"));
  EXPECT_THAT(paths(", config: {precision: /d}"), ElementsAre("/d"));
  // Only `data` is known to have the same path outside of a container.
  EXPECT_THAT(paths(", container: {image: x}"), ElementsAre("/d"));
}

TEST(MakePlan, MoreSpecificWorkloadOverrideWins) {
  const auto batch = [](const std::string& key) {
    return plan("vendor: acme\ncluster: {hosts: [a, b]}\ncases: ['" + key + "']")
        .cases.at(0)
        .config.at("batch")
        .get<int>();
  };
  EXPECT_EQ(batch("train:native:Z9:1:1:1"), 64);   // vendor only
  EXPECT_EQ(batch("train:native:X1:1:8:1"), 128);  // vendor, hardware, procs; earlier in the file
  EXPECT_EQ(batch("train:native:X1:2:8:1"), 256);  // and nodes
}

TEST(MakePlan, NullInAnOverrideIsIgnored) {
  const CasePlan c = plan("vendor: acme\ncases: [train:native:Z9:1:1:1]").cases.at(0);
  EXPECT_EQ(c.config.at("lr"), 0.1);
  EXPECT_EQ(c.config_origin.at("lr"), "conf/workloads/train.yaml:1");
  EXPECT_EQ(c.config_origin.at("batch"), "conf/workloads/train.yaml:3");
}

TEST(MakePlan, CaseConfigBeatsWorkloadOverrides) {
  const CasePlan c =
      plan(
          "vendor: acme\ncases:\n  - case: train:native:X1:2:8:1\n    config: {batch: 7, lr: ~}\n"
          "cluster: {hosts: [a, b]}\n")
          .cases.at(0);
  EXPECT_EQ(c.config.at("batch"), 7);
  EXPECT_EQ(c.config_origin.at("batch"), "s.yaml:4");
  EXPECT_EQ(c.config.at("lr"), 0.1);
}

TEST(MakePlan, ACaseOfHardwareCpuStaysThereOnAMachineWithDevices) {
  EXPECT_EQ(plan("name: s\ncases: [train:native:cpu:1:1:1]\n").cases[0].config["device"], "cpu");
  EXPECT_EQ(
      plan("name: s\nvendor: acme\ncases: [train:native:X1:1:1:1]\n").cases[0].config["device"],
      "auto");
  EXPECT_EQ(plan("name: s\ncases:\n  - case: train:native:cpu:1:1:1\n    config: {device: cuda}\n")
                .cases[0]
                .config["device"],
            "cuda");
}

TEST(MakePlan, IntegerWidensToDouble) {
  const CasePlan c = plan("cases: [{case: train:native:cpu:1:1:1, config: {lr: 1}}]").cases.at(0);
  EXPECT_TRUE(c.config.at("lr").is_number_float());
  EXPECT_EQ(c.config.at("lr"), 1.0);
}

TEST(MakePlan, ConfigTypesMustMatchTheDefaults) {
  const auto with = [](const std::string& config) {
    return plan_error("cases: [{case: train:native:cpu:1:1:1, config: {" + config + "}}]");
  };
  EXPECT_THAT(with("batch: many"), HasSubstr("expected a whole number"));
  EXPECT_THAT(with("batch: 1.5"), HasSubstr("expected a whole number"));
  EXPECT_THAT(with("lr: fast"), HasSubstr("expected a finite number"));
  EXPECT_THAT(with("amp: maybe"), HasSubstr("expected true or false"));
  EXPECT_THAT(with("layers: 3"), HasSubstr("expected a list"));
  EXPECT_THAT(with("precision: {a: 1}"), HasSubstr("expected text"));
  EXPECT_EQ(with("amp: on"), "no error");
}

TEST(MakePlan, ValuesThatTheProgramWouldRefuseAreRefusedWhereTheyAreWritten) {
  catalog::Catalog catalog = small_catalog();
  catalog::OptionSet& options = catalog.workloads.at(0).options.emplace();
  options.automatic = {"batch"};
  options.bounds["batch"] = {1, 512, /*whole=*/true};
  options.bounds["lr"] = {0, 10};
  options.bounds["precision"].choices = {"fp16", "fp32"};
  options.bounds["layers"] = {1, 9, /*whole=*/false, /*is_list=*/true};
  const auto planned = [&](const std::string& config, std::vector<std::string> set = {}) {
    PlanOptions asked;
    asked.overrides = std::move(set);
    const std::string text =
        "name: s\nvendor: cpu\ncases:\n  - case: train:native:cpu:1:1:1\n    config: {" + config +
        "}\n";
    return make_plan(testing::suite(text), catalog, asked).cases.at(0).config;
  };
  const auto error = [&](const std::string& config) {
    return error_of([&] { return planned(config); });
  };
  EXPECT_EQ(planned("batch: 512")["batch"], 512);
  EXPECT_EQ(planned("batch: auto")["batch"], "auto");
  EXPECT_EQ(planned("layers: [1, 9]")["layers"], Json({1, 9}));
  EXPECT_THAT(error("batch: -5"), HasSubstr("s.yaml:5:21: 'batch' must be a whole number from 1 to "
                                            "512, not '-5'"));
  EXPECT_THAT(error("batch: 0"), HasSubstr("s.yaml:5:21"));
  EXPECT_THAT(error("lr: 10.5"), HasSubstr("'lr' must be a number from 0 to 10"));
  EXPECT_THAT(error("lr: abc"), HasSubstr("s.yaml:5:18"));
  EXPECT_THAT(error("precision: fp61"), HasSubstr("did you mean 'fp16'"));
  EXPECT_THAT(error("layers: [1, 10]"), HasSubstr("s.yaml:5:26"));
  EXPECT_THAT(error_of([&] { return planned("", {"config.batch=0"}); }),
              HasSubstr("--set config.batch=0"));
}

TEST(MakePlan, UnknownConfigKeyNamesTheNearest) {
  EXPECT_THAT(plan_error("cases: [{case: train:native:cpu:1:1:1, config: {bach: 1}}]"),
              HasSubstr("unknown config key 'bach' (did you mean 'batch'?)"));
}

TEST(MakePlan, FixedKeysCannotBeChangedAndTheCulpritIsNamed) {
  const std::string message =
      plan_error("cases:\n  - case: train:native:cpu:1:1:1\n    config: {target: 60}\n");
  EXPECT_THAT(message, HasSubstr("s.yaml:3:22: config key 'target' is fixed at 75.5"));
  EXPECT_EQ(plan_error("cases: [{case: train:native:cpu:1:1:1, config: {target: 75.5}}]"),
            "no error");
  EXPECT_THAT(
      error_of([] { return plan("cases: [train:native:cpu:1:1:1]", {"config.target=60"}); }),
      HasSubstr("--set config.target=60: config key 'target' is fixed"));
}

TEST(MakePlan, UnknownWorkloadVendorAndFramework) {
  EXPECT_THAT(plan_error("cases: [trainn:native:cpu:1:1:1]"),
              HasSubstr("s.yaml:1:9: no workload 'trainn' (did you mean 'train'?)"));
  EXPECT_THAT(plan_error("cases: [train:nativ:cpu:1:1:1]"), HasSubstr("has no framework 'nativ'"));
  EXPECT_EQ(plan_error("cases: [train:libtorch_2.1:cpu:1:1:1]"), "no error");
  EXPECT_THAT(plan_error("vendor: acm\ncases: [train:native:cpu:1:1:1]"),
              HasSubstr("s.yaml:1:9: unknown vendor 'acm' (did you mean 'acme'?)"));
}

TEST(MakePlan, OwnCommandTakesNothingFromAWorkload) {
  const CasePlan c = plan(
                         "cases: [{case: train:other:cpu:1:1:1, command: 'run {rank} {config}', "
                         "config: {anything: 1, gone: ~}, env: {A: '{bindir}/x', B: '{rank}'}}]")
                         .cases.at(0);
  EXPECT_THAT(c.command, ElementsAre("run", "{rank}", "{config}"));
  EXPECT_EQ(dump_line(c.config), R"({"anything":1})");
  EXPECT_EQ(c.env.at("A"), "/opt/assay/bin/x");
  EXPECT_EQ(c.env.at("B"), "{rank}");
  EXPECT_EQ(c.warmup_steps, 0);
}

TEST(MakePlan, LimitsAreLayeredValueByValue) {
  const Limits limits = plan(
                            "defaults: {limits: {stall: 30s, grace: 1s}}\n"
                            "cases: [{case: train:native:cpu:1:1:1, limits: {grace: 2s}}]")
                            .cases.at(0)
                            .limits;
  EXPECT_EQ(limits.time, 2h);    // workload
  EXPECT_EQ(limits.stall, 30s);  // defaults
  EXPECT_EQ(limits.grace, 2s);   // case
  EXPECT_EQ(limits.output_bytes, 1ULL << 30);
}

TEST(MakePlan, RulesAreLayered) {
  const CasePlan c = plan(
                         "defaults: {rules: {min-steps: {min: 5}, min-duration: off}}\n"
                         "cases: [{case: train:native:cpu:1:1:1, rules: {min-steps: {min: 7}}}]")
                         .cases.at(0);
  ASSERT_THAT(c.rules, SizeIs(1));
  EXPECT_EQ(c.rules[0].min, 7);
  EXPECT_EQ(c.rules[0].origin, "s.yaml:2");
  EXPECT_THAT(plan_error("defaults: {rules: {min-step: off}}\ncases: [train:native:cpu:1:1:1]"),
              HasSubstr("did you mean 'min-steps'?"));
}

TEST(MakePlan, EnvironmentOfTheCaseWins) {
  const CasePlan c = plan(
                         "defaults: {env: {A: d, B: d}}\n"
                         "cases: [{case: train:native:cpu:1:1:1, env: {B: c}}]")
                         .cases.at(0);
  EXPECT_EQ(c.env, (std::map<std::string, std::string>{{"A", "d"}, {"B", "c"}}));
}

TEST(MakePlan, PeakFlopsFromSuiteElseByPrecisionElseNone) {
  const auto peak = [](const std::string& text) {
    return plan("vendor: acme\ncases: [" + text + "]").cases.at(0);
  };
  EXPECT_EQ(peak("train:native:X1:1:1:1").peak_flops, 100e12);
  EXPECT_EQ(peak("train:native:X1:1:1:1").peak_flops_origin, "conf/vendors/acme.yaml:7");
  EXPECT_EQ(peak("{case: train:native:X1:1:1:1, peak_flops: 5e12}").peak_flops, 5e12);
  EXPECT_EQ(peak("{case: train:native:X1:1:1:1, peak_flops: 5e12}").peak_flops_origin, "s.yaml:2");
  EXPECT_FALSE(peak("{case: train:native:X1:1:1:1, config: {precision: fp8}}").peak_flops);
  EXPECT_FALSE(peak("train:native:Z9:1:1:1").peak_flops);
}

TEST(MakePlan, ThisMachineAloneIsOneNodeAndTheErrorNamesThePlace) {
  EXPECT_THAT(plan_error("cases:\n  - train:native:cpu:2:1:1\n"),
              HasSubstr("s.yaml:2:5: the case 'train:native:cpu:2:1:1' wants 2 nodes"));
  EXPECT_THAT(plan_error("cases:\n  - {name: c, command: x,\n     nodes: 3}\n"),
              HasSubstr("s.yaml:3:13: the case 'c' wants 3 nodes"));
}

TEST(MakePlan, HostsMustSuffice) {
  EXPECT_THAT(
      plan_error("cluster: {launcher: ssh, hosts: [a, b]}\ncases: [train:native:cpu:3:1:1]"),
      HasSubstr("needs 3 nodes, but the cluster has 2 hosts"));
  EXPECT_THAT(plan_error("cluster: {launcher: ssh, hosts: [{name: a, slots: 4}]}\ncases: "
                         "[train:native:cpu:1:8:1]"),
              HasSubstr("'a' has 4 slots"));
}

TEST(MakePlan, OnlySelectsByNameModelOrGlob) {
  const Suite s = testing::suite(
      "cases: [train:native:cpu:1:1:1, train:native:cpu:1:2:1, {name: mine, command: x}]");
  const auto names = [&](std::vector<std::string> only) {
    PlanOptions options;
    options.only = std::move(only);
    std::vector<std::string> out;
    for (const CasePlan& c : make_plan(s, testing::small_catalog(), options).cases)
      out.push_back(c.name);
    return out;
  };
  EXPECT_THAT(names({"mine"}), ElementsAre("mine"));
  EXPECT_THAT(names({"*:2:1"}), ElementsAre("train:native:cpu:1:2:1"));
  EXPECT_THAT(names({"train"}), SizeIs(2));
  EXPECT_THAT(names({"mine", "*:2:1"}), ElementsAre("train:native:cpu:1:2:1", "mine"));
  EXPECT_THAT(error_of([&] { return names({"minne"}); }),
              HasSubstr("--only: no case matches 'minne' (did you mean 'mine'?)"));
}

TEST(MakePlan, RepeatReplacesEveryCasesRepeats) {
  PlanOptions options;
  options.repeat = 9;
  const Plan p = make_plan(testing::suite("cases: [train:native:cpu:1:1:1]"),
                           testing::small_catalog(), options);
  EXPECT_EQ(p.cases.at(0).repeats, 9);
  EXPECT_EQ(p.cases.at(0).name, "train:native:cpu:1:1:1");
  EXPECT_THAT(p.overrides, ElementsAre("--repeat 9"));
  options.repeat = 0;
  EXPECT_THAT(error_of([&] {
                return make_plan(testing::suite("cases: [train:native:cpu:1:1:1]"),
                                 testing::small_catalog(), options);
              }),
              HasSubstr("--repeat"));
}

catalog::Catalog with_headline(const std::string& yaml) {
  catalog::Catalog catalog = testing::small_catalog();
  catalog.workloads[0].headline = *testing::node("headline: " + yaml).find("headline");
  return catalog;
}

TEST(MakePlan, TheWorkloadNamesItsHeadline) {
  const auto headline = [](const std::string& yaml) {
    return make_plan(testing::suite("cases: [train:native:cpu:1:1:1]"), with_headline(yaml))
        .cases.at(0)
        .headline;
  };
  EXPECT_EQ(headline("step_time_p50"), "step_time_p50");
  EXPECT_EQ(headline("final_acc1"), "final_acc1");
  EXPECT_EQ(plan("cases: [train:native:cpu:1:1:1]").cases.at(0).headline, "");
}

TEST(MakePlan, AHeadlineThatNoMetricHasIsAnErrorAtItsPlace) {
  EXPECT_THAT(error_of([] {
                return make_plan(testing::suite("cases: [train:native:cpu:1:1:1]"),
                                 with_headline("p_hole"));
              }),
              HasSubstr("s.yaml:1:11: unknown metric 'p_hole' (did you mean 'p_whole'?)"));
}

TEST(MakePlan, ChecksTheRulesOfEveryCase) {
  catalog::Catalog catalog = testing::small_catalog();
  catalog.rules[0].fact = "step";
  catalog.rules[0].origin = "conf/rules/x.yaml:7";
  EXPECT_THAT(error_of([&] {
                return make_plan(testing::suite("cases: [train:native:cpu:1:1:1]"), catalog);
              }),
              HasSubstr("conf/rules/x.yaml:7: rule 'min-steps': unknown fact 'step' (did you mean "
                        "'steps'?)"));
}

TEST(MakePlan, ARuleMayBoundTheCasesOwnOutputMetric) {
  catalog::Catalog catalog = testing::small_catalog();
  catalog.rules[0].fact = "rate";
  const auto planned = [&](const std::string& metrics) {
    return error_of([&] {
      return make_plan(testing::suite("cases: [{name: a, command: [x]" + metrics + "}]"), catalog);
    });
  };
  EXPECT_THAT(planned(""), HasSubstr("unknown fact 'rate'"));
  EXPECT_EQ(planned(", metrics: {rate: {match: 'r=([0-9]+)'}}"), "no error");
}

TEST(RenderText, ShowsCommandConfigWithOriginLimitsAndRules) {
  const std::string text = render_text(plan("cases: [train:native:cpu:1:2:3]", {"config.batch=8"}));
  EXPECT_THAT(text, HasSubstr("case train:native:cpu:1:2:3"));
  EXPECT_THAT(text, HasSubstr("3 rounds of 2 processes (1 node × 2 per node), launched per-rank"));
  EXPECT_THAT(text, HasSubstr("/opt/assay/bin/assay-train --config '{config}'"));
  EXPECT_THAT(text, ::testing::ContainsRegex("batch +=+ 8 +# --set config.batch=8"));
  EXPECT_THAT(text, HasSubstr("time 2h, stall 10m, grace 5s, output 1.00 GiB per rank"));
  EXPECT_THAT(text, HasSubstr("min-steps (round, invalid): steps ≥ 10"));
}

}  // namespace
}  // namespace assay::plan
