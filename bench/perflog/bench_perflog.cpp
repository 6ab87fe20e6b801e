// PerfLog ingest in bytes per second of one core. `bench_perflog --generate FILE BYTES` writes the
// log that run.sh measures; `bench_perflog --ingest FILE` prints GB per CPU second of parse_file
// over it (the best of five, with the file in the page cache).

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <string_view>

#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include "core/files.h"
#include "judge/rank_log.h"
#include "perflog/parser.h"
#include "perflog/progress.h"
#include "perflog/writer.h"

namespace {

namespace perflog = assay::perflog;

// STEP_END lines of the strict writer, about 250 bytes each, as logged by a data-parallel trainer.
void write_steps(int fd, std::size_t bytes) {
  perflog::Writer writer(fd, 0);
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> noise(0.9, 1.1);
  perflog::Step step;
  step.samples = 256;
  step.tokens = 131072;
  for (std::int64_t i = 1; ::lseek(fd, 0, SEEK_CUR) < static_cast<off_t>(bytes); ++i) {
    step.loss = 2.5 * noise(random);
    step.lr = static_cast<double>(static_cast<float>(1e-4 * noise(random)));
    step.compute_s = static_cast<double>(static_cast<int>(2e5 * noise(random))) * 1e-6;
    writer.step_end(i, step);
  }
}

std::string steps(std::size_t bytes) {
  std::string path = "/tmp/bench_perflog.XXXXXX";
  const assay::UniqueFd fd(::mkstemp(path.data()));
  write_steps(fd.get(), bytes);
  std::string text = assay::read_file(path);
  ::unlink(path.c_str());
  return text;
}

std::string foreign_steps(std::size_t bytes) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> noise(0.9, 1.1);
  std::string text;
  for (int i = 1; text.size() < bytes; ++i) {
    char line[600];
    const int n = std::snprintf(
        line, sizeof line,
        "[PerfLog] {\"event\": \"STEP_END\", \"value\": {\"loss\": %.16g, \"embedding_average\": "
        "%.12g, \"epoch\": 1, \"end_training\": false, \"global_steps\": %d, "
        "\"num_trained_samples\": %d, \"learning_rate\": 0.000175375, \"seq/s\": %.16g}, "
        "\"metadata\": {\"file\": \"/home/FlagPerf/training/benchmarks/cpm/pytorch/"
        "run_pretraining.py\", \"lineno\": 127, \"time_ms\": %lld, \"rank\": 0}}\n",
        2.6 * noise(random), 0.9 * noise(random), i, 256 * i, 822 * noise(random),
        1669034171032LL + 300 * i);
    text.append(line, static_cast<std::size_t>(n));
  }
  return text;
}

// A string that changes with every line, so that no line has the shape of the previous one.
std::string changing_steps(const std::string& strict) {
  std::string text;
  std::size_t number = 0;
  for (std::size_t at = 0; at < strict.size(); ++number) {
    const std::size_t end = strict.find('\n', at) + 1;
    text.append(strict, at, end - at - 3);
    text += ", \"id\": \"" + std::to_string(number) + "\"}}\n";
    at = end;
  }
  return text;
}

std::string plain_text(std::size_t bytes) {
  std::string text;
  for (int i = 1; text.size() < bytes; ++i)
    text += "2026-11-15 10:15:00 [INFO] [trainer.py:123] iteration " + std::to_string(i) +
            " | loss: 2.5123 | tokens/s: 123456.7 | grad norm: 0.25\n";
  return text;
}

std::string progress_bar(std::size_t bytes) {
  std::string text;
  for (int i = 1; text.size() < bytes; ++i)
    text += "\r 45%|████▌     | " + std::to_string(i) +
            "/100000 [05:10<02:12, \x1b[32m44.50it/s\x1b[0m, loss=0.7123]";
  return text;
}

// With output metrics: searches every line for both.
void find_numbers(benchmark::State& state, const std::string& text) {
  assay::plan::CasePlan plan;
  plan.metrics = {{"loss", "loss[:=] *([0-9.]+)", "1"}, {"speed", "([0-9.]+)it/s", "it/s"}};
  for (auto _ : state) {
    assay::judge::RankLog log;
    assay::judge::RankLogReader reader(plan, log);
    perflog::Parser parser([&](const perflog::Event& event) { reader.on_event(event); },
                           [&](std::string_view part, std::uint64_t line, bool ends) {
                             reader.on_text(part, line, ends);
                           });
    for (std::size_t at = 0; at < text.size(); at += std::size_t{256} << 10)
      parser.feed(std::string_view(text).substr(at, std::size_t{256} << 10));
    parser.finish();
    benchmark::DoNotOptimize(log.outputs[0].count());
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * text.size()));
}

void parse(benchmark::State& state, const std::string& text) {
  for (auto _ : state) {
    double sum = 0;
    perflog::Parser parser([&](const perflog::Event& event) {
      if (const perflog::Field* loss = event.find("loss")) sum += loss->number;
    });
    for (std::size_t at = 0; at < text.size(); at += std::size_t{256} << 10)
      parser.feed(std::string_view(text).substr(at, std::size_t{256} << 10));
    parser.finish();
    benchmark::DoNotOptimize(sum);
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * text.size()));
}

void follow(benchmark::State& state, const std::string& text) {
  for (auto _ : state) {
    perflog::ProgressScanner scanner;
    for (std::size_t at = 0; at < text.size(); at += std::size_t{64} << 10)
      scanner.feed(std::string_view(text).substr(at, std::size_t{64} << 10));
    benchmark::DoNotOptimize(scanner.lines());
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * text.size()));
}

// User and system time of this process, unaffected by other load.
double cpu_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

int ingest(const char* path) {
  double best = 0;
  double sum = 0;
  perflog::ParseStats stats;
  for (int i = 0; i < 5; ++i) {
    sum = 0;
    const double start = cpu_seconds();
    stats = perflog::parse_file(path, [&](const perflog::Event& event) {
      if (const perflog::Field* loss = event.find("loss")) sum += loss->number;
    });
    best = std::max(best, static_cast<double>(stats.bytes) / (cpu_seconds() - start));
  }
  std::printf("%.4f %llu %.10g\n", best / 1e9, static_cast<unsigned long long>(stats.events), sum);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view mode = argc > 2 ? argv[1] : "";
  if (mode == "--ingest") return ingest(argv[2]);
  if (mode == "--generate" && argc > 3) {
    const assay::UniqueFd fd(::open(argv[2], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    if (!fd) {
      std::perror(argv[2]);
      return 1;
    }
    write_steps(fd.get(), std::strtoull(argv[3], nullptr, 10));
    return 0;
  }
  constexpr std::size_t size = std::size_t{8} << 20;
  const std::string strict = steps(size);
  const std::string changing = changing_steps(strict);
  const std::string foreign = foreign_steps(size);
  const std::string plain = plain_text(size);
  const auto add = [](const char* name, auto function, const std::string& text) {
    benchmark::RegisterBenchmark(name,
                                 [function, &text](benchmark::State& s) { function(s, text); });
  };
  add("parse/strict", parse, strict);
  add("parse/changing", parse, changing);
  add("parse/foreign", parse, foreign);
  add("parse/plain", parse, plain);
  const std::string bar = progress_bar(size);
  add("outputs/plain", find_numbers, plain);
  add("outputs/bar", find_numbers, bar);
  add("progress/strict", follow, strict);
  add("progress/plain", follow, plain);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
