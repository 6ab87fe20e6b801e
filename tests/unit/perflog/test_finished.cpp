#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "perflog/finished.h"
#include "perflog/parser.h"

namespace assay::perflog {
namespace {

using testing::ElementsAre;

FinishedSummary summary_of(std::string_view value) {
  FinishedSummary summary;
  Parser parser([&](const Event& event) {
    EXPECT_EQ(event.kind, EventKind::finished);
    summary = summarize_finished(event);
  });
  parser.feed("[PerfLog] {\"event\": \"FINISHED\", \"value\": " + std::string(value) + "}\n");
  EXPECT_EQ(parser.stats().events, 1U);
  return summary;
}

std::vector<std::string> names(const FinishedSummary& summary) {
  std::vector<std::string> out;
  for (const Quality& quality : summary.quality)
    out.push_back(quality.name + " " + std::string(to_text(quality.better)));
  return out;
}

TEST(Finished, ReadsTheCommonFamily) {
  const FinishedSummary got = summary_of(
      R"({"e2e_time": 100.5, "train_time": 90, "train_no_eval_time": 80, )"
      R"("pure_training_computing_time": 70, "throughput(ips)_raw": 10, )"
      R"("throughput(ips)_no_eval": 11, "throughput(ips)_pure_compute": 12, "converged": true, )"
      R"("final_acc1": 75.9, "final_acc5": 92.1})");
  EXPECT_EQ(got.e2e_time_s, 100.5);
  EXPECT_EQ(got.train_time_s, 90);
  EXPECT_EQ(got.train_no_eval_time_s, 80);
  EXPECT_EQ(got.pure_compute_time_s, 70);
  EXPECT_EQ(got.p_whole, 10);
  EXPECT_EQ(got.p_train, 11);
  EXPECT_EQ(got.p_core, 12);
  EXPECT_EQ(got.rate_unit, "images/s");
  EXPECT_EQ(got.converged, true);
  EXPECT_THAT(names(got), ElementsAre("final_acc1 higher", "final_acc5 higher"));
}

TEST(Finished, ReadsSequencesPerSecond) {
  const FinishedSummary got = summary_of(
      R"({"throughput(sps)_raw": 494.9, "throughput(sps)_pure_compute": 506, "converged": false})");
  EXPECT_EQ(got.p_whole, 494.9);
  EXPECT_FALSE(got.p_train);
  EXPECT_EQ(got.p_core, 506);
  EXPECT_EQ(got.rate_unit, "sequences/s");
  EXPECT_EQ(got.converged, false);
}

TEST(Finished, ReadsTheOldFamily) {
  const FinishedSummary got = summary_of(
      R"({"e2e_time": 1661.6, "training_sequences_per_second": 579.09, "converged": true, )"
      R"("final_loss": 3.07, "final_mlm_accuracy": 0.92, "raw_train_time": 1501.713, )"
      R"("init_time": 148.937})");
  EXPECT_EQ(got.p_whole, 579.09);
  EXPECT_EQ(got.rate_unit, "sequences/s");
  EXPECT_EQ(got.train_time_s, 1501.713);
  EXPECT_EQ(got.init_time_s, 148.937);
  EXPECT_THAT(names(got), ElementsAre("final_loss lower", "final_mlm_accuracy higher"));
  EXPECT_EQ(summary_of(R"({"training_items_per_second": 5})").rate_unit, "items/s");
  EXPECT_EQ(summary_of(R"({"training_images_per_second": 5})").rate_unit, "images/s");
  EXPECT_EQ(summary_of(R"({"training_ntokens_per_second": 5})").rate_unit, "tokens/s");
}

TEST(Finished, ForgivesTheSlipOfThePenInFasterRcnn) {
  const FinishedSummary got = summary_of(
      R"({"throuhgput(ips)_raw": 10, "throuhgput(ips)_no_eval": 11, "final_mAP": 0.37})");
  EXPECT_EQ(got.p_whole, 10);
  EXPECT_EQ(got.p_train, 11);
  EXPECT_THAT(names(got), ElementsAre("final_mAP higher"));
}

TEST(Finished, KnowsAllQualityNames) {
  const FinishedSummary got = summary_of(
      R"({"final_accuracy": 1, "final_map_bbox": 1, "final_map_segm": 1, "final_auc": 1, )"
      R"("best_auc": 1, "final_nuv": 1, "final_ppl_accuracy": 1, "rouge1": 1, "rouge2": 1, )"
      R"("rougeL": 1, "rougeLsum": 1, "val_loss": 1, "acc": 1, "num_trained_samples": 5, )"
      R"("accumulation_steps": 8})");
  EXPECT_THAT(names(got),
              ElementsAre("final_accuracy higher", "final_map_bbox higher", "final_map_segm higher",
                          "final_auc higher", "best_auc higher", "final_nuv neither",
                          "final_ppl_accuracy higher", "rouge1 higher", "rouge2 higher",
                          "rougeL higher", "rougeLsum higher", "val_loss lower", "acc higher"));
}

TEST(Finished, NamesWhatIsNotFiniteInsteadOfGivingIt) {
  const FinishedSummary got =
      summary_of(R"({"final_loss": NaN, "e2e_time": Infinity, "acc": null, "nonfinite": ["acc"]})");
  EXPECT_FALSE(got.e2e_time_s);
  EXPECT_TRUE(got.quality.empty());
  EXPECT_THAT(got.nonfinite, ElementsAre("final_loss", "e2e_time", "acc"));
}

TEST(Finished, NothingSaidIsNothingKnown) {
  const FinishedSummary got = summary_of("{}");
  EXPECT_FALSE(got.converged);
  EXPECT_FALSE(got.p_whole);
  EXPECT_TRUE(got.rate_unit.empty());
}

TEST(Finished, ReadsWhatMatmulMeasures) {
  EXPECT_EQ(summary_of(R"({"peak_flops": 1.2e11})").peak_flops, 1.2e11);
}

}  // namespace
}  // namespace assay::perflog
