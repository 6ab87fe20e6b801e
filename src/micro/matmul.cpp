#include <algorithm>
#include <barrier>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <random>
#include <thread>
#include <vector>

#include "core/time.h"
#include "micro/gemm.h"
#include "micro/workloads.h"
#include "perflog/writer.h"
#include "workload/phase_log.h"
#include "workload/runtime.h"

namespace assay::micro {
namespace {

// A step has as many products as fill this time: under a hundred lines a second are logged.
constexpr double kStepSeconds = 0.01;
// Entries are whole numbers from -4 to 4: any sum of up to 2^20 of their products is exact in a
// float in any order, so a correct result is correct to the last bit.
constexpr int kMaxEntry = 4;
constexpr std::int64_t kMaxSize = 16384;

struct MatmulSettings {
  std::size_t size;
  std::int64_t steps;
  double min_seconds;
  std::size_t threads;
  std::int64_t seed;

  explicit MatmulSettings(workload::Options& options)
      : size(static_cast<std::size_t>(
            options.integer("size", 512, 1, kMaxSize, "rows and columns"))),
        steps(
            options.integer("steps", 0, 0, 1'000'000'000, "0 is as many as fit in `min_seconds`")),
        min_seconds(
            options.number("min_seconds", 5, 0, 1e7, "without `steps`: how long it measures")),
        threads(
            static_cast<std::size_t>(options.integer("threads", 1, 1, 1024, "threads of a rank"))),
        seed(options.integer("seed", 1, 0, 9'007'199'254'740'992, "of the matrices")) {
    static_cast<void>(options.choice("dtype", "f32", {"f32"}, "type of the entries"));
    options.reject_unknown();
  }
};

// Uses eight partial sums, so that the additions need not wait for each other.
template <typename T>
double dot(const float* x, const T* y, std::size_t size) {
  double sums[8] = {};
  std::size_t i = 0;
  for (; i + 8 <= size; i += 8)
    for (std::size_t lane = 0; lane < 8; ++lane)
      sums[lane] += static_cast<double>(x[i + lane]) * static_cast<double>(y[i + lane]);
  double sum = 0;
  for (; i < size; ++i) sum += static_cast<double>(x[i]) * static_cast<double>(y[i]);
  for (const double part : sums) sum += part;
  return sum;
}

class Problem {
 public:
  Problem(std::size_t size, std::uint64_t seed)
      : size_(size),
        random_(seed),
        a_(size * size),
        b_(size * size),
        c_(size * size),
        x_(size),
        bx_(size) {
    for (float& entry : a_) entry = draw();
    for (float& entry : b_) entry = draw();
  }

  /// Changes a, so that the previous product becomes wrong.
  void advance(std::int64_t step) {
    float* row = a_.data() + static_cast<std::size_t>(step) % size_ * size_;
    for (std::size_t i = 0; i < size_; ++i) row[i] = draw();
  }

  void multiply(Gemm& gemm, std::size_t begin, std::size_t end) {
    gemm.multiply(a_.data(), b_.data(), c_.data(), size_, begin, end);
  }

  /// Freivalds' check: the largest |c·x - a·(b·x)| for a new random vector x of ones and minus
  /// ones. Zero for the right product; it always finds a single wrong entry, and misses a wrong row
  /// with a chance of at most one half per step.
  [[nodiscard]] double residual() {
    for (float& entry : x_) entry = (random_() & 1U) != 0 ? 1.0F : -1.0F;
    for (std::size_t i = 0; i < size_; ++i) bx_[i] = dot(b_.data() + i * size_, x_.data(), size_);
    double largest = 0;
    for (std::size_t i = 0; i < size_; ++i) {
      const double difference = dot(c_.data() + i * size_, x_.data(), size_) -
                                dot(a_.data() + i * size_, bx_.data(), size_);
      if (!(std::abs(difference) <= largest)) largest = std::abs(difference);
    }
    return largest;
  }

 private:
  float draw() {
    const auto entry = static_cast<int>(random_() % (2 * kMaxEntry + 1)) - kMaxEntry;
    return static_cast<float>(entry);
  }

  std::size_t size_;
  std::mt19937_64 random_;
  std::vector<float> a_;
  std::vector<float> b_;
  std::vector<float> c_;
  std::vector<float> x_;
  std::vector<double> bx_;
};

// The calling thread and its helpers, each with its share of the rows.
class Team {
 public:
  Team(Problem& problem, std::size_t size, std::size_t threads)
      : problem_(problem),
        size_(size),
        gemms_(threads),
        start_(static_cast<std::ptrdiff_t>(threads)),
        done_(static_cast<std::ptrdiff_t>(threads)) {
    for (std::size_t i = 1; i < threads; ++i)
      helpers_.emplace_back([this, i] {
        for (;;) {
          start_.arrive_and_wait();
          if (over_) return;
          work(i);
          done_.arrive_and_wait();
        }
      });
  }
  ~Team() {
    over_ = true;
    start_.arrive_and_wait();
  }
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  /// Computes one product; returns the seconds it took.
  double multiply() {
    const std::int64_t begin = mono_now_ns();
    start_.arrive_and_wait();
    work(0);
    done_.arrive_and_wait();
    return seconds(Nanoseconds(mono_now_ns() - begin));
  }

  [[nodiscard]] std::string_view kernel() const { return gemms_.front().kernel(); }

 private:
  void work(std::size_t index) {
    const std::size_t threads = gemms_.size();
    problem_.multiply(gemms_[index], size_ * index / threads, size_ * (index + 1) / threads);
  }

  Problem& problem_;
  std::size_t size_;
  std::vector<Gemm> gemms_;
  bool over_ = false;  // written before and read after the start barrier
  std::barrier<> start_;
  std::barrier<> done_;
  std::vector<std::jthread> helpers_;
};

int run_matmul(const MatmulSettings& settings, const workload::Place& place, perflog::Writer& log) {
  const std::int64_t begin = mono_now_ns();
  log.init_start();
  workload::PhaseLog phases(log);
  Problem problem(settings.size, static_cast<std::uint64_t>(settings.seed) +
                                     static_cast<std::uint64_t>(place.rank));
  phases.end("data");
  Team team(problem, settings.size, settings.threads);
  const double n = static_cast<double>(settings.size);
  const double flops = 2 * n * n * n;
  team.multiply();  // warms up caches and clocks
  const double once = std::max(1e-7, std::min(team.multiply(), team.multiply()));
  const auto products =
      static_cast<std::int64_t>(std::clamp(std::round(kStepSeconds / once), 1.0, 100000.0));
  log.init_end();

  log.train_start();
  const std::int64_t start = mono_now_ns();
  double peak = 0;
  double compute = 0;
  double largest = 0;
  std::int64_t done = 0;
  while (workload::stop_signal() == 0) {
    if (settings.steps > 0
            ? done >= settings.steps
            : done > 0 && seconds(Nanoseconds(mono_now_ns() - start)) >= settings.min_seconds)
      break;
    problem.advance(done++);
    double taken = 0;
    for (std::int64_t i = 0; i < products; ++i) taken += team.multiply();
    compute += taken;
    peak = std::max(peak, flops * static_cast<double>(products) / taken);
    const double residual = problem.residual();
    if (!(residual <= largest)) largest = residual;
    perflog::Step step;
    step.loss = residual;
    step.samples = static_cast<double>(products);
    step.flops = flops * static_cast<double>(products);
    step.compute_s = taken;
    log.step_end(done, step);
    if (!(residual == 0)) {
      std::fprintf(stderr,
                   "assay-micro: step %lld: the matrix product is wrong (residual %g, must be 0): "
                   "this machine computes wrongly; test its CPU and memory\n",
                   static_cast<long long>(done), residual);
      return 1;
    }
  }
  const std::int64_t end = mono_now_ns();
  log.train_end();
  if (workload::stop_signal() == 0)
    log.finished({{"e2e_time", seconds(Nanoseconds(end - begin))},
                  {"train_time", seconds(Nanoseconds(end - start))},
                  {"pure_training_computing_time", compute},
                  {"final_residual", largest},
                  {"peak_flops", peak},
                  {"kernel", team.kernel()},
                  {"world_size", place.world_size}});
  return workload::exit_code(log);
}

}  // namespace

workload::Workload matmul_workload() {
  return workload::single_workload("matmul", run_matmul);
}

}  // namespace assay::micro
