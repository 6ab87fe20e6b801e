#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "automl/start_models.h"
#include "automl/worker_protocol.h"
#include "error_of.h"

namespace assay::automl {
namespace {

using assay::testing::error_of;
using ::testing::HasSubstr;

template <typename T>
T through_worker(const T& message) {
  std::string line = encode(WorkerMessage(message));
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  line.pop_back();
  return std::get<T>(decode_worker_message(line, "worker 1"));
}

Trial example() {
  Trial trial;
  trial.trial = 7;
  trial.attempt = 2;
  const Graph graph = basic_resnet({8, 8, 3, false}, 2, 1, 4, 5);
  const Operation deeper = places(graph, Operation::Kind::deeper).front();
  trial.graph = to_json(apply(graph, deeper));
  trial.parent = Parent{3, to_json(graph), {deeper}};
  trial.hyper = {64, 0.1, 1e-4, 0.1, 5, 0.2};
  trial.epochs = 15;
  trial.patience = {8, 0.001};
  trial.seed = 99;
  trial.keep_weights = false;
  trial.data = {{"data", "glyphs"}, {"train_size", 128}};
  return trial;
}

std::string trial_error(const std::function<void(Json&)>& change) {
  Json json = Json::parse(encode(CoordinatorMessage(example())));
  change(json);
  return error_of([&] { return decode_coordinator_message(json.dump(), "coordinator"); });
}

TEST(Protocol, WorkersMessagesComeThroughUnchanged) {
  const Hello hello = through_worker(Hello{1, "secret", 3, "node1", "cuda:0 NVIDIA H200"});
  EXPECT_EQ(hello.token, "secret");
  EXPECT_EQ(hello.rank, 3);
  EXPECT_EQ(hello.host, "node1");
  EXPECT_EQ(hello.device, "cuda:0 NVIDIA H200");
  (void)through_worker(Ready{});
  EXPECT_EQ(through_worker(Alive{77}).progress, 77);
  const Inherited inherited = through_worker(Inherited{4, 30, 36, "ab12"});
  EXPECT_EQ(inherited.trial, 4);
  EXPECT_EQ(inherited.tensors, 30);
  EXPECT_EQ(inherited.of, 36);
  EXPECT_EQ(inherited.sha256, "ab12");
  EXPECT_EQ(through_worker(Fetch{12}).trial, 12);
  const Epoch epoch = through_worker(Epoch{4, 2, 0.75, 1.25, 2000, 400, 3.5});
  EXPECT_EQ(epoch.trial, 4);
  EXPECT_EQ(epoch.epoch, 2);
  EXPECT_EQ(epoch.accuracy, 0.75);
  EXPECT_EQ(epoch.loss, 1.25);
  EXPECT_EQ(epoch.trained, 2000);
  EXPECT_EQ(epoch.validated, 400);
  EXPECT_EQ(epoch.at_s, 3.5);
  EXPECT_EQ(through_worker(Weights{4, 1'000'000}).bytes, 1'000'000);
  const Done done = through_worker(Done{4, false, "not enough memory", 0.5, 3, 3000, 600, 9, 1, 2});
  EXPECT_FALSE(done.ok);
  EXPECT_EQ(done.reason, "not enough memory");
  EXPECT_EQ(done.accuracy, 0.5);
  EXPECT_EQ(done.epochs, 3);
  EXPECT_EQ(done.trained, 3000);
  EXPECT_EQ(done.validated, 600);
  EXPECT_EQ(done.seconds, 9);
  EXPECT_EQ(done.setup_s, 1);
  EXPECT_EQ(done.wait_s, 2);
}

TEST(Protocol, ATrialComesThroughUnchanged) {
  const Trial sent = example();
  std::string line = encode(CoordinatorMessage(sent));
  line.pop_back();
  const Trial got = std::get<Trial>(decode_coordinator_message(line, "coordinator"));
  EXPECT_EQ(got.trial, 7);
  EXPECT_EQ(got.attempt, 2);
  EXPECT_EQ(got.graph, sent.graph);
  ASSERT_TRUE(got.parent);
  EXPECT_EQ(got.parent->trial, 3);
  EXPECT_EQ(got.parent->graph, sent.parent->graph);
  EXPECT_EQ(got.parent->operations, sent.parent->operations);
  EXPECT_EQ(got.hyper, sent.hyper);
  EXPECT_EQ(got.epochs, 15);
  EXPECT_EQ(got.patience, sent.patience);
  EXPECT_EQ(got.seed, 99U);
  EXPECT_FALSE(got.keep_weights);
  EXPECT_EQ(got.data, sent.data);
}

TEST(Protocol, ATrialWithoutAParentHasNone) {
  Trial sent = example();
  sent.parent.reset();
  const std::string line = encode(CoordinatorMessage(sent));
  EXPECT_FALSE(std::get<Trial>(decode_coordinator_message(line, "coordinator")).parent);
}

TEST(Protocol, OtherMessagesOfTheCoordinatorComeThrough) {
  const auto through = [](const CoordinatorMessage& message) {
    return decode_coordinator_message(encode(message), "coordinator");
  };
  EXPECT_EQ(std::get<Drop>(through(Drop{5})).trial, 5);
  EXPECT_TRUE(std::holds_alternative<Stop>(through(Stop{})));
  EXPECT_EQ(std::get<Refuse>(through(Refuse{"the token is wrong"})).reason, "the token is wrong");
  EXPECT_EQ(std::get<Weights>(through(Weights{5, 0})).bytes, 0);
}

TEST(Protocol, ErrorsNameTheField) {
  EXPECT_THAT(trial_error([](Json& j) { j.erase("seed"); }), HasSubstr("trial: has no 'seed'"));
  EXPECT_THAT(trial_error([](Json& j) { j["seed"] = -1; }), HasSubstr("'seed' must be"));
  EXPECT_THAT(trial_error([](Json& j) { j["seed"] = ~std::uint64_t{0}; }), HasSubstr("'seed'"));
  EXPECT_THAT(trial_error([](Json& j) { j["epochs"] = 1.5; }), HasSubstr("'epochs' must be"));
  EXPECT_THAT(trial_error([](Json& j) { j["graph"] = 3; }), HasSubstr("'graph' must be"));
  EXPECT_THAT(trial_error([](Json& j) { j["more"] = 3; }), HasSubstr("unknown field 'more'"));
  EXPECT_THAT(trial_error([](Json& j) { j["hyper"]["dropout"] = 1; }),
              HasSubstr("trial 'hyper': 'dropout' must be"));
  EXPECT_THAT(trial_error([](Json& j) { j["hyper"]["kernel_size"] = 4; }),
              HasSubstr("'kernel_size' must be 0 or an odd number"));
  EXPECT_THAT(trial_error([](Json& j) { j["hyper"].erase("batch_size"); }),
              HasSubstr("has no 'batch_size'"));
  EXPECT_THAT(trial_error([](Json& j) { j["parent"]["operations"][0][0] = "smaller"; }),
              HasSubstr("operations[0]"));
  EXPECT_THAT(trial_error([](Json& j) { j["patience"] = nullptr; }), HasSubstr("'patience'"));
}

TEST(Protocol, NumbersThatAreNotFiniteAreRefused) {
  std::string line = encode(WorkerMessage(Epoch{4, 2, 0.75, std::nan(""), 2000, 400, 3.5}));
  EXPECT_THAT(error_of([&] { return decode_worker_message(line, "rank 3"); }),
              ::testing::AllOf(HasSubstr("rank 3"), HasSubstr("'loss' must be a number")));
}

TEST(Protocol, WhatIsNoMessageIsRefusedWithItsText) {
  const auto refused = [](const std::string& line) {
    return error_of([&] { return decode_worker_message(line, "10.0.0.1"); });
  };
  EXPECT_THAT(refused("GET / HTTP/1.1"), HasSubstr("not a message: GET / HTTP/1.1"));
  EXPECT_THAT(refused("[]"), HasSubstr("not a message"));
  EXPECT_THAT(refused(R"({"type":"trial"})"), HasSubstr("unknown type 'trial'"));
  EXPECT_THAT(refused(""), HasSubstr("not a message"));
}

TEST(Protocol, AMessageThatIsTooLongIsNotSent) {
  Trial trial = example();
  trial.data["path"] = std::string(kMaxLine, 'x');
  EXPECT_THAT(error_of([&] { return encode(CoordinatorMessage(trial)); }), HasSubstr("too long"));
}

TEST(Protocol, FramingGivesLinesAndBytesWhateverThePieces) {
  const std::string stream = "one\n" + std::string("two\n\n\0\nraw", 10) + "three\n";
  for (std::size_t piece = 1; piece <= stream.size(); ++piece) {
    Framing framing;
    std::vector<std::string> got;
    for (std::size_t at = 0; at < stream.size(); at += piece) {
      framing.feed(std::string_view(stream).substr(at, piece));
      for (;;) {
        // After the second line six raw bytes.
        auto next = got.size() == 2 ? framing.raw(6) : framing.line("peer");
        if (!next) break;
        got.push_back(*next);
      }
    }
    ASSERT_EQ(got.size(), 4U) << "pieces of " << piece;
    EXPECT_EQ(got[0], "one");
    EXPECT_EQ(got[1], "two");
    EXPECT_EQ(got[2], std::string("\n\0\nraw", 6));
    EXPECT_EQ(got[3], "three");
  }
}

TEST(Protocol, ALineWithoutEndIsRefused) {
  Framing framing;
  framing.feed(std::string(kMaxLine, 'x'));
  EXPECT_FALSE(framing.line("peer"));
  framing.feed("x");
  EXPECT_THAT(error_of([&] { return framing.line("peer"); }), HasSubstr("longer than"));
}

TEST(Protocol, PatienceGrowsWithTheRoundAsInAIPerf) {
  EXPECT_EQ(patience_of_round(0).epochs, 6);
  EXPECT_EQ(patience_of_round(3).epochs, 12);
  EXPECT_EQ(patience_of_round(7).epochs, 20);
  EXPECT_EQ(patience_of_round(1'000'000'000).epochs, 20);
  EXPECT_EQ(patience_of_round(0).min_delta, 0.001);
}

TEST(Protocol, EarlyStopCountsEpochsWithoutEnoughGain) {
  EarlyStop stop({2, 0.1});
  EXPECT_FALSE(stop.tell(1.0));
  EXPECT_FALSE(stop.tell(0.95));  // less, but not by enough: 1
  EXPECT_FALSE(stop.tell(0.85));  // below 1.0 - 0.1
  EXPECT_FALSE(stop.tell(2.0));
  EXPECT_TRUE(stop.tell(0.8));
}

TEST(Protocol, NoPatienceNeverStops) {
  EarlyStop stop({0, 0.001});
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(stop.tell(1));
}

}  // namespace
}  // namespace assay::automl
