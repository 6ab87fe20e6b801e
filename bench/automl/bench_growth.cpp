// How the architecture search scales with its history: proposals of 100 candidates, one core.
//
//   bench_growth [OUT.svg [MOST_MODELS]]
//
// prints a table, and plots it beside the times of AIPerf's own search. A candidate's time is the
// proposal's, divided by the candidates examined: morphism, duplicate check, prediction and a share
// of everything done once.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <malloc.h>
#include <time.h>

#include "automl/morphism.h"
#include "automl/search.h"
#include "automl/start_models.h"
#include "core/error.h"
#include "core/json.h"
#include "stats/descriptive.h"

namespace {

using namespace assay::automl;
using assay::Json;

constexpr std::array kHistories{10, 30, 100, 300, 1000, 3000, 10000};
constexpr int kProposals = 7;

struct Point {
  double models = 0;
  double candidate_s = 0;
  double proposal_s = 0;
  double megabytes = 0;
  double prepare_s = 0;  // loading the history and fitting the process
};

double cpu_now() {
  timespec t{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

double heap_megabytes() {
  const struct mallinfo2 info = ::mallinfo2();
  return static_cast<double>(info.uordblks + info.hblkhd) * 1e-6;
}

// Different random children of random earlier models, in the form of a search's state.
std::vector<Json> trials(std::size_t count) {
  std::vector<Json> out;
  std::vector<Graph> graphs;
  std::set<std::uint64_t> seen;
  Random random(4);
  while (graphs.size() < count) {
    Json item;
    if (graphs.empty()) {
      graphs.push_back(resnet50());
      item["parent"] = -1;
      item["operations"] = Json::array();
    } else {
      const std::size_t parent = random.below(graphs.size());
      const auto child = random_child(graphs[parent], {}, {}, random);
      if (!child || !seen.insert(describe(child->graph).hash).second) continue;
      graphs.push_back(child->graph);
      item["parent"] = parent;
      item["operations"] = Json::array({to_json(child->operation)});
    }
    item["state"] = "measured";
    item["value"] = 0.6 + 0.15 * static_cast<double>(graphs.back().hash() % 1000) / 1000;
    out.push_back(std::move(item));
  }
  return out;
}

Point measure(const std::vector<Json>& history, std::size_t count) {
  SearchOptions options;
  options.candidates = 100;
  options.explore = 0;     // an exploring proposal examines fewer
  options.max_chain = 20;  // the queue does not run dry
  Json saved = Search(options, {resnet50()}).save();
  for (std::size_t i = 0; i < count; ++i) saved["trials"].push_back(history[i]);
  Point point;
  point.models = static_cast<double>(count);
  const double heap = heap_megabytes();
  double begun = cpu_now();
  Search search = Search::restore(options, saved, "bench");
  search.tell(search.propose().id, 0.7);
  point.prepare_s = cpu_now() - begun;
  point.megabytes = heap_megabytes() - heap;
  std::vector<double> proposals;
  std::vector<double> candidates;
  for (int i = 0; i < kProposals; ++i) {
    const auto before = search.candidates_seen();
    begun = cpu_now();
    search.tell(search.propose().id, 0.65);
    proposals.push_back(cpu_now() - begun);
    const auto looked_at = static_cast<double>(search.candidates_seen() - before);
    candidates.push_back(proposals.back() / std::max(looked_at, 1.0));
  }
  point.proposal_s = *assay::stats::median(proposals);
  point.candidate_s = *assay::stats::median(candidates);
  return point;
}

// Logarithmic axes; colors that also differ in brightness.
class Plot {
 public:
  Plot() {
    out_ = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" "
        "font-family=\"sans-serif\" "
        "font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
        kWidth, kHeight);
    for (int e = kLeft; e <= kRight; ++e) grid(x(std::pow(10, e)), true, std::pow(10, e), "");
    for (int e = kBottom; e <= kTop; ++e) grid(y(std::pow(10, e)), false, std::pow(10, e), " s");
    text(kWidth / 2.0, kHeight - 8, "middle", "models of history");
  }

  void line(const std::vector<std::pair<double, double>>& points, const char* color,
            const std::string& name) {
    std::string path;
    for (const auto& [px, py] : points) {
      path += fmt::format("{}{:.1f},{:.1f}", path.empty() ? "M" : " ", x(px), y(py));
      out_ += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"{}\"/>\n", x(px),
                          y(py), color);
    }
    out_ += fmt::format("<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"/>\n", path,
                        color);
    const double at = 24 + 18 * names_++;
    out_ += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"14\" height=\"4\" fill=\"{}\"/>\n",
                        kMargin + 330, at - 6, color);
    text(kMargin + 350, at, "start", name);
  }

