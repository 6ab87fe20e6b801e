#include "demo.h"

#include <algorithm>
#include <cmath>

#include "catalog/metrics.h"

namespace assay::report {

namespace {

using namespace judge;

// Noise that every platform computes alike.
double noise(unsigned seed) {
  std::uint32_t x = seed * 2654435761U + 12345;
  x ^= x >> 15;
  x *= 2246822519U;
  x ^= x >> 13;
  return static_cast<double>(x % 20001) / 10000 - 1;
}

double rounded(double value) {
  return std::round(value * 1000) / 1000;
}

Metric metric(const std::string& name, double value, const std::string& unit, Better better,
              judge::Origin origin = judge::Origin::measured, const std::string& note = "") {
  return {{name, unit, better, "The " + name + " of the round"}, value, origin, note};
}

std::vector<RankResult> ranks(int nodes, int procs, int round, const std::string& name, double step,
                              int slow = -1) {
  std::vector<RankResult> all;
  for (int r = 0; r < nodes * procs; ++r) {
    RankResult rank;
    rank.rank = r;
    rank.node = r / procs;
    rank.local_rank = r % procs;
    rank.host = "node" + std::to_string(rank.node + 1);
    rank.exit = ExitStatus{.code = 0, .signal = {}};
    rank.ended_by = "itself";
    rank.log = name + "/round" + std::to_string(round) + "/" + rank.host + "_noderank" +
               std::to_string(rank.node) + "/rank" + std::to_string(r) + ".out.log";
    rank.steps = 1200;
    rank.samples = 1200 * 256;
    const double factor = (r == slow ? 1.31 : 1) + 0.008 * noise(static_cast<unsigned>(r + 7));
    rank.mean_step_s = rounded(step * factor);
    rank.relative_speed = rounded(1 / factor);
    all.push_back(rank);
  }
  return all;
}

Series series(const std::string& name, const std::string& label, const std::string& unit, int count,
              double end, unsigned seed, double (*shape)(double, double)) {
  Series out{name, label, unit, {}};
  for (int i = 0; i < count; ++i) {
    const double t = end * i / (count - 1);
    out.points.push_back(
        {rounded(t), rounded(shape(t / end, noise(seed + static_cast<unsigned>(i))))});
  }
  return out;
}

double throughput_shape(double x, double n) {
  return x < 0.08 ? 0 : 18400 * (1 - 0.3 * std::exp(-(x - 0.08) * 40)) + 260 * n;
}
double loss_shape(double x, double n) {
  return 1.9 + 5.1 * std::exp(-x * 5) + 0.06 * n;
}
double util_shape(double x, double n) {
  return x < 0.07 ? 0.04 + 0.02 * n : std::min(1.0, 0.93 + 0.04 * n);
}
double cpu_shape(double x, double n) {
  return x < 0.07 ? 0.71 + 0.09 * n : 0.24 + 0.03 * n;
}
double power_shape(double x, double n) {
  return x < 0.07 ? 92 + 5 * n : 612 + 22 * n;
}
double memory_shape(double x, double n) {
  return (x < 0.05 ? 2.0 + 30 * x / 0.05 * 1.0 : 61.5 + 0.05 * n) * 1073741824.0;
}

Summary summarize(const std::vector<double>& values, const MetricInfo& info, judge::Origin origin) {
  Summary s;
  s.info = info;
  s.origin = origin;
  s.n = static_cast<int>(values.size());
  std::vector<double> sorted = values;
  std::ranges::sort(sorted);
  s.min = sorted.front();
  s.max = sorted.back();
  s.median = sorted.size() % 2 == 1
                 ? sorted[sorted.size() / 2]
                 : (sorted[sorted.size() / 2 - 1] + sorted[sorted.size() / 2]) / 2;
  double sum = 0;
  for (const double v : sorted) sum += v;
  s.mean = sum / s.n;
  if (s.n >= 2) {
    double squares = 0;
    for (const double v : sorted) squares += (v - s.mean) * (v - s.mean);
    s.stddev = std::sqrt(squares / (s.n - 1));
    s.cv = s.mean == 0 ? 0 : *s.stddev / s.mean;
  }
  if (s.n >= 3) {
    s.ci95_low = s.mean - 4.303 * *s.stddev / std::sqrt(s.n);
    s.ci95_high = s.mean + 4.303 * *s.stddev / std::sqrt(s.n);
    s.olympic_mean = s.n == 3 ? sorted[1] : (sum - s.min - s.max) / (s.n - 2);
  } else {
    s.note = "a confidence interval needs 3 rounds, there are " + std::to_string(s.n);
  }
  return s;
}

void add_summary(CaseResult& one) {
  for (const Metric& first : one.rounds[0].metrics) {
    std::vector<double> values;
    for (const RoundResult& round : one.rounds)
      for (const Metric& m : round.metrics)
        if (m.info.name == first.info.name) values.push_back(m.value);
    one.summary.push_back(summarize(values, first.info, first.origin));
  }
}

RoundResult gpu_round(const std::string& name, int number, int nodes, int procs, int slow) {
  RoundResult round;
  round.round = number;
  round.status = RoundStatus::completed;
  round.validity = Validity::valid;
  round.started = "2026-11-15T10:" + std::to_string(15 + 5 * (number - 1)) + ":00Z";
  round.ended = "2026-11-15T10:" + std::to_string(18 + 5 * (number - 1)) + ":26Z";
  round.ranks = ranks(nodes, procs, number, name, 0.0141, slow);
  const double f = 1 + 0.006 * noise(static_cast<unsigned>(number) * 31);
  round.metrics = {
      metric("p_whole", 16932.4 * f, "samples/s", Better::higher),
      metric("p_train", 17806.1 * f, "samples/s", Better::higher),
      metric("p_core", 18411.9 * f, "samples/s", Better::higher),
      metric("e2e_time", 206.31 / f, "s", Better::lower),
      metric("step_time_p50", 0.013902 / f, "s", Better::lower),
      metric("step_time_p99", 0.019733 / f, "s", Better::lower),
      metric("time_to_target", 141.2 / f, "s", Better::lower),
      metric("final_accuracy", 0.7612, "ratio", Better::higher, judge::Origin::reported),
      metric("mfu", 0.4183 * f, "ratio", Better::higher, judge::Origin::estimated,
             "peak from conf/vendors/nvidia.yaml"),
      metric("energy_j", 1.0246e6 / f, "J", Better::lower),
      metric("samples_per_joule", 3.2418 * f, "samples/J", Better::higher),
      metric("device_util", 0.927, "ratio", Better::higher),
      metric("harness_overhead", 0.0011, "ratio", Better::lower)};
  round.phases = {{"init", 0, 14.2},
                  {"train", 14.2, 201.4},
                  {"evaluate", 108.0, 116.5},
                  {"evaluate", 191.0, 201.4}};
  using enum judge::TimePart;
  round.time_shares = {{launch, 0.31},
                       {start, 2.1},
                       {device, 0.8},
                       {join, 0.4},
                       {data, number == 1 ? 12.6 : 3.2},
                       {model, 1.9},
                       {preparation, 0.2},
                       {first_step, 4.5},
                       {data_wait, 3.1},
                       {compute, 139.2},
                       {communication, 18.3},
                       {optimizer, 2.8},
                       {step_rest, 0.6},
                       {evaluation, 18.9},
                       {end, 0.9},
                       {collection, 0.2}};
  double wall = 0;
  for (const judge::TimeShare& share : round.time_shares) wall += share.seconds;
  round.wall_s = wall;
  const unsigned s = static_cast<unsigned>(number) * 1000;
  round.series.push_back(
      series("throughput", "all ranks", "samples/s", 180, 201.4, s, throughput_shape));
  round.series.push_back(series("loss", "rank 0", "1", 180, 201.4, s + 200, loss_shape));
  for (int node = 0; node < nodes; ++node) {
    const std::string host = "node" + std::to_string(node + 1);
    round.series.push_back(series("cpu_util", host, "ratio", 200, 206,
                                  s + 400 + static_cast<unsigned>(node), cpu_shape));
    for (int d = 0; d < procs; ++d) {
      const std::string label = "dev" + std::to_string(d) + " on " + host;
      const unsigned k = s + static_cast<unsigned>(node * 977 + d * 331);
      round.series.push_back(series("device_util", label, "ratio", 200, 206, k + 1, util_shape));
      round.series.push_back(series("power", label, "W", 200, 206, k + 2, power_shape));
      round.series.push_back(series("memory", label, "bytes", 200, 206, k + 3, memory_shape));
    }
  }
  return round;
}

CaseResult gpu_case(const std::string& name, int nodes, int procs, int slow) {
  CaseResult one;
  one.name = name;
  one.model = "resnet50";
  one.framework = "libtorch";
  one.hardware = "H200";
  one.nodes = nodes;
  one.procs = procs;
  one.repeats = 3;
  one.validity = Validity::valid;
  one.headline = "p_whole";
  for (int r = 1; r <= 3; ++r) one.rounds.push_back(gpu_round(name, r, nodes, procs, slow));
  add_summary(one);
  return one;
}

CaseResult invalid_case() {
  CaseResult one;
  one.name = "bert-large:libtorch:H200:1:4:2";
  one.model = "bert-large";
  one.framework = "libtorch";
  one.hardware = "H200";
  one.procs = 4;
  one.repeats = 2;
  one.validity = Validity::invalid;
  one.headline = "p_whole";
  for (int r = 1; r <= 2; ++r) {
    RoundResult round = gpu_round(one.name, r, 1, 4, -1);
    round.metrics.resize(6);
    if (r == 2) {
      round.validity = Validity::invalid;
      round.findings = {
          {"converged", Severity::invalid,
           "the final MLM accuracy is 0.412, below the target of 0.67",
           "train longer (config.max_steps), or check the learning rate and the data", "round 2"},
          {"no-throttling", Severity::warning,
           "device 2 on node1 was throttled (thermal) for 31 % of the training",
           "check the cooling of node1, or lower the power limit of all devices alike",
           "round 2, dev2 on node1"}};
    }
    round.findings.push_back({"telemetry-gaps", Severity::note,
                              "no power reading of the host: RAPL is not readable",
                              "run 'assay check' for how to allow it", ""});
    one.rounds.push_back(round);
  }
  add_summary(one);
  one.findings = {{"repeats", Severity::warning, "2 rounds are too few for a confidence interval",
                   "set repeats to 3 or more", ""}};
  return one;
}

CaseResult incomplete_case() {
  CaseResult one;
  one.name = "my-llm";
  one.nodes = 2;
  one.procs = 2;
  one.repeats = 2;
  one.validity = Validity::incomplete;
  RoundResult round;
  round.round = 1;
  round.status = RoundStatus::failed;
  round.reason = "rank 3 on node2: SIGSEGV";
  round.started = "2026-11-15T10:40:00Z";
  round.ended = "2026-11-15T10:40:41Z";
  round.validity = Validity::incomplete;
  round.ranks = ranks(2, 2, 1, one.name, 0.2);
  round.ranks[3].exit = ExitStatus{.code = {}, .signal = 11};
  round.ranks[3].steps = 117;
  round.ranks[3].mean_step_s.reset();
  round.ranks[3].relative_speed.reset();
  round.ranks[3].malformed_lines = 1;
  for (int r = 0; r < 3; ++r) {
    round.ranks[static_cast<std::size_t>(r)].exit = ExitStatus{.code = {}, .signal = 15};
    round.ranks[static_cast<std::size_t>(r)].ended_by = "assay: stop";
  }
  round.metrics = {metric("e2e_time", 41.27, "s", Better::lower)};
  round.findings = {{"ranks-ended-0", Severity::incomplete,
                     "rank 3 on node2 ended with SIGSEGV; the other ranks were stopped",
                     "read its log: assay logs RUN --rank 3", "rank 3 on node2"}};
  round.phases = {{"init", 0, 9.5}, {"train", 9.5, 41.0}};
  round.series.push_back(
      series("throughput", "all ranks", "tokens/s", 60, 40.1, 5, throughput_shape));
  RoundResult second;
  second.round = 2;
  second.status = RoundStatus::not_run;
  second.reason = "round 1 failed";
  one.rounds = {round, second};
  return one;
}

Json demo_system() {
  Json nodes = Json::array();
  for (int n = 1; n <= 2; ++n) {
    Json devices = Json::array();
    for (int d = 0; d < 4; ++d)
      devices.push_back({{"index", d},
                         {"name", "NVIDIA H200"},
                         {"memory_bytes", 150754820096},
                         {"driver", "550.90"}});
    nodes.push_back(
        {{"host", "node" + std::to_string(n)},
         {"os", "Debian GNU/Linux 12 (bookworm)"},
         {"kernel", "6.1.0-26-amd64"},
         {"cpu", {{"model", "AMD EPYC 9654 96-Core Processor"}, {"sockets", 2}, {"cores", 192}}},
         {"memory", {{"total_bytes", 1622345678848}}},
         {"accelerators", devices}});
  }
  return {{"nodes", nodes}};
}

}  // namespace

judge::EvidenceState sound_evidence() {
  using enum judge::Soundness;
  return {{ok, "everything is there (12 rules hold)"},
          {ok, "as it was recorded (4 rules hold)"},
          {ok, "nothing contradicts itself (5 rules hold)"}};
}

RunResult demo_result() {
  RunResult run;
  run.run_id = "run20261115T101500Z-3f2a";
  run.suite = "acceptance";
  run.validity = Validity::invalid;
  run.cases = {gpu_case("resnet50:libtorch:H200:2:4:3", 2, 4, -1), invalid_case(),
               incomplete_case(), gpu_case("resnet50-many-ranks:libtorch:H200:8:8:3", 8, 8, 37)};
  run.cases[3].findings = {
      {"stragglers", Severity::warning, "rank 37 on node5 is 24 % slower than the median rank",
       "compare clocks and temperatures of node5 with the others", "rank 37 on node5"}};
  run.findings = {{"system-known",
                   Severity::incomplete,
                   "system.json is damaged: it is no JSON object",
                   "restore the file from a copy, or run the suite again",
                   "",
                   {},
                   judge::Aspect::completeness}};
  for (CaseResult& one : run.cases)
    for (RoundResult& round : one.rounds) {
      round.evidence = sound_evidence();
      if (round.status == RoundStatus::completed) continue;
      round.evidence.completeness = {judge::Soundness::flawed, "the round did not complete"};
      round.evidence.plausibility = {judge::Soundness::unknown, "no rule could be applied"};
    }
  run.system = demo_system();
  run.provenance = {
      {"assay", "0.1.0+3f2a9c0d1e2f"},
      {"suite_file", "acceptance.yaml"},
      {"suite_sha256", "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"},
      {"overrides", {"--set telemetry.interval=1s"}}};
  return run;
}

RunResult small_result() {
  RunResult run;
  run.run_id = "run20261115T101500Z-0001";
  run.suite = "quick";
  run.validity = Validity::valid;
  CaseResult one;
  one.name = "null";
  one.model = "null";
  one.validity = Validity::valid;
  one.headline = "p_whole";
  RoundResult round;
  round.round = 1;
  round.status = RoundStatus::completed;
  round.validity = Validity::valid;
  round.started = "2026-11-15T10:15:00.250Z";
  round.ended = "2026-11-15T10:15:12.750Z";
  round.evidence = sound_evidence();
  round.ranks = ranks(1, 1, 1, "null", 0.01);
  round.metrics = {
      metric("p_whole", 24576, "samples/s", Better::higher),
      metric("e2e_time", 12.5, "s", Better::lower),
      metric("final_accuracy", 0.93, "ratio", Better::higher, judge::Origin::reported)};
  round.phases = {{"init", 0, 0.5}, {"train", 0.5, 10.5}, {"evaluate", 10.5, 12.5}};
  one.rounds = {round};
  add_summary(one);
  run.seal = {judge::Soundness::ok, "sealed, and unchanged since then",
              "ed25519:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
              "SHA256:Zmh6rfhivXdsj8GLjp+OIAiXFIVu4jOzkCpZHQ1fKSU", "2026-11-15T10:15:13.000Z"};
  run.cases = {one};
  run.system = {{"host", "localhost"}, {"kernel", "6.1.0"}};
  run.provenance = {{"assay", "0.1.0"}};
  return run;
}

RunResult wide_result(int count) {
  RunResult run = small_result();
  CaseResult& one = run.cases[0];
  one.procs = count;
  RoundResult& round = one.rounds[0];
  round.ranks = ranks(1, count, 1, "null", 0.01, count / 2);
  for (int r = 0; r < count; ++r) {
    const std::string label = "rank " + std::to_string(r);
    const auto seed = static_cast<unsigned>(r) * 101;
    round.series.push_back(
        series("throughput", label, "samples/s", 400, 12.5, seed, throughput_shape));
    round.series.push_back(series("power", label, "W", 400, 12.5, seed + 1, power_shape));
    round.series.push_back(series("memory", label, "bytes", 400, 12.5, seed + 2, memory_shape));
  }
  return run;
}

judge::RunResult sweep_result() {
  judge::RunResult run = small_result();
  const judge::CaseResult point = run.cases[0];
  run.cases.clear();
  judge::SweepGrid grid;
  grid.sweep = {
      "resnet50",
      "suite.yaml:4",
      {{"config.batch_size", "batch_size", {32, 64, 128, 256}}, {"procs", "procs", {1, 2, 4, 8}}},
      1};
  grid.headline = "steady_throughput";
  grid.adds_up = true;
  for (const int batch : {32, 64, 128, 256})
    for (const int procs : {1, 2, 4, 8}) {
      if (batch == 256 && procs == 8) continue;
      judge::CaseResult one = point;
      one.name = "resnet50@batch_size=" + std::to_string(batch) + ",procs=" + std::to_string(procs);
      one.procs = procs;
      one.sweep = plan::SweepPoint{"resnet50", {batch, procs}};
      one.headline = grid.headline;
      one.summary.clear();
      const auto add = [&](const char* name, double value, double half) {
        judge::Summary summary;
        summary.info = catalog::known_metric(name).info();
        summary.n = 3;
        summary.median = summary.mean = summary.min = summary.max = value;
        summary.ci95_low = value - half;
        summary.ci95_high = value + half;
        one.summary.push_back(summary);
      };
      const double rate = 1000.0 * batch / (batch + 40) * procs / (1 + 0.04 * (procs - 1));
      add("steady_throughput", rate, 0.01 * rate);
      add("energy_per_sample_j", (300 + 250 * procs) / rate + batch * 1e-4, 0.002);
      if (batch == 256 && procs == 4) one.validity = judge::Validity::invalid;
      if (batch == 32 && procs == 8) {
        one.skipped = judge::Skip{plan::SkipCause::dependency, "it comes after 'check'"};
        one.validity = judge::Validity::incomplete;
        one.rounds.clear();
        one.summary.clear();
      }
      grid.cases.push_back(run.cases.size());
      run.cases.push_back(std::move(one));
    }
  run.sweeps = {grid};
  judge::HookResult hook;
  hook.hook.name = "clocks";
  hook.hook.command = {"nvidia-smi", "-lgc", "1980"};
  hook.verdict = judge::HookVerdict::passed;
  hook.seconds = 0.2;
  hook.output = "hook.before.clocks/round1";
  run.hooks = {hook};
  run.cases[0].hooks = {hook};
  run.cases[0].hooks[0].verdict = judge::HookVerdict::failed;
  run.cases[0].hooks[0].reason = "exit 3: no such device";
  return run;
}

}  // namespace assay::report
