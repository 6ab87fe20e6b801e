#include "perflog/finished.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/text.h"

namespace assay::perflog {
namespace {

struct Throughput {
  std::string unit;
  std::optional<double> FinishedSummary::*target;
};

std::string unit_of(std::string_view short_name) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 14> kUnits{{
      {"ips", "images/s"},
      {"images", "images/s"},
      {"image", "images/s"},
      {"sps", "sequences/s"},
      {"sequences", "sequences/s"},
      {"sequence", "sequences/s"},
      {"items", "items/s"},
      {"item", "items/s"},
      {"samples", "samples/s"},
      {"ntokens", "tokens/s"},
      {"tokens", "tokens/s"},
      {"token", "tokens/s"},
      {"tps", "tokens/s"},
      {"frames", "frames/s"},
  }};
  for (const auto& [name, unit] : kUnits)
    if (short_name == name) return std::string(unit);
  return short_name.empty() ? "samples/s" : std::string(short_name) + "/s";
}

// The rates of the newer families, "throughput(ips)_raw", even if the first word has a typo
// ("throuhgput").
std::optional<Throughput> parenthesized_rate(std::string_view key) {
  const std::size_t open = key.find('(');
  const std::size_t shut = key.find(')');
  if (open == std::string_view::npos || shut == std::string_view::npos || shut < open)
    return std::nullopt;
  static const std::array<std::string, 1> kWord{"throughput"};
  if (!nearest(trim(key.substr(0, open)), kWord)) return std::nullopt;
  const std::string_view kind = key.substr(shut + 1);
  std::optional<double> FinishedSummary::*target = nullptr;
  if (kind == "_raw" || kind.empty())
    target = &FinishedSummary::p_whole;
  else if (kind == "_no_eval")
    target = &FinishedSummary::p_train;
  else if (kind == "_pure_compute")
    target = &FinishedSummary::p_core;
  else
    return std::nullopt;
  return Throughput{unit_of(to_lower(key.substr(open + 1, shut - open - 1))), target};
}

// The rate of the older family, "training_sequences_per_second", over the raw training time.
std::optional<Throughput> old_style_rate(std::string_view key) {
  constexpr std::string_view prefix = "training_";
  constexpr std::string_view suffix = "_per_second";
  if (key.size() <= prefix.size() + suffix.size() || !key.starts_with(prefix) ||
      !key.ends_with(suffix))
    return std::nullopt;
  const std::string_view unit =
      key.substr(prefix.size(), key.size() - prefix.size() - suffix.size());
  return Throughput{unit_of(unit), &FinishedSummary::p_whole};
}

using Time = std::optional<double> FinishedSummary::*;

Time time_of(std::string_view key) {
  static constexpr std::array<std::pair<std::string_view, Time>, 9> kTimes{{
      {"e2e_time", &FinishedSummary::e2e_time_s},
      {"init_time", &FinishedSummary::init_time_s},
      {"train_time", &FinishedSummary::train_time_s},
      {"raw_train_time", &FinishedSummary::train_time_s},
      {"train_no_eval_time", &FinishedSummary::train_no_eval_time_s},
      {"no_eval_time", &FinishedSummary::train_no_eval_time_s},
      {"pure_training_computing_time", &FinishedSummary::pure_compute_time_s},
      {"pure_compute_time", &FinishedSummary::pure_compute_time_s},
      {"peak_flops", &FinishedSummary::peak_flops},
  }};
  for (const auto& [name, target] : kTimes)
    if (key == name) return target;
  return nullptr;
}

bool is_quality(std::string_view key) {
  for (const std::string_view prefix : {"final_", "best_", "eval_", "val_", "test_"})
    if (key.starts_with(prefix)) return true;
  return better_of_quality(key) != Better::neither;
}

}  // namespace

bool is_share(std::string_view name) {
  static constexpr std::array<std::string_view, 8> kShares{"acc", "accuracy", "auc",  "recall",
                                                           "iou", "dice",     "ndcg", "map"};
  const std::string lower = to_lower(name);
  std::string_view word = std::string_view(lower).substr(lower.rfind('_') + 1);
  while (!word.empty() && (word.back() == '@' || (word.back() >= '0' && word.back() <= '9')))
    word.remove_suffix(1);
  return std::find(kShares.begin(), kShares.end(), word) != kShares.end();
}

Better better_of_quality(std::string_view name) {
  static constexpr std::array<std::string_view, 9> kLower{
      "loss", "ppl", "perplexity", "error", "err", "wer", "cer", "mae", "rmse"};
  static constexpr std::array<std::string_view, 18> kHigher{
      "acc", "accuracy", "map", "ap",  "auc",  "rouge",     "rougel", "rougelsum", "bleu",
      "f",   "recall",   "iou", "hit", "ndcg", "precision", "dice",   "score",     "psnr"};
  const std::string lower = to_lower(name);
  Better better = Better::neither;
  for (std::string_view word : split(lower, '_')) {
    while (!word.empty() && (word.back() == '@' || (word.back() >= '0' && word.back() <= '9')))
      word.remove_suffix(1);
    // The last known word decides: "ppl_accuracy" is an accuracy.
    if (std::find(kLower.begin(), kLower.end(), word) != kLower.end()) better = Better::lower;
    if (std::find(kHigher.begin(), kHigher.end(), word) != kHigher.end()) better = Better::higher;
  }
  return better;
}

FinishedSummary summarize_finished(const Event& event) {
  FinishedSummary summary;
  for (const Field& field : event.fields) {
    if (field.key == "converged") {
      if (field.type == Field::Type::boolean || field.type == Field::Type::number)
        summary.converged = field.number != 0 && !std::isnan(field.number);
      else if (field.type == Field::Type::text)
        summary.converged = to_lower(field.text) == "true";
      continue;
    }
    if (field.type != Field::Type::number) continue;
    if (!std::isfinite(field.number)) {
      summary.nonfinite.emplace_back(field.key);
      continue;
    }
    if (const Time target = time_of(field.key)) {
      if (!(summary.*target)) summary.*target = field.number;
      continue;
    }
    std::optional<Throughput> rate = parenthesized_rate(field.key);
    if (!rate) rate = old_style_rate(field.key);
    if (rate) {
      if (!(summary.*(rate->target))) summary.*(rate->target) = field.number;
      if (summary.rate_unit.empty()) summary.rate_unit = std::move(rate->unit);
      continue;
    }
    const bool known = std::any_of(summary.quality.begin(), summary.quality.end(),
                                   [&](const Quality& q) { return q.name == field.key; });
    if (!known && is_quality(field.key))
      summary.quality.push_back(
          {std::string(field.key), field.number, better_of_quality(field.key)});
  }
  return summary;
}

}  // namespace assay::perflog
