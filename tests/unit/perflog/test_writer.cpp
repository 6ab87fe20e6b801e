#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include "collect_events.h"
#include "core/files.h"
#include "core/json.h"
#include "core/time.h"
#include "perflog/writer.h"

namespace assay::perflog {
namespace {

using testing::ElementsAre;
using testing::StartsWith;

// What `log` writes.
template <typename Log>
std::string written(Log log, int rank = 3) {
  const Pipe pipe = make_pipe();
  Writer writer(pipe.write.get(), rank);
  log(writer);
  EXPECT_EQ(writer.failed(), 0U);
  std::string out(65536, '\0');
  const ssize_t n = ::read(pipe.read.get(), out.data(), out.size());
  out.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  return out;
}

Json document(const std::string& line) {
  EXPECT_THAT(line, StartsWith("[PerfLog] {"));
  EXPECT_EQ(line.find('\n'), line.size() - 1) << line;
  return parse_json(line.substr(10), "line");
}

TEST(Writer, WritesTheKeysInFlagPerfsOrder) {
  Step step;
  step.loss = 2.5;
  step.samples = 32;
  step.flops = 1e12;
  step.lr = 0.001;
  step.data_s = 0.25;
  const std::string line = written([&](Writer& log) { log.step_end(12, step, {{"grad", 0.5}}); });
  EXPECT_THAT(line, StartsWith(R"([PerfLog] {"event": "STEP_END", "value": {"loss": 2.5, )"
                               R"("samples": 32, "flops": )"));
  const Json json = document(line);
  std::vector<std::string> keys;
  for (const auto& [key, value] : json.items()) keys.push_back(key);
  EXPECT_THAT(keys, ElementsAre("event", "value", "step", "metadata"));
  keys.clear();
  for (const auto& [key, value] : json["metadata"].items()) keys.push_back(key);
  EXPECT_THAT(keys, ElementsAre("file", "lineno", "time_ms", "rank", "mono_us"));
  EXPECT_EQ(json["value"]["flops"], 1e12);
  EXPECT_EQ(json["value"]["lr"], 0.001);
  EXPECT_EQ(json["value"]["grad"], 0.5);
  EXPECT_EQ(json["step"], 12);
  EXPECT_EQ(json["metadata"]["rank"], 3);
}

TEST(Writer, StampsBothClocksAndTheCallersLine) {
  const Instant before = now();
  const std::string line = written([](Writer& log) { log.train_start(); });
  const int lineno = __LINE__ - 1;
  const Instant after = now();
  const Json metadata = document(line)["metadata"];
  EXPECT_EQ(metadata["file"], "test_writer.cpp");
  EXPECT_EQ(metadata["lineno"], lineno);
  EXPECT_GE(metadata["mono_us"].get<std::int64_t>(), before.mono_ns / 1000);
  EXPECT_LE(metadata["mono_us"].get<std::int64_t>(), after.mono_ns / 1000);
  EXPECT_GE(metadata["time_ms"].get<std::int64_t>(), before.wall_ns / 1000000);
  EXPECT_LE(metadata["time_ms"].get<std::int64_t>(), after.wall_ns / 1000000);
}

TEST(Writer, TheParserReadsBackEveryEvent) {
  Step step;
  step.loss = 1.0 / 3;
  step.tokens = 4096;
  const Collected got = collect(written([&](Writer& log) {
    log.init_start();
    log.init_evaluation({{"eval_loss", 9.5}}, 1.5);
    log.init_end();
    log.train_start();
    log.epoch_begin(1);
    log.step_begin(1);
    log.step_end(1, step);
    log.evaluate({{"eval_accuracy", 0.75}}, 0.5, 1);
    log.epoch_end(1);
    log.train_end();
    log.finished({{"converged", true}, {"final_accuracy", 0.75}, {"note", "ok"}});
    log.phase("checkpoint", 0.25);
  }));
  EXPECT_EQ(got.stats.malformed, 0U);
  ASSERT_EQ(got.events.size(), 12U);
  EXPECT_THAT(got.events[1].fields, ElementsAre("eval_loss=9.5", "time=1.5"));
  EXPECT_THAT(got.events[4].fields, ElementsAre("epoch=1"));
  EXPECT_THAT(got.events[6].fields,
              ElementsAre("loss=0.33333333333333331", "tokens=4096", "step=1"));
  EXPECT_EQ(got.events[7].step, 1);
  EXPECT_THAT(got.events[10].fields,
              ElementsAre("converged=true", "final_accuracy=0.75", "note='ok'"));
  EXPECT_THAT(got.events[11].fields, ElementsAre("name='checkpoint'", "time=0.25"));
  for (const Kept& event : got.events) EXPECT_NE(event.kind, EventKind::unknown) << event.name;
}

TEST(Writer, NonFiniteNumbersStayJsonAndAreNotLost) {
  Step step;
  step.loss = std::numeric_limits<double>::quiet_NaN();
  step.samples = 32;
  const std::string line = written([&](Writer& log) {
    log.step_end(1, step, {{"grad", std::numeric_limits<double>::infinity()}, {"x", 1}});
  });
  const Json value = document(line)["value"];
  EXPECT_TRUE(value["loss"].is_null());
  EXPECT_EQ(value["nonfinite"], Json::parse(R"(["loss", "grad"])"));
  EXPECT_THAT(collect(line).events.at(0).fields,
              ElementsAre("loss=nan", "samples=32", "grad=nan", "x=1", "step=1"));
}

TEST(Writer, KeepsEveryKindOfValue) {
  const Json value = document(written([](Writer& log) {
    log.finished({{"int", -7},
                  {"big", std::numeric_limits<std::uint64_t>::max()},
                  {"small", std::numeric_limits<std::int64_t>::min()},
                  {"float", 0.5F},
                  {"bool", false},
                  {"text", std::string("a\"b\\c\n\x01")},
                  {"utf8", "é😀"},
                  {"bad", "\xff\xc3"},
                  {"k\"ey", 1.0}});
  }))["value"];
  EXPECT_EQ(value["int"], -7);
  EXPECT_EQ(value["big"], std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(value["small"], std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(value["float"], 0.5);
  EXPECT_EQ(value["bool"], false);
  EXPECT_EQ(value["text"], "a\"b\\c\n\x01");
  EXPECT_EQ(value["utf8"], "é😀");
  EXPECT_EQ(value["bad"], "\uFFFD\uFFFD");
  EXPECT_EQ(value["k\"ey"], 1.0);
}

TEST(Writer, DropsAndCountsWhatDoesNotFitIntoAnAtomicWrite) {
  const std::string big(5000, 'x');
  std::vector<Value> many;
  for (int i = 0; i < 400; ++i) many.emplace_back("nan", std::numeric_limits<double>::quiet_NaN());
  Step step;
  step.loss = 1;
  for (const std::string& line :
       {written([&](Writer& log) {
          log.step_end(1, step, {{"big", big}, {"x", 1}});
        }),
        written([&](Writer& log) { log.step_end(1, step, many); }), written([&](Writer& log) {
          log.finished({{big, 1}});
        })}) {
    EXPECT_LE(line.size(), Writer::kMaxLine);
    const Json json = document(line);
    EXPECT_GE(json["value"]["dropped_fields"], 1) << line;
    EXPECT_TRUE(json.contains("metadata"));
  }
}

TEST(Writer, NamesThatFillTheLineStillLeaveRoomForTheEnd) {
  for (std::size_t size = 3300; size < 3700; ++size) {
    const std::string name(size, '"');
    const std::string line = written([&](Writer& log) {
      log.step_end(1, Step{}, {{name.substr(0, size / 2), 1.0 / 3}, {"n", std::nan("")}});
    });
    ASSERT_LE(line.size(), Writer::kMaxLine);
    static_cast<void>(document(line));
  }
}

TEST(Writer, OneWritePerLine) {
  // A pipe in packet mode gives one write per read.
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_DIRECT | O_CLOEXEC), 0);
  const UniqueFd read_end(ends[0]);
  const UniqueFd write_end(ends[1]);
  Writer writer(write_end.get(), 0);
  writer.init_start();
  writer.init_end();
  char buffer[8192];
  for (int i = 0; i < 2; ++i) {
    const ssize_t n = ::read(read_end.get(), buffer, sizeof buffer);
    ASSERT_GT(n, 0);
    EXPECT_EQ(std::string_view(buffer, static_cast<std::size_t>(n)).find('\n'),
              static_cast<std::size_t>(n) - 1);
  }
}

TEST(Writer, FlushesTheFileFirst) {
  const Pipe pipe = make_pipe();
  std::FILE* file = ::fdopen(::dup(pipe.write.get()), "w");
  ASSERT_NE(file, nullptr);
  std::fputs("before\n", file);
  Writer writer(file, 0);
  writer.init_start();
  std::fclose(file);
  char buffer[1024];
  const ssize_t n = ::read(pipe.read.get(), buffer, sizeof buffer);
  ASSERT_GT(n, 0);
  EXPECT_THAT(std::string(buffer, static_cast<std::size_t>(n)), StartsWith("before\n[PerfLog]"));
}

TEST(Writer, TakesTheRankFromTheEnvironment) {
  ::setenv("RANK", "5", 1);
  EXPECT_EQ(Writer(1).rank(), 5);
  ::setenv("RANK", "five", 1);
  EXPECT_EQ(Writer(1).rank(), -1);
  ::unsetenv("RANK");
  EXPECT_EQ(Writer(1).rank(), -1);
  EXPECT_EQ(Writer(1, 7).rank(), 7);
}

TEST(Writer, CountsLinesThatCannotBeWritten) {
  const UniqueFd full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  ASSERT_TRUE(full);
  Writer writer(full.get(), 0);
  writer.init_start();
  writer.init_end();
  EXPECT_EQ(writer.failed(), 2U);
}

}  // namespace
}  // namespace assay::perflog
