// Runs the kernels that training uses over many shapes, against plain loops and in guarded memory,
// and names those that are wrong, write beside their memory or crash, with oneDNN's kernels. Not a
// test: it takes minutes. With --libtorch it shows what train/models/convolution.cpp is there for.
// usage: ONEDNN_MAX_CPU_ISA=SSE41|AVX2|AVX512_CORE sweep_kernels [--libtorch] [--help] ...
#include <csignal>
#include <cstdio>
#include <random>
#include <sstream>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernels/guarded_memory.h"
#include "kernels/kernel_cases.h"

namespace assay::testing {
namespace {

torch::Tensor libtorch_convolution(const torch::Tensor& x, const torch::Tensor& w,
                                   const torch::Tensor& bias, const ConvolutionShape& s) {
  return torch::conv2d(x, w, bias, s.stride, s.padding, s.dilation, s.groups);
}

bool is_possible(const ConvolutionShape& s) {
  return s.in % s.groups == 0 && s.out % s.groups == 0 &&
         s.height + 2 * s.padding > s.dilation * (s.kernel - 1) &&
         s.width + 2 * s.padding > s.dilation * (s.kernel - 1);
}

// Numbers of channels that end a vector somewhere, and some that fill it.
constexpr std::int64_t kChannels[] = {1,  2,  3,  4,  5,  6,  7,  8,  9,  12, 15,
                                      16, 17, 20, 24, 31, 32, 33, 40, 48, 64, 70};

// Every pair of numbers of channels, with every window. Of sizes there is one that a stride of 2
// divides and one that it does not: that decides among oneDNN's kernels.
void add_pairs(std::vector<KernelCase>& cases, torch::ScalarType type,
               const Convolve& convolve_with) {
  for (const Layout layout : {Layout::nhwc, Layout::nchw})
    for (const std::int64_t kernel : {1, 3, 5, 7})
      for (const std::int64_t stride : {1, 2})
        for (const std::int64_t size : {5, 6})
          for (const std::int64_t in : kChannels)
            for (const std::int64_t out : kChannels) {
              ConvolutionShape s;
              s.in = in;
              s.out = out;
              s.height = s.width = size;
              s.kernel = kernel;
              s.stride = stride;
              s.padding = kernel / 2;
              cases.push_back(convolution_case(s, layout, type, convolve_with));
            }
}

// 1×1 with a stride that divides the size, for which oneDNN has a way of its own.
void add_strided(std::vector<KernelCase>& cases, torch::ScalarType type,
                 const Convolve& convolve_with) {
  for (const std::int64_t stride : {2, 3})
    for (const std::int64_t size : {1, 2, 7, 14})
      for (const std::int64_t batch : {2, 17})
        for (const std::int64_t out : {1, 8, 20, 64})
          for (const std::int64_t in : kChannels) {
            ConvolutionShape s;
            s.batch = batch;
            s.in = in;
            s.out = out;
            s.height = s.width = size * stride;
            s.kernel = 1;
            s.stride = stride;
            cases.push_back(convolution_case(s, Layout::nhwc, type, convolve_with));
          }
}

void add_random(std::vector<KernelCase>& cases, int count, std::uint64_t seed,
                torch::ScalarType type, const Convolve& convolve_with, bool only_plain) {
  std::mt19937_64 random(seed);
  const auto one_of = [&](std::initializer_list<std::int64_t> values) {
    return *(values.begin() + static_cast<std::ptrdiff_t>(random() % values.size()));
  };
  while (count > 0) {
    ConvolutionShape s;
    s.batch = one_of({1, 2, 2, 3, 5, 16, 17});
    s.in = static_cast<std::int64_t>(1 + random() % 70);
    s.out = static_cast<std::int64_t>(1 + random() % 70);
    s.height = static_cast<std::int64_t>(1 + random() % 17);
    s.width = random() % 2 == 0 ? s.height : static_cast<std::int64_t>(1 + random() % 33);
    s.kernel = one_of({1, 1, 1, 3, 3, 5, 7});
    s.stride = one_of({1, 1, 2, 2, 3, 4});
    s.padding = random() % 4 == 0 ? 0 : s.kernel / 2;
    s.dilation = only_plain || random() % 8 != 0 ? 1 : 2;
    if (!only_plain && random() % 6 == 0) {  // depthwise, or some groups
      s.groups = random() % 2 == 0 ? s.in : one_of({2, 3, 4, 8});
      s.in = (s.in + s.groups - 1) / s.groups * s.groups;
      s.out = random() % 2 == 0 ? s.in : (s.out + s.groups - 1) / s.groups * s.groups;
    }
    if (!is_possible(s)) continue;
    const Layout layout = random() % 4 == 0 ? Layout::nchw : Layout::nhwc;
    cases.push_back(convolution_case(s, layout, type, convolve_with));
    --count;
  }
}

void add_others(std::vector<KernelCase>& cases, int count, std::uint64_t seed,
                torch::ScalarType type) {
  std::mt19937_64 random(seed);
  const auto below = [&](std::uint64_t limit) {
    return static_cast<std::int64_t>(1 + random() % limit);
  };
  for (int i = 0; i < count; ++i) {
    cases.push_back(linear_case(below(40), below(140), below(140), type));
    ConvolutionShape s;
    s.batch = below(5);
    s.in = s.out = below(70);
    s.height = below(12);
    s.width = below(12);
    s.kernel = below(4);
    s.stride = below(3);
    s.padding = s.kernel / 2;
    if (is_possible(s)) cases.push_back(pool_case(s));
  }
}

// In memory that the processes share, so that it outlives one that dies.
struct Shared {
  std::atomic<std::size_t> current;  // the case that is running
  std::atomic<std::uint64_t> damaged;
  char problem[200];  // of the case that is running
};

// A kernel that does not end is ended: by the time that it computes, which other programs on the
// machine do not lengthen, and in the end by the clock, because one may wait for ever.
void limit_time() {
  itimerval computing{};
  computing.it_value.tv_sec = 20;
  ::setitimer(ITIMER_PROF, &computing, nullptr);
  ::alarm(600);
}

struct Sweep {
  std::vector<KernelCase> cases;
  int threads = 2;
  bool explain = false;
  Shared* shared = nullptr;

