// Trainings of a language model on meshes of ranks: whatever shares the model, its losses are those
// of one rank; a rank that is lost is named.
#include <cmath>
#include <cstring>
#include <tuple>

#include <gmock/gmock.h>

#include "core/files.h"
#include "program_test.h"

namespace assay::train {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class MeshTest : public ProgramTest {
 protected:
  // Losses of `steps` steps on one rank, and how far sums in another order may move them.
  //
  // The tolerance is derived from the training itself. A mesh computes the same sums as one rank in
  // another order, and so does one rank that takes a step's samples in 2, 4 or 8 backwards: what
  // these differ by is rounding and what AdamW and the model make of it, step by step. Each of
  // these runs is one draw of that error. A mesh reorders more sums than they do: those over heads,
  // inner columns and words as well as those over samples, all together at most 64 times as many
  // terms (2 of 32 rows in attention, 384 inner columns, 64 words), whose errors add like a random
  // walk, √64 = 8. To that comes one unit in the last place of the loss itself, 2⁻²³ of it, for
  // each rank that a mean is over.
  struct Expected {
    std::vector<double> losses;
    std::vector<double> tolerance;
  };
  Expected expected(const std::string& workload, const std::string& text) {
    Expected out;
    for (const int parts : {1, 2, 4, 8}) {
      const CommandResult result =
          train(workload, text + "device: cpu\nbatch_size: " + std::to_string(8 / parts) +
                              "\naccumulation: " + std::to_string(parts) + "\n");
      if (!result.status.ok()) throw std::runtime_error(result.err);
      const std::vector<double> got = losses(result);
      if (parts == 1) {
        out.losses = got;
        out.tolerance.assign(got.size(), 0);
      }
      for (std::size_t i = 0; i < got.size(); ++i)
        out.tolerance[i] = std::max(out.tolerance[i], std::abs(got[i] - out.losses[i]));
    }
    double most = 0;  // it does not become less
    for (std::size_t i = 0; i < out.tolerance.size(); ++i) {
      most = std::max(most, out.tolerance[i]);
      out.tolerance[i] = 8 * most + 4 * std::ldexp(out.losses[i], -23);
      // Far below what a mistake does: a step changes the loss by tenths.
      EXPECT_LT(out.tolerance[i], 5e-4) << "step " << i + 1;
    }
    return out;
  }

  void expect_same(const Expected& expected, const std::string& workload, const std::string& text,
                   int ranks) {
    const std::vector<CommandResult> results = train_ranks(workload, text, ranks);
    std::vector<std::vector<double>> all;
    for (const CommandResult& rank : results) {
      ASSERT_TRUE(rank.status.ok()) << text << rank.err;
      all.push_back(losses(rank));
    }
    const std::vector<double> mean = mean_losses(all);
    ASSERT_EQ(mean.size(), expected.losses.size()) << text;
    for (std::size_t i = 0; i < mean.size(); ++i)
      EXPECT_NEAR(mean[i], expected.losses[i], expected.tolerance[i]) << text << "step " << i + 1;
  }

