#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "catalog/metrics.h"
#include "core/text.h"

namespace assay::catalog {

namespace {

// Short forms in metric names, and their spelling for people.
constexpr auto kWords = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"acc", "accuracy"},
    {"acc1", "top-1 accuracy"},
    {"acc5", "top-5 accuracy"},
    {"auc", "AUC"},
    {"avg", "mean"},
    {"bleu", "BLEU"},
    {"cpu", "CPU"},
    {"eval", "evaluation"},
    {"f1", "F1"},
    {"flops", "FLOPs"},
    {"gpu", "GPU"},
    {"iou", "IoU"},
    {"map", "mAP"},
    {"mem", "memory"},
    {"mlm", "MLM"},
    {"npu", "NPU"},
    {"nsp", "NSP"},
    {"ppl", "perplexity"},
    {"rouge", "ROUGE"},
    {"train", "training"},
    {"val", "validation"},
});

// "64KiB" → "64 KiB"; leaves other words alone.
std::string with_space_before_unit(std::string_view word) {
  const auto digits = static_cast<std::size_t>(
      std::ranges::find_if_not(word, [](char c) { return c >= '0' && c <= '9'; }) - word.begin());
  const std::string_view unit = word.substr(digits);
  if (digits == 0 || (unit != "B" && unit != "KiB" && unit != "MiB" && unit != "GiB"))
    return std::string(word);
  return std::string(word.substr(0, digits)) + " " + std::string(unit);
}

std::string in_words(std::string_view name) {
  std::string out;
  for (const std::string_view part : split(name, '_')) {
    if (part.empty()) continue;
    const auto known = std::ranges::find(kWords, part, [](const auto& word) { return word.first; });
    out += out.empty() ? "" : " ";
    out += known == kWords.end() ? with_space_before_unit(part) : std::string(known->second);
  }
  return out.empty() ? std::string(name) : out;
}

}  // namespace

std::string metric_title(std::string_view name) {
  if (const KnownMetric* known = find_known_metric(name)) return std::string(known->title);
  if (const MetricFamily* family = find_metric_family(name)) {
    std::string title(family->title);
    const std::string_view own = name.substr(
        family->prefix.size(), name.size() - family->prefix.size() - family->suffix.size());
    title.replace(title.find("{}"), 2, in_words(own));
    return title;
  }
  std::string out = in_words(name);
  if (!out.empty()) out[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(out[0])));
  return out;
}

}  // namespace assay::catalog