  // In a child: cases from `first` on, until one has a problem.
  [[noreturn]] void work(std::size_t first, std::size_t end) const {
    at::set_num_threads(threads);
    for (std::size_t i = first; i < end; ++i) {
      shared->current = i;
      limit_time();
      guard_memory(true);
      std::string problem;
      try {
        problem = cases[i].run();
      } catch (const std::exception& error) {
        problem = "throws: " + train::first_line(error);
      }
      guard_memory(false);
      if (const auto blocks = damaged_blocks(); blocks > 0)
        problem += fmt::format("wrote beside {} blocks of memory", blocks);
      if (problem.empty()) continue;
      const auto length = problem.copy(shared->problem, sizeof shared->problem - 1);
      shared->problem[length] = '\0';
      ::_exit(1);
    }
    ::_exit(0);
  }

  // The problem of the first case from `first` on that has one; then `first` is that case.
  std::string next_problem(std::size_t& first, std::size_t end) const {
    shared->problem[0] = '\0';
    const pid_t child = ::fork();
    if (child == 0) work(first, end);
    int status = 0;
    ::waitpid(child, &status, 0);
    first = shared->current;
    if (WIFSIGNALED(status)) return fmt::format("dies: {}", ::strsignal(WTERMSIG(status)));
    if (WEXITSTATUS(status) == 0) first = end;
    return shared->problem;
  }

  // oneDNN's kernels, as it names them when it runs them.
  [[nodiscard]] std::string kernels_of(std::size_t index) const {
    std::FILE* const file = std::tmpfile();
    const pid_t child = ::fork();
    if (child == 0) {
      ::dup2(::fileno(file), STDOUT_FILENO);
      ::setenv("DNNL_VERBOSE", "1", 1);
      at::set_num_threads(threads);
      try {
        static_cast<void>(cases[index].run());
      } catch (const std::exception&) {
      }
      std::fflush(stdout);
      ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    std::rewind(file);
    std::string found;
    char line[1000];
    while (std::fgets(line, sizeof line, file) != nullptr) {
      // onednn_verbose,exec,cpu,convolution,jit_1x1:avx2,backward_data,...
      std::vector<std::string> fields;
      std::stringstream text(line);
      for (std::string field; std::getline(text, field, ',');) fields.push_back(field);
      if (fields.size() > 5 && fields[1] == "exec" && fields[3] != "reorder")
        found += fmt::format(" {}/{}", fields[4], fields[5]);
    }
    std::fclose(file);
    return found;
  }

  int run() {
    std::size_t problems = 0;
    for (std::size_t first = 0; first < cases.size(); ++first) {
      const std::size_t end = cases.size();
      const std::string problem = next_problem(first, end);
      if (first == end) break;
      ++problems;
      fmt::print("{}: {}{}\n", cases[first].name, problem,
                 explain ? " |" + kernels_of(first) : std::string());
      std::fflush(stdout);
    }
    fmt::print("{} cases, {} with problems\n", cases.size(), problems);
    return problems == 0 ? 0 : 1;
  }
};

int sweep_main(int argc, char** argv) {
  CLI::App app("Runs the kernels of training over many shapes, in guarded memory");
  Sweep sweep;
  int random = 4000;
  int others = 500;
  std::uint64_t seed = 1;
  bool pairs = true;
  bool strided = true;
  bool bf16 = false;
  bool libtorch = false;
  std::string only;
  app.add_option("--threads", sweep.threads, "of libtorch")->capture_default_str();
  app.add_option("--random", random, "convolutions of random shapes")->capture_default_str();
  app.add_option("--others", others, "dense layers, and pools")->capture_default_str();
  app.add_option("--seed", seed, "of the random shapes")->capture_default_str();
  app.add_flag("--pairs,!--no-pairs", pairs, "all pairs of numbers of channels");
  app.add_flag("--strided,!--no-strided", strided, "1x1 with strides");
  app.add_flag("--bf16", bf16, "in bfloat16, which needs AVX-512");
  app.add_flag("--explain", sweep.explain, "name oneDNN's kernels of each problem");
  app.add_flag("--libtorch", libtorch, "libtorch's convolutions, and not those of train/models");
  app.add_option("--only", only, "cases whose name has this in it");
  CLI11_PARSE(app, argc, argv);
  if (!guard_memory(false)) fmt::print("this build cannot guard memory\n");
  const torch::ScalarType type = bf16 ? torch::kBFloat16 : torch::kFloat;
  const Convolve convolve_with = libtorch ? libtorch_convolution : train_convolution;
  if (pairs) add_pairs(sweep.cases, type, convolve_with);
  if (strided) add_strided(sweep.cases, type, convolve_with);
  add_random(sweep.cases, random, seed, type, convolve_with, !libtorch);
  add_others(sweep.cases, others, seed, type);
  std::erase_if(sweep.cases,
                [&](const KernelCase& one) { return one.name.find(only) == std::string::npos; });
  void* const shared =
      ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) throw std::runtime_error("mmap failed");
  sweep.shared = new (shared) Shared{};
  return sweep.run();
}

}  // namespace
}  // namespace assay::testing

int main(int argc, char** argv) {
  return assay::testing::sweep_main(argc, argv);
}