  static constexpr const char* kSteps = "epochs: 0\nmax_steps: 8\nclip_norm: 0.5\n";
  // kTokens without a size of what is evaluated.
  static constexpr const char* kSequences =
      "train_size: 96\neval_batch_size: 8\nthreads: 1\nloader_threads: 1\nwarmup_steps: 2\n"
      "sequence: 32\n";
};

TEST_F(MeshTest, TwoRanksHaveTheLossesOfOne) {
  const std::string text = std::string(kTokens) + kSteps;
  const Expected one = expected("llama-tiny", text);
  for (const char* mesh :
       {"batch_size: 4\n", "batch_size: 4\nzero: 1\n", "batch_size: 4\nzero: 2\n",
        "batch_size: 4\nzero: 3\n", "batch_size: 4\nzero: 3\nmicro_batches: 2\nrecompute: full\n",
        "batch_size: 2\naccumulation: 2\nzero: 2\n", "batch_size: 8\ntensor_parallel: 2\n",
        "batch_size: 8\ntensor_parallel: 2\nmicro_batches: 2\nrecompute: full\n",
        "batch_size: 8\npipeline_parallel: 2\n",
        "batch_size: 8\npipeline_parallel: 2\nmicro_batches: 4\n",
        "batch_size: 4\naccumulation: 2\npipeline_parallel: 2\nmicro_batches: 2\n"})
    expect_same(one, "llama-tiny", text + mesh, 2);
}

TEST_F(MeshTest, FourRanksHaveTheLossesOfOne) {
  const std::string text = std::string(kTokens) + kSteps + "layers: 4\ntied: no\nqk_norm: true\n";
  const Expected one = expected("llama-tiny", text);
  for (const char* mesh :
       {"batch_size: 4\ntensor_parallel: 2\n", "batch_size: 4\ntensor_parallel: 2\nzero: 1\n",
        "batch_size: 8\ntensor_parallel: 2\npipeline_parallel: 2\nmicro_batches: 2\n",
        "batch_size: 4\npipeline_parallel: 2\nmicro_batches: 4\nzero: 1\n",
        "batch_size: 4\ntensor_parallel: 2\nzero: 3\n",
        "batch_size: 4\npipeline_parallel: 2\nmicro_batches: 2\nzero: 2\n",
        "batch_size: 2\nzero: 3\n", "batch_size: 8\npipeline_parallel: 4\nmicro_batches: 8\n"})
    expect_same(one, "llama-tiny", text + mesh, 4);
}

TEST_F(MeshTest, DocumentsAreKeptApartOnAMeshToo) {
  const std::string text = std::string(kTokens) + kSteps + "cross_documents: false\n";
  const Expected one = expected("llama-tiny", text);
  expect_same(one, "llama-tiny",
              text + "batch_size: 8\ntensor_parallel: 2\npipeline_parallel: 2\nmicro_batches: 2\n",
              4);
}

// Not every version of Gloo knows the type. A loss may move by its last place in bf16.
TEST_F(MeshTest, MeshesTrainInBf16Too) {
  const std::string text = std::string(kTokens) + "epochs: 0\nmax_steps: 3\nprecision: bf16\n";
  for (const auto& [workload, mesh, ranks] :
       {std::tuple("llama-tiny", "batch_size: 8\ntensor_parallel: 2\n", 2),
        std::tuple("llama-tiny",
                   "batch_size: 8\ntensor_parallel: 2\npipeline_parallel: 2\nmicro_batches: 2\n",
                   4),
        std::tuple("llama-tiny", "batch_size: 4\nzero: 3\n", 2),
        std::tuple("moe-tiny", "batch_size: 4\nexpert_parallel: 2\n", 2),
        std::tuple("moe-tiny", "batch_size: 4\nexpert_parallel: 2\ntensor_parallel: 2\n", 4)}) {
    const CommandResult one = train(workload, text + "device: cpu\nbatch_size: 8\n");
    ASSERT_TRUE(one.status.ok()) << one.err;
    Expected expected{losses(one), {}};
    for (const double loss : expected.losses) expected.tolerance.push_back(std::ldexp(loss, -8));
    expect_same(expected, workload, text + mesh, ranks);
  }
}

TEST_F(MeshTest, AMixtureHasTheLossesOfOneRank) {
  const std::string text = std::string(kTokens) + kSteps;
  const Expected one = expected("moe-tiny", text);
  expect_same(one, "moe-tiny", text + "batch_size: 4\nexpert_parallel: 2\n", 2);
  expect_same(one, "moe-tiny", text + "batch_size: 8\ntensor_parallel: 2\n", 2);
  expect_same(one, "moe-tiny", text + "batch_size: 8\npipeline_parallel: 2\nmicro_batches: 2\n", 2);
  expect_same(one, "moe-tiny", text + "batch_size: 2\nexpert_parallel: 4\n", 4);
  expect_same(one, "moe-tiny", text + "batch_size: 2\nexpert_parallel: 2\n", 4);
  expect_same(one, "moe-tiny", text + "batch_size: 4\nexpert_parallel: 2\ntensor_parallel: 2\n", 4);
  expect_same(one, "moe-tiny",
              text + "batch_size: 4\nexpert_parallel: 2\npipeline_parallel: 2\nmicro_batches: 2\n",
              4);
}

TEST_F(MeshTest, AMixtureThatIsSharedOutHasTheLossesOfOneRank) {
  const std::string text = std::string(kTokens) + kSteps;
  const Expected one = expected("moe-tiny", text);
  expect_same(one, "moe-tiny", text + "batch_size: 4\nzero: 3\n", 2);
  expect_same(one, "moe-tiny", text + "batch_size: 4\nexpert_parallel: 2\nzero: 3\n", 2);
  expect_same(one, "moe-tiny", text + "batch_size: 2\nexpert_parallel: 2\nzero: 1\n", 4);
  expect_same(one, "moe-tiny", text + "batch_size: 2\nexpert_parallel: 2\nzero: 3\n", 4);
  expect_same(one, "moe-tiny",
              text + "batch_size: 4\nexpert_parallel: 2\ntensor_parallel: 2\nzero: 2\n", 4);
}

TEST_F(MeshTest, AMixtureGoesOnWithAnotherMesh) {
  const std::string text = std::string(kTokens) +
                           "epochs: 0\nmax_steps: 9\ncheckpoint_every: 6\nresume: true\n"
                           "checkpoint: " +
                           (folder_.path() / "checkpoints").string() + "\n";
  const auto shared =
      train_ranks("moe-tiny", text + "batch_size: 2\nexpert_parallel: 2\nzero: 3\n", 4);
  std::vector<std::vector<double>> all;
  for (const CommandResult& rank : shared) {
    ASSERT_TRUE(rank.status.ok()) << rank.err;
    all.push_back(losses(rank));
  }
  std::ofstream(folder_.path() / "checkpoints/latest") << "6\n";
  const CommandResult one = train("moe-tiny", text + "device: cpu\nbatch_size: 8\n");
  ASSERT_TRUE(one.status.ok()) << one.err;
  const std::vector<double> went_on = losses(one);
  ASSERT_EQ(went_on.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(went_on[i], mean_losses(all)[6 + i], 1e-4);
}

// Whoever has no batch left takes part all the same: the others need its part of the parameters.
TEST_F(MeshTest, RanksWithFewerBatchesToEvaluateDoNotHoldUpTheOthers) {
  const std::string text = std::string(kSequences) + "eval_size: 17\nepochs: 0\nmax_steps: 1\n";
  const CommandResult one = train("llama-tiny", text + "device: cpu\nbatch_size: 8\n");
  ASSERT_TRUE(one.status.ok()) << one.err;
  for (const CommandResult& rank :
       train_ranks("llama-tiny", text + "batch_size: 4\nzero: 3\ncollective_timeout_s: 60\n", 2)) {
    ASSERT_TRUE(rank.status.ok()) << rank.err;
    EXPECT_NEAR(events(rank, "FINISHED")[0].at("value").at("final_eval_loss").get<double>(),
                events(one, "FINISHED")[0].at("value").at("final_eval_loss").get<double>(), 1e-4);
  }
}

TEST_F(MeshTest, EvaluationsAndSamplesAreCountedOnce) {
  const std::string text = std::string(kTokens) + kSteps;
  const CommandResult one = train("llama-tiny", text + "device: cpu\nbatch_size: 8\n");
  ASSERT_TRUE(one.status.ok()) << one.err;
  const Json alone = events(one, "FINISHED")[0].at("value");
  const auto ranks = train_ranks(
      "llama-tiny", text + "batch_size: 8\ntensor_parallel: 2\npipeline_parallel: 2\n", 4);
  double samples = 0;
  for (const CommandResult& rank : ranks) {
    ASSERT_TRUE(rank.status.ok()) << rank.err;
    const Json own = events(rank, "FINISHED")[0].at("value");
    EXPECT_NEAR(own.at("final_eval_loss").get<double>(), alone.at("final_eval_loss").get<double>(),
                1e-4);
    EXPECT_EQ(own.at("num_trained_samples"), 64);
    EXPECT_EQ(own.at("train_samples"), alone.at("train_samples"));
    for (const Json& step : events(rank, "STEP_END"))
      samples += step.at("value").at("samples").get<double>();
  }
  EXPECT_EQ(samples, 64);
}

TEST_F(MeshTest, StagesLogWhatTheyWaitForEachOther) {
  const std::string text = std::string(kTokens) + kSteps + "batch_size: 8\nmicro_batches: 4\n";
  for (const CommandResult& rank : train_ranks("llama-tiny", text + "pipeline_parallel: 2\n", 2)) {
    ASSERT_TRUE(rank.status.ok()) << rank.err;
    for (const Json& step : events(rank, "STEP_END")) {
      const Json& value = step.at("value");
      EXPECT_GT(value.at("bubble_s").get<double>(), 0);
      EXPECT_LE(value.at("bubble_s").get<double>(), value.at("comm_s").get<double>() + 1e-9);
      EXPECT_GE(value.at("compute_s").get<double>(), 0);
    }
    EXPECT_EQ(events(rank, "FINISHED")[0].at("value").at("micro_batches"), 4);
  }
  for (const CommandResult& rank : train_ranks("llama-tiny", text, 2)) {
    ASSERT_TRUE(rank.status.ok()) << rank.err;
    EXPECT_FALSE(events(rank, "STEP_END")[0].at("value").contains("bubble_s"));
  }
}

TEST_F(MeshTest, ATrainingGoesOnWithAnotherMesh) {
  const std::string text =
      std::string(kTokens) + "epochs: 0\nmax_steps: 9\ncheckpoint_every: 6\nresume: true\n";
  const std::string folder = (folder_.path() / "checkpoints").string();
  const std::string there = "checkpoint: " + folder + "\n";
  const auto go_on_at = [&](const char* step) {
    std::ofstream(folder + "/latest") << step << "\n";
  };
  const CommandResult one = train("llama-tiny", text + "device: cpu\nbatch_size: 8\n" + there);
  ASSERT_TRUE(one.status.ok()) << one.err;
  const std::vector<double> expected = losses(one);

  const auto expect_end = [&](const std::vector<CommandResult>& ranks, const std::string& how) {
    std::vector<std::vector<double>> all;
    for (const CommandResult& rank : ranks) {
      ASSERT_TRUE(rank.status.ok()) << how << rank.err;
      all.push_back(losses(rank));
    }
    const std::vector<double> went_on = mean_losses(all);
    ASSERT_EQ(went_on.size(), 3) << how;
    for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(went_on[i], expected[6 + i], 1e-4) << how;
  };
  for (const char* mesh :
       {"batch_size: 8\ntensor_parallel: 2\n", "batch_size: 8\npipeline_parallel: 2\n"}) {
    go_on_at("6");
    expect_end(train_ranks("llama-tiny", text + there + mesh, 2), mesh);
  }
  // What a mesh has written, by another one and by one rank.
  std::filesystem::remove_all(folder);
  const auto two =
      train_ranks("llama-tiny", text + there + "batch_size: 4\ntensor_parallel: 2\nzero: 1\n", 4);
  for (const CommandResult& rank : two) ASSERT_TRUE(rank.status.ok()) << rank.err;
  go_on_at("6");
  expect_end({train("llama-tiny", text + "device: cpu\nbatch_size: 8\n" + there)}, "one rank");
  go_on_at("6");
  expect_end(train_ranks("llama-tiny", text + there + "batch_size: 4\nzero: 3\n", 2), "ZeRO 3");
  go_on_at("6");
  expect_end(
      train_ranks("llama-tiny",
                  text + there + "batch_size: 8\npipeline_parallel: 2\nmicro_batches: 2\n", 2),
      "a pipeline");
}

TEST_F(MeshTest, AMeshThatDoesNotDivideIsRefusedWithWhatWould) {
  const std::string text = "train_size: 96\neval_size: 16\nthreads: 1\nepochs: 0\nmax_steps: 1\n";
  const auto refusal = [&](const std::string& mesh, int ranks) {
    const CommandResult result = train_ranks("llama-tiny", text + mesh, ranks)[0];
    EXPECT_EQ(result.status.code, 2) << mesh << result.err;
    return result.err;
  };
  EXPECT_THAT(refusal("tensor_parallel: 3\n", 2),
              AllOf(HasSubstr("2 ranks cannot be shared by tensor_parallel 3"),
                    HasSubstr("start a multiple of 3 ranks")));
  EXPECT_THAT(refusal("tensor_parallel: 4\n", 4),
              HasSubstr("2 heads of keys and values cannot be shared by 4"));
  EXPECT_THAT(refusal("pipeline_parallel: 3\n", 3), HasSubstr("2 layers cannot be shared by 3"));
  EXPECT_THAT(refusal("expert_parallel: 2\n", 2), HasSubstr("there are no experts"));
  EXPECT_THAT(refusal("batch_size: 8\nmicro_batches: 3\n", 1),
              HasSubstr("a batch of 8 cannot be cut into 3 parts"));
  EXPECT_THAT(refusal("sequence: 33\ntensor_parallel: 2\n", 2),
              HasSubstr("33 tokens of a sequence cannot be shared by 2"));
}

TEST_F(MeshTest, CollectivesReportTheBandwidthThatEachLinkCarries) {
  const std::string text = "sizes: [4096, 65536]\nseconds: 0.1\nstep_ms: 5\nthreads: 1\n";
  for (const auto& [workload, links] :
       {std::pair("allgather", 0.5), std::pair("reducescatter", 0.5), std::pair("alltoall", 0.5),
        std::pair("sendrecv", 1.0)})
    for (const CommandResult& rank : train_ranks(workload, text, 2)) {
      ASSERT_TRUE(rank.status.ok()) << workload << rank.err;
      const Json value = events(rank, "FINISHED")[0].at("value");
      EXPECT_NEAR(value.at("busbw_64KiB").get<double>(),
                  value.at("algbw_64KiB").get<double>() * links, 1)
          << workload;
      EXPECT_GT(value.at("busbw_bytes_per_s").get<double>(), 1e5) << workload;
    }
}

TEST_F(MeshTest, AttentionReportsTheRatesOfForwardAndOfBoth) {
  const CommandResult result = train("attention",
                                     "device: cpu\nsequence: 64\nheads: 4\nhead: 16\nseconds: 0.2\n"
                                     "step_ms: 5\nthreads: 1\n");
  ASSERT_TRUE(result.status.ok()) << result.err;
  const Json value = events(result, "FINISHED")[0].at("value");
  EXPECT_GT(value.at("forward_flops").get<double>(), 1e6);
  EXPECT_GT(value.at("training_flops").get<double>(), 1e6);
  // Two products of 64 · 64 · 16 multiply-adds for each of 4 heads, half of them.
  const Json step = events(result, "STEP_END")[0].at("value");
  EXPECT_EQ(step.at("flops").get<double>(),
            step.at("samples").get<double>() * 2 * 4 * 64 * 64 * 16);
}

// One rank is lost in a phase of the training: killed, or stopped so that it only hangs. The other
// ends in time with exit code 5 and says which it was.
struct Kind {
  const char* name;
  const char* workload;
  const char* mesh;
};
struct When {
  const char* name;
  const char* settings;
  const char* sign;  // of the phase, in the log
};
using Fault = std::tuple<int, int>;  // of kinds and phases
constexpr Kind kKinds[] = {
    {"Data", "llama-tiny", ""},
    {"Zero1", "llama-tiny", "zero: 1\n"},
    {"Zero2", "llama-tiny", "zero: 2\n"},
    {"Zero3", "llama-tiny", "zero: 3\n"},
    {"Tensor", "llama-tiny", "tensor_parallel: 2\n"},
    {"Pipeline", "llama-tiny", "pipeline_parallel: 2\nmicro_batches: 4\n"},
    {"Expert", "moe-tiny", "expert_parallel: 2\n"},
};
constexpr When kPhases[] = {
    {"BeforeTheFirstStep", "eval_size: 16\neval_every: 1000000\n", "\"name\": \"join\""},
    {"InAStep", "eval_size: 16\neval_every: 1000000\n", "STEP_END"},
    // One that takes much longer than the step before it, as long as nobody is lost.
    {"InAnEvaluation", "eval_size: 16384\neval_every: 1\n", "STEP_END"},
    {"AtACheckpoint",
     "eval_size: 16\neval_every: 1000000\nmin_vocabulary: 20000\ncheckpoint_every: 1\n",
     "STEP_END"},
};

class LostRankTest : public MeshTest, public ::testing::WithParamInterface<Fault> {};

TEST_P(LostRankTest, IsNamedByTheOther) {
  const auto [kind_index, phase_index] = GetParam();
  const Kind& kind = kKinds[kind_index];
  const When& when = kPhases[phase_index];
  // Each kind has both ways to be lost, of both ranks, in one phase each.
  const bool stopped = ((phase_index ^ kind_index) & 1) != 0;
  const std::string culprit = ((phase_index >> 1 ^ kind_index) & 1) != 0 ? "0" : "1";
  std::string settings = std::string(kSequences) + when.settings + kind.mesh +
                         "device: cpu\nepochs: 0\nmax_steps: 1000000\nbatch_size: 8\n"
                         "peer_timeout_s: 5\n";
  if (std::string(when.name) == "AtACheckpoint")
    settings += "checkpoint: " + (folder_.path() / "checkpoints").string() + "\n";
  const CommandResult both =
      command({"bash", "-c",
               "export WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=$1; log=$2 culprit=$3 "
               "signal=$4 sign=$5; "
               "shift 5; RANK=$((1 - culprit)) \"$@\" > /dev/null & other=$!; "
               "RANK=$culprit \"$@\" > $log 2> $log.err & lost=$!; "
               "for i in {1..1200}; do grep -qF \"$sign\" $log && break; sleep 0.05; done; "
               "kill -$signal $lost; wait $other; echo \"ended with $?\"; kill -KILL $lost",
               "bash", free_port(), (folder_.path() / "log").string(), culprit,
               stopped ? "STOP" : "KILL", when.sign, std::string(ASSAY_BIN_DIR) + "/assay-train",
               kind.workload, "--config", config(settings)});
  EXPECT_FALSE(both.timed_out);
  EXPECT_EQ(both.out, "ended with 5\n") << both.err;
  EXPECT_THAT(both.err, HasSubstr("rank " + culprit)) << settings;
}

INSTANTIATE_TEST_SUITE_P(Everywhere, LostRankTest,
                         ::testing::Combine(::testing::Range(0, 7), ::testing::Range(0, 4)),
                         [](const ::testing::TestParamInfo<Fault>& fault) {
                           return std::string(kKinds[std::get<0>(fault.param)].name) +
                                  kPhases[std::get<1>(fault.param)].name;
                         });

// Ranks whose paths lead to other files, as on hosts with copies of their own.
class OtherFilesTest : public MeshTest {
 protected:
  static constexpr const char* kShort =
      "threads: 1\nloader_threads: 1\nwarmup_steps: 2\nsequence: 32\nepochs: 0\n"
      "device: cpu\nbatch_size: 4\nmin_vocabulary: 260\n";

  // Text of one byte a token.
  std::string letters(const std::string& name, char first) {
    std::string text;
    for (int i = 0; i < 4000; ++i) text += static_cast<char>(first + i * i % 7);
    std::filesystem::create_directories(folder_.path() / name);
    std::ofstream(folder_.path() / name / "a.txt") << text;
    return "data: text\nvocabulary_size: 257\npath: " + (folder_.path() / name).string() + "\n";
  }

  void expect_refused(const std::string& common, const std::string& first,
                      const std::string& second, const std::string& what) {
    for (const char* const mesh : {"", "tensor_parallel: 2\n"})
      for (const CommandResult& rank : train_ranks(
               "llama-tiny", {config(common + mesh + first), config(common + mesh + second)})) {
        EXPECT_EQ(rank.status.code, 3) << mesh << rank.err;
        EXPECT_THAT(rank.err, HasSubstr("rank 1 has " + what)) << mesh;
        EXPECT_TRUE(events(rank, "STEP_END").empty()) << mesh;
      }
  }
};

TEST_F(OtherFilesTest, OtherWeightsAreRefused) {
  const auto weights = [&](const std::string& name, int seed) {
    const std::string folder = (folder_.path() / name).string();
    const CommandResult made =
        train("llama-tiny", kTokens + ("device: cpu\nepochs: 0\nmax_steps: 1\nseed: " +
                                       std::to_string(seed) + "\nexport: " + folder + "\n"));
    EXPECT_TRUE(made.status.ok()) << made.err;
    return "weights: " + folder + "\n";
  };
  const std::string first = weights("first", 1);
  const std::string second = weights("second", 2);
  const std::string common = std::string(kTokens) + "epochs: 0\nmax_steps: 1\nbatch_size: 4\n";
  expect_refused(common, first, second, "weights whose checksum is ");
  expect_refused(common, "", second, "weights whose checksum is ");
  for (const CommandResult& rank :
       train_ranks("llama-tiny", common + "device: cpu\ntensor_parallel: 2\n" + first, 2))
    EXPECT_TRUE(rank.status.ok()) << rank.err;
}

TEST_F(OtherFilesTest, OtherDataOfTheSameSizeAreRefused) {
  expect_refused(std::string(kShort) + "max_steps: 1\n", letters("one", 'a'), letters("two", 'b'),
                 "data whose checksum, of some samples, is ");
}

TEST_F(OtherFilesTest, ACheckpointOfAnotherTrainingAtTheSameStepIsRefused) {
  const std::string data = kShort + letters("one", 'a') + "resume: true\n";
  const auto checkpoint = [&](const char* name, const char* rate) {
    const std::string setting = "checkpoint: " + (folder_.path() / name).string() + "\n";
    const CommandResult made =
        train("llama-tiny", data + setting + "max_steps: 2\nlearning_rate: " + rate + "\n");
    EXPECT_TRUE(made.status.ok()) << made.err;
    return setting;
  };
  const std::string first = checkpoint("first", "0.001");
  const std::string second = checkpoint("second", "0.002");
  for (const CommandResult& rank :
       train_ranks("llama-tiny", {config(data + first + "max_steps: 3\ntensor_parallel: 2\n"),
                                  config(data + second + "max_steps: 3\ntensor_parallel: 2\n")})) {
    EXPECT_EQ(rank.status.code, 3) << rank.err;
    EXPECT_THAT(rank.err, HasSubstr("rank 1 has a checkpoint whose checksum is "));
  }
}

TEST_F(OtherFilesTest, ATrainingDoesNotGoOnWithOtherDataOfTheSameSize) {
  const std::string common = std::string(kShort) + "resume: true\ncheckpoint: " +
                             (folder_.path() / "checkpoints").string() + "\n";
  const CommandResult made = train("llama-tiny", common + letters("one", 'a') + "max_steps: 2\n");
  ASSERT_TRUE(made.status.ok()) << made.err;
  const CommandResult other = train("llama-tiny", common + letters("two", 'b') + "max_steps: 3\n");
  EXPECT_EQ(other.status.code, 2) << other.err;
  EXPECT_THAT(other.err, HasSubstr("of a training on other data"));
  // The same data at another place.
  const CommandResult moved =
      train("llama-tiny", common + letters("three", 'a') + "max_steps: 3\n");
  EXPECT_TRUE(moved.status.ok()) << moved.err;
}

// Exported weights of which one value is no number; it lies in what the second of two ranks has.
class NotFiniteTest : public MeshTest {
 protected:
  std::string damaged_weights() {
    const std::string folder = (folder_.path() / "weights").string();
    const CommandResult result =
        train("llama-tiny", std::string(kTokens) +
                                "device: cpu\nepochs: 0\nmax_steps: 1\nexport: " + folder + "\n");
    EXPECT_TRUE(result.status.ok()) << result.err;
    const std::string path = folder + "/model.safetensors";
    std::string bytes = read_file(path);
    std::uint64_t size = 0;
    std::memcpy(&size, bytes.data(), 8);
    const Json header = parse_json(bytes.substr(8, size), path);
    const auto end = header.at("model.layers.1.mlp.down_proj.weight")
                         .at("data_offsets")
                         .at(1)
                         .get<std::size_t>();
    const float nothing = std::nanf("");
    std::memcpy(bytes.data() + 8 + size + end - 4, &nothing, 4);
    std::ofstream(path, std::ios::binary) << bytes;
    return folder;
  }
};

TEST_F(NotFiniteTest, TheRankAndTheTensorAreNamed) {
  const std::string text = std::string(kTokens) +
                           "epochs: 0\nmax_steps: 3\nbatch_size: 8\nweights: " + damaged_weights() +
                           "\n";
  for (const auto& [mesh, tensor] : {std::pair("tensor_parallel: 2\n", "blocks.1.down"),
                                     std::pair("pipeline_parallel: 2\n", "blocks.1.down"),
                                     std::pair("zero: 3\n", "blocks/1/qkv … blocks/1/down")})
    for (const CommandResult& rank : train_ranks("llama-tiny", text + mesh, 2)) {
      EXPECT_EQ(rank.status.code, 5) << mesh << rank.err;
      EXPECT_THAT(rank.err, AllOf(HasSubstr("the loss of step 1 is nan"),
                                  HasSubstr("rank 1: parameter " + std::string(tensor) +
                                            " has values that are not finite"),
                                  HasSubstr("see whether all values in 'weights' ("),
                                  ::testing::Not(HasSubstr("rank 0: parameter"))))
          << mesh;
    }
}

TEST_F(NotFiniteTest, RanksThatAllHaveTheTensorAreAllNamed) {
  const std::string text = std::string(kTokens) +
                           "epochs: 0\nmax_steps: 3\nbatch_size: 4\nweights: " + damaged_weights() +
                           "\n";
  for (const CommandResult& rank : train_ranks("llama-tiny", text, 2)) {
    EXPECT_EQ(rank.status.code, 5) << rank.err;
    EXPECT_THAT(rank.err, AllOf(HasSubstr("rank 0: parameter blocks.1.down"),
                                HasSubstr("rank 1: parameter blocks.1.down")));
  }
}

}  // namespace
}  // namespace assay::train
