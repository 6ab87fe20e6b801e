#include "measure.h"

#include <thread>

namespace assay::train::data {

template <class Batch>
PipelineRate measure_pipeline(Loader<Batch>& loader, std::int64_t batches, double consume) {
  if (batches == 0) batches = loader.batches_per_epoch();
  PipelineRate rate;
  const std::int64_t start = mono_now_ns();
  while (rate.batches < batches) {
    const Loan<Batch> loan = loader.next();
    if (!loan) break;
    ++rate.batches;
    rate.samples += loan->size;
    rate.bytes += loan->bytes();
    rate.waited += seconds(loan.waited());
    if (consume > 0) std::this_thread::sleep_for(from_seconds(consume));
  }
  rate.seconds = seconds(Nanoseconds(mono_now_ns() - start));
  rate.damaged = loader.source().damaged();
  return rate;
}

template PipelineRate measure_pipeline(Loader<ImageBatch>&, std::int64_t, double);
template PipelineRate measure_pipeline(Loader<TextBatch>&, std::int64_t, double);

}  // namespace assay::train::data
