#include "train/loop/task_kinds.h"

#include <algorithm>
#include <string_view>

#include "train/loop/image_task.h"
#include "train/loop/text_task.h"
#include "train/loop/token_task.h"
#include "train/loop/trainer.h"

namespace assay::train {
namespace {

// Settings::kept. Values implied by the model's shape, a step's samples and the data's size are
// compared directly.
constexpr std::string_view kKept[] = {
    "data",        "data_seed",  "seed",       "sequence", "cross_documents",  "vocabulary_size",
    "image_size",  "glyph_size", "label_base", "augment",  "mask_probability", "max_predictions",
    "label_noise", "lower_case", "optimizer"};
// Settings::shaping.
constexpr std::string_view kShaping[] = {"layers", "tied", "qk_norm", "min_vocabulary", "classes"};

}  // namespace

const std::vector<TaskKind>& task_kinds() {
  static const std::vector<TaskKind> kinds{image_kind(), text_kind(), token_kind()};
  return kinds;
}

Settings read_settings(const TaskKind& kind, const std::string& workload,
                       workload::Options& options) {
  Settings settings;
  settings.workload = workload;
  settings.make_task = kind.read(workload, settings, options);
  read_common(settings, options);
  if (settings.mesh.zero > 1 && !kind.shares_model)
    options.fail("zero", "only a language model's gradients and parameters can be shared out",
                 "use 'zero: 1' or 'zero: 0'");
  if (settings.precision == Precision::fp8 && !kind.fp8)
    options.fail("precision", workload + " does not train in fp8", "Llama does; use bf16");
  options.reject_unknown();
  for (const workload::Option& option : options.declared()) {
    if (std::ranges::find(kKept, option.key) != std::end(kKept))
      settings.kept.emplace_back(option.key, option.value);
    if (std::ranges::find(kShaping, option.key) != std::end(kShaping))
      settings.shaping.emplace_back(option.key, option.value);
  }
  settings.communicator.membership.terms = "workload: " + workload + "\n" + options.terms();
  return settings;
}

std::vector<workload::Workload> training_workloads() {
  std::vector<workload::Workload> all;
  for (const TaskKind& kind : task_kinds())
    for (const ModelEntry& model : kind.models) {
      const auto read = [&kind, name = model.workload](workload::Options& options) {
        return read_settings(kind, name, options);
      };
      all.push_back(
          {model.workload, kind.name, model.defaults, read,
           [read](workload::Options& options, const workload::Place& place, perflog::Writer& log) {
             const Settings settings = read(options);
             if (settings.find_batch) return find_batch(settings, place, log);
             return settings.data_only ? measure_data(settings, place, log)
                                       : train(settings, place, log);
           }});
    }
  return all;
}

}  // namespace assay::train
