// One rank of a test of train/parallel: worker MODE [ARGUMENTS]; its place is in the environment.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <string>
#include <thread>

#include <signal.h>
#include <unistd.h>

#include "core/error.h"
#include "train/optim/optimizer.h"
#include "train/parallel/communicator.h"
#include "train/parallel/reducer.h"
#include "workload/place.h"

namespace {

using namespace assay::train;

Communicator::Options quick() {
  Communicator::Options options;
  options.membership.join = std::chrono::seconds(5);
  options.membership.beat = std::chrono::milliseconds(100);
  options.membership.silence = std::chrono::seconds(2);
  options.membership.diagnosis = std::chrono::seconds(3);
  options.timeout = std::chrono::seconds(30);
  return options;
}

void lost(const assay::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  std::_Exit(5);
}

torch::nn::Sequential make_model() {
  torch::manual_seed(5);
  return torch::nn::Sequential(torch::nn::Linear(8, 300), torch::nn::Tanh(),
                               torch::nn::Linear(300, 200), torch::nn::Tanh(),
                               torch::nn::Linear(200, 3));
}

// Three steps over 24 samples, split over the ranks and `accumulation` backwards; writes the
// parameters.
int gradients(Communicator& communicator, std::int64_t accumulation, const std::string& output) {
  torch::nn::Sequential model = make_model();
  if (communicator.rank() != 0) {
    torch::NoGradGuard no_grad;
    for (auto& parameter : model->parameters()) parameter.zero_();  // the broadcast must repair it
  }
  FlatParameters flat(*model, false);
  communicator.broadcast(flat.values());
  GradientReducer reducer(flat, communicator, 64 << 10);
  OptimizerOptions options;
  Optimizer optimizer(flat, options);
  torch::manual_seed(6);
  const torch::Tensor x = torch::randn({24, 8});
  const torch::Tensor y = torch::randint(0, 3, {24}, torch::kLong);
  const std::int64_t share = 24 / communicator.world_size();
  const std::int64_t rows = share / accumulation;
  for (int step = 0; step < 3; ++step) {
    flat.zero_gradients();
    for (std::int64_t part = 0; part < accumulation; ++part) {
      const std::int64_t begin = communicator.rank() * share + part * rows;
      reducer.begin(part + 1 == accumulation);
      const torch::Tensor loss = torch::cross_entropy_loss(
          model->forward(x.slice(0, begin, begin + rows)), y.slice(0, begin, begin + rows));
      (loss / static_cast<double>(accumulation * communicator.world_size())).backward();
    }
    if (communicator.world_size() > 1 && reducer.overlapped() == 0) return 9;
    reducer.finish();
    optimizer.step(0.1);
  }
  std::ofstream file(output + "." + std::to_string(communicator.rank()), std::ios::binary);
  for (const FlatParameters::Entry& entry : flat.entries())
    file.write(
        reinterpret_cast<const char*>(FlatParameters::part(flat.values(), entry).data_ptr<float>()),
        entry.size * 4);
  return file.good() ? 0 : 1;
}

// All-reduces until something happens; the rank given ends without a word, leaves, fails or stops
// to answer.
int collapse(Communicator& communicator, const std::string& how, int culprit) {
  const torch::Tensor tensor = torch::ones({1000});
  for (int i = 0; i < 100000; ++i) {
    if (i == 5 && communicator.rank() == culprit) {
      if (how == "die") std::_Exit(77);
      if (how == "leave") return 0;
      if (how == "stop") ::kill(::getpid(), SIGSTOP);
      if (how == "fail") throw assay::Error(assay::ErrorKind::environment, "the disk burns");
    }
    communicator.wait(communicator.all_reduce(tensor));
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  at::set_num_threads(1);
  const std::string mode = argc > 1 ? argv[1] : "";
  try {
    const assay::workload::Place place = assay::workload::place_from_environment();
    Communicator::Options options = quick();
    if (mode == "terms")
      options.membership.terms = "size: 1\nflavour: " + std::to_string(place.rank / 2) + "\n";
    Communicator communicator(place, torch::kCPU, options, lost);
    try {
      if (mode == "gradients") return gradients(communicator, std::atoi(argv[2]), argv[3]);
      if (mode == "collapse") return collapse(communicator, argv[2], std::atoi(argv[3]));
      if (mode == "agree") {
        communicator.agree("a sun of size", 5);
        communicator.agree("a moon of size", place.rank == 1 ? 7 : 6);
        return 0;
      }
      if (mode == "pipe") {
        ::raise(SIGPIPE);  // as Gloo's write to a rank that has gone does
        return 0;
      }
      if (mode == "sum") {
        const std::vector<std::int64_t> sums =
            communicator.sum(std::vector<std::int64_t>{place.rank, (1LL << 60) + place.rank});
        std::printf("%lld %lld\n", static_cast<long long>(sums[0]),
                    static_cast<long long>(sums[1]));
        return 0;
      }
    } catch (const assay::Error& error) {
      if (error.kind() != assay::ErrorKind::round_failed)
        communicator.report_failure(error.message());
      throw;
    }
  } catch (const assay::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return assay::exit_code(error.kind());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "unexpected: %s\n", error.what());
    return 1;
  }
  return 2;
}