  [[nodiscard]] std::string finish() const { return out_ + "</svg>\n"; }

 private:
  static constexpr int kWidth = 720, kHeight = 420, kMargin = 64;
  static constexpr int kLeft = 1, kRight = 4, kBottom = -4, kTop = 4;  // powers of ten

  static double x(double v) {
    return kMargin + (std::log10(v) - kLeft) / (kRight - kLeft) * (kWidth - kMargin - 24);
  }
  static double y(double v) {
    return kHeight - 48 - (std::log10(v) - kBottom) / (kTop - kBottom) * (kHeight - 48 - 90);
  }
  void text(double at_x, double at_y, const char* anchor, const std::string& value) {
    out_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", at_x,
                        at_y, anchor, value);
  }
  void grid(double at, bool vertical, double value, const char* unit) {
    const double low = y(std::pow(10, kBottom)), high = y(std::pow(10, kTop));
    const double left = x(std::pow(10, kLeft)), right = x(std::pow(10, kRight));
    out_ += fmt::format(
        "<line x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"#ddd\"/>\n",
        vertical ? at : left, vertical ? at : right, vertical ? low : at, vertical ? high : at);
    text(vertical ? at : left - 8, vertical ? low + 18 : at + 4, vertical ? "middle" : "end",
         fmt::format("{:g}{}", value, unit));
  }

  std::string out_;
  int names_ = 0;
};

std::string plot(const std::vector<Point>& points) {
  Plot plot;
  std::vector<std::pair<double, double>> candidates, proposals;
  for (const Point& p : points) candidates.emplace_back(p.models, p.candidate_s);
  for (const Point& p : points) proposals.emplace_back(p.models, p.proposal_s);
  // Measured on one core of an EPYC, with its own Python.
  plot.line({{10, 99}, {30, 250}, {300, 3600}}, "#e08214", "AIPerf: one proposal (300: about)");
  plot.line({{10, 2.5}, {30, 5.2}, {100, 13.2}, {300, 34.4}}, "#b2182b", "AIPerf: one candidate");
  plot.line(proposals, "#67a9cf", "Assay: one proposal of 100 candidates");
  plot.line(candidates, "#2166ac", "Assay: one candidate");
  return plot.finish();
}

}  // namespace

int main(int argc, char** argv) {
  const int most = argc > 2 ? std::atoi(argv[2]) : kHistories.back();
  std::vector<std::size_t> histories;
  for (const int n : kHistories)
    if (n <= most) histories.push_back(static_cast<std::size_t>(n));
  if (histories.empty()) {
    std::fprintf(stderr, "usage: bench_growth [OUT.svg [MOST_MODELS]], MOST_MODELS at least 10\n");
    return 2;
  }
  try {
    const std::vector<Json> history = trials(histories.back());
    std::vector<Point> points;
    std::printf("| models | one candidate | proposal of 100 | memory | taking up the history |\n");
    std::printf("|---|---|---|---|---|\n");
    for (const std::size_t n : histories) {
      points.push_back(measure(history, n));
      const Point& p = points.back();
      std::printf("| %zu | %.2f ms | %.3f s | %.1f MB | %.1f s |\n", n, 1e3 * p.candidate_s,
                  p.proposal_s, p.megabytes, p.prepare_s);
      std::fflush(stdout);
    }
    if (argc < 2) return 0;
    std::ofstream file(argv[1]);
    file << plot(points);
    file.flush();
    if (file) return 0;
    std::fprintf(stderr, "bench_growth: cannot write %s\n", argv[1]);
    return 3;
  } catch (const assay::Error& error) {
    std::fprintf(stderr, "bench_growth: %s\n", error.what());
    return exit_code(error.kind());
  }
}
