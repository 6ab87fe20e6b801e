#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collect_events.h"
#include "core/subprocess.h"
#include "core/time.h"
#include "needs.h"

namespace assay::perflog {
namespace {

using testing::ElementsAre;

TEST(PythonHelper, WritesWhatTheParserReads) {
  if (!find_program("python3")) GTEST_SKIP() << needs::package("python3");
  const std::string program = R"(
import math
from assay import perflog
log = perflog.PerfLog()
log.init_start(); log.init_end(); log.train_start(); log.epoch_begin(1)
log.step_end(1, loss=2.5, samples=32, lr=1e-4)
log.step_end(2, loss=math.nan, samples=32, note='"é')
log.evaluate(2, 0.5, eval_accuracy=0.75)
log.epoch_end(1); log.train_end(); log.phase("checkpoint", 0.25)
log.finished(converged=True, final_accuracy=0.75)
)";
  CommandOptions options;
  options.env["PYTHONPATH"] = ASSAY_SOURCE_DIR "/python";
  options.env["PYTHONDONTWRITEBYTECODE"] = "1";
  options.env["RANK"] = "2";
  const Instant before = now();
  const CommandResult result = run_command({"python3", "-c", program}, options);
  const Instant after = now();
  ASSERT_TRUE(result.status.ok()) << result.err;
  const Collected got = collect(result.out);
  EXPECT_EQ(got.stats.malformed, 0U);
  ASSERT_EQ(got.events.size(), 11U) << result.out;
  EXPECT_TRUE(got.text.empty());
  const EventKind kinds[] = {EventKind::init_start,  EventKind::init_end,  EventKind::train_start,
                             EventKind::epoch_begin, EventKind::step_end,  EventKind::step_end,
                             EventKind::evaluate,    EventKind::epoch_end, EventKind::train_end,
                             EventKind::phase,       EventKind::finished};
  for (std::size_t i = 0; i < 11; ++i) {
    EXPECT_EQ(got.events[i].kind, kinds[i]) << i;
    EXPECT_GE(got.events[i].mono_us, before.mono_ns / 1000);
    EXPECT_LE(got.events[i].mono_us, after.mono_ns / 1000);
    EXPECT_GE(got.events[i].time_ms, before.wall_ns / 1000000);
  }
  EXPECT_THAT(got.events[4].fields, ElementsAre("loss=2.5", "samples=32", "lr=0.0001", "step=1"));
  EXPECT_EQ(got.events[5].fields.at(0), "loss=nan");
  EXPECT_EQ(got.events[5].step, 2);
  EXPECT_THAT(got.events[6].fields, ElementsAre("eval_accuracy=0.75", "time=0.5", "step=2"));
  EXPECT_THAT(got.events[9].fields, ElementsAre("name='checkpoint'", "time=0.25"));
  EXPECT_THAT(result.out, testing::Not(testing::HasSubstr("NaN")));
  EXPECT_THAT(result.out, testing::HasSubstr("\"rank\": 2"));
}

}  // namespace
}  // namespace assay::perflog
