#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "collect_events.h"
#include "core/error.h"
#include "temporary_folder.h"

namespace assay::perflog {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::int64_t kMissing = Event::kMissing;

Kept only(std::string_view line) {
  const Collected got = collect(line);
  EXPECT_EQ(got.events.size(), 1U) << line;
  EXPECT_EQ(got.stats.malformed, 0U) << line;
  return got.events.empty() ? Kept{} : got.events.front();
}

TEST(Parser, ReadsTheStrictStepEnd) {
  const Kept event =
      only(R"([PerfLog] {"event": "STEP_END", "value": {"loss": 2.5, "samples": 32}, "step": 12, )"
           R"("metadata": {"file": "a.cpp", "lineno": 7, "time_ms": 1794704396597, "rank": 0, )"
           R"("mono_us": 123456789}})"
           "\n");
  EXPECT_EQ(event.kind, EventKind::step_end);
  EXPECT_EQ(event.name, "STEP_END");
  EXPECT_EQ(event.step, 12);
  EXPECT_EQ(event.time_ms, 1794704396597);
  EXPECT_EQ(event.mono_us, 123456789);
  EXPECT_EQ(event.line, 1U);
  EXPECT_THAT(event.fields, ElementsAre("loss=2.5", "samples=32", "step=12"));
}

TEST(Parser, ReadsEveryEventOfFlagPerf) {
  const std::string metadata =
      R"("metadata": {"file": "r.py", "lineno": 1, "time_ms": 5, "rank": -1}})";
  const Collected got = collect(
      "[PerfLog] {\"event\": \"INIT_START\", " + metadata + "\n" +
      R"([PerfLog] {"event": "INIT_EVALUATION", "value": {"eval_loss": 1.5, "time": 12.5}, )" +
      metadata + "\n" + R"([PerfLog] {"event": "INIT_END", "other": "Finish initialization", )" +
      metadata + "\n" + R"([PerfLog] {"event": "TRAIN_START", )" + metadata + "\n" +
      R"([PerfLog] {"event": "EPOCH_BEGIN", )" + metadata + "\n" +
      R"([PerfLog] {"event": "STEP_BEGIN", "step": 1, )" + metadata + "\n" +
      R"([PerfLog] {"event": "STEP_END", "value": {"loss": NaN}, "step": 3, "loss": 1.0, )" +
      metadata + "\n" +
      R"([PerfLog] {"event": "EVALUATE", "value": {"global_steps": 100, "eval_loss": 2.0}, )" +
      metadata + "\n" + R"([PerfLog] {"event": "EPOCH_END", )" + metadata + "\n" +
      R"([PerfLog] {"event": "TRAIN_END", )" + metadata + "\n" +
      R"([PerfLog] {"event": "FINISHED", "value": {"e2e_time": 100.0, "converged": true}, )" +
      metadata + "\n" + R"([PerfLog] {"event": "SUBMIT_INFO", )" + metadata + "\n");
  EXPECT_EQ(got.stats.malformed, 0U);
  ASSERT_EQ(got.events.size(), 12U);
  const EventKind kinds[] = {
      EventKind::init_start,  EventKind::init_evaluation, EventKind::init_end,
      EventKind::train_start, EventKind::epoch_begin,     EventKind::step_begin,
      EventKind::step_end,    EventKind::evaluate,        EventKind::epoch_end,
      EventKind::train_end,   EventKind::finished,        EventKind::submit_info};
  for (std::size_t i = 0; i < 12; ++i) {
    EXPECT_EQ(got.events[i].kind, kinds[i]);
    EXPECT_EQ(got.events[i].time_ms, 5);
    EXPECT_EQ(got.events[i].mono_us, kMissing);
  }
  EXPECT_THAT(got.events[2].fields, ElementsAre("other='Finish initialization'"));
  EXPECT_EQ(got.events[5].step, 1);
  EXPECT_THAT(got.events[6].fields, ElementsAre("loss=nan", "step=3", "loss=1"));
  EXPECT_EQ(got.events[7].step, 100) << "global_steps of the value";
  EXPECT_THAT(got.events[10].fields, ElementsAre("e2e_time=100", "converged=true"));
}

TEST(Parser, PrefersTheTopLevelStepThenTheValuesStepThenGlobalSteps) {
  EXPECT_EQ(only(R"([PerfLog] {"value": {"global_steps": 3, "step": 2}, "step": 1})").step, 1);
  EXPECT_EQ(only(R"([PerfLog] {"value": {"global_steps": 3, "step": 2}})").step, 2);
  EXPECT_EQ(only(R"([PerfLog] {"value": {"global_step": 4, "global_steps": 3}})").step, 3);
  EXPECT_EQ(only(R"([PerfLog] {"value": {"step": 2.5, "global_steps": 3}})").step, 3);
  EXPECT_EQ(only(R"([PerfLog] {"value": {"step": 12.0}})").step, 12);
  EXPECT_EQ(only(R"([PerfLog] {"value": {"step": "x"}})").step, kMissing);
  EXPECT_EQ(only(R"([PerfLog] {"value": {"inner": {"step": 2}}})").step, kMissing);
}

TEST(Parser, FindsTheTokenAfterAnyText) {
  for (const std::string prefix : {"0: ", "[1,3]<stderr>:", "\t", "2024-01-01 [INFO] ",
                                   " 45%|####      |\r", "[Perf[PerfL", "\x1b[32m", "node-7: "}) {
    const Collected got = collect(prefix + "[PerfLog]\t{\"event\": \"STEP_END\", \"step\": 4}\n");
    ASSERT_EQ(got.events.size(), 1U) << prefix;
    EXPECT_EQ(got.events[0].step, 4);
    EXPECT_THAT(got.text, ElementsAre("1:" + prefix));
  }
}

TEST(Parser, IgnoresWhatFollowsTheObject) {
  const Collected got = collect(
      "[PerfLog] {\"step\": 4}\r\n[PerfLog] {\"step\": 5}\x1b[0m\n"
      "[PerfLog] {\"step\": 6} 45%|###|\n");
  ASSERT_EQ(got.events.size(), 3U);
  EXPECT_EQ(got.events[2].step, 6);
  EXPECT_EQ(got.stats.malformed, 0U);
}

TEST(Parser, ReadsSeveralEventsOfOneLine) {
  const Collected got = collect(R"([PerfLog] {"step": 1}[PerfLog] {"step": 2})"
                                "\n\n");
  ASSERT_EQ(got.events.size(), 2U);
  EXPECT_EQ(got.events[1].step, 2);
  EXPECT_EQ(got.events[1].line, 1U);
  EXPECT_EQ(got.stats.lines, 2U);
}

TEST(Parser, RecoversTheEventAfterATornOne) {
  const Collected got =
      collect(R"([PerfLog] {"event": "STEP_E[PerfLog] {"event": "STEP_END", "step": 2})"
              "\n");
  ASSERT_EQ(got.events.size(), 1U);
  EXPECT_EQ(got.events[0].step, 2);
  EXPECT_EQ(got.stats.malformed, 1U);
}

TEST(Parser, TokenInsideAStringIsText) {
  const Kept event =
      only(R"([PerfLog] {"event": "INIT_END", "other": "see [PerfLog] {\"a\": 1}"})");
  EXPECT_THAT(event.fields, ElementsAre(R"(other='see [PerfLog] {\"a\": 1}')"));
}

TEST(Parser, CountsMalformedLinesAndGoesOn) {
  const Collected got = collect(
      "plain\n"
      "[PerfLog] {\"event\": \"STEP_END\", \"value\": {\"loss\": 2.\n"
      "[PerfLog] not json\n"
      "[PerfLog]\n"
      "[PerfLog] [1, 2]\n"
      "[PerfLog] {\"a\": [1, 2}}\n"
      "[PerfLog] {\"a\": tru}\n"
      "[PerfLog] {\"a\": 1,}\n"
      "[PerfLog] {\"a\" 1}\n"
      "[PerfLog] {\"a\": -}\n"
      "[PerfLog] {\"a\": 1e}\n"
      "[PerfLog] {'event': 'STEP_END'}\n"
      "[PerfLog] {\"step\": 7}\n");
  EXPECT_EQ(got.stats.malformed, 11U);
  EXPECT_EQ(got.stats.first_malformed, 2U);
  EXPECT_EQ(got.stats.lines, 13U);
  EXPECT_EQ(got.stats.events, 1U);
  EXPECT_EQ(got.events.at(0).line, 13U);
  EXPECT_THAT(got.text, ElementsAre("1:plain"));
}

TEST(Parser, ReadsNonFiniteNumbersInAllSpellings) {
  const Kept event =
      only(R"([PerfLog] {"value": {"a": NaN, "b": Infinity, "c": -Infinity, "d": nan, "e": -inf, )"
           R"("f": 1e999, "g": -1e-999}})");
  EXPECT_THAT(event.fields,
              ElementsAre("a=nan", "b=inf", "c=-inf", "d=nan", "e=-inf", "f=inf", "g=-0"));
}

TEST(Parser, RestoresWhatTheStrictWriterListsAsNonFinite) {
  const Kept event =
      only(R"([PerfLog] {"event": "STEP_END", "value": {"loss": null, "note": null, "x": 1, )"
           R"("nonfinite": ["loss", "x", "absent"]}, "step": 1})");
  EXPECT_THAT(event.fields, ElementsAre("loss=nan", "note=null", "x=1", "step=1"));
}

TEST(Parser, FlattensOneLevelAndSkipsArraysAndDeeperObjects) {
  const Kept event = only(
      R"([PerfLog] {"event": "EVALUATE", "value": {"m": {"acc": 0.5, "deep": {"x": [1, {"y": 2}]}, )"
      R"("l": [1, 2]}, "list": [[], {}, [{"a": [null]}]], "b": true}, )"
      R"("config": {"lr": 1e-4, "name": "x"}, "tags": ["p"], "metadata": {"extra": {"time_ms": 1}}})");
  EXPECT_THAT(event.fields,
              ElementsAre("m.acc=0.5", "b=true", "config.lr=0.0001", "config.name='x'"));
  EXPECT_EQ(event.time_ms, kMissing);
}

TEST(Parser, ListsScalarsThatStandWhereObjectsAreUsual) {
  EXPECT_THAT(only(R"([PerfLog] {"event": "X", "value": 3.5})").fields, ElementsAre("value=3.5"));
  EXPECT_THAT(only(R"([PerfLog] {"event": 7, "value": []})").fields, ElementsAre("event=7"));
  EXPECT_EQ(only(R"([PerfLog] {})").kind, EventKind::unknown);
}

TEST(Parser, ListsDuplicateKeysTwice) {
  EXPECT_THAT(only(R"([PerfLog] {"value": {"loss": 1, "loss": 2}})").fields,
              ElementsAre("loss=1", "loss=2"));
}

TEST(Parser, KeepsIntegersBeyondTwoToThe53) {
  const Kept event =
      only(R"([PerfLog] {"step": 9007199254740993, "metadata": {"mono_us": 9223372036854775807}})");
  EXPECT_EQ(event.step, 9007199254740993);
  EXPECT_EQ(event.mono_us, INT64_MAX);
  EXPECT_EQ(only(R"([PerfLog] {"step": 9223372036854775808})").step, kMissing);
  EXPECT_EQ(only(R"([PerfLog] {"step": 99999999999999999999999999})").step, kMissing);
  EXPECT_EQ(only(R"([PerfLog] {"step": -5})").step, -5);
}

TEST(Parser, UnescapesKeysAndNames) {
  const Kept event = only(R"([PerfLog] {"\u0065vent": "STEP\u005fEND", "value": )"
                          R"({"l\"o\\s\ts": 1, "\u00e9\ud83d\ude00": 2, "a": {"\u0062": 3}}})");
  EXPECT_EQ(event.kind, EventKind::step_end);
  EXPECT_THAT(event.fields, ElementsAre("l\"o\\s\ts=1", "\u00e9\U0001F600=2", "a.b=3"));
}

TEST(Parser, TakesTheTimeFromTheTopLevelWhenMetadataHasNone) {
  EXPECT_EQ(only(R"([PerfLog] {"time_ms": 4})").time_ms, 4);
  EXPECT_EQ(only(R"([PerfLog] {"metadata": {"time_ms": 5}, "time_ms": 4})").time_ms, 5);
  EXPECT_EQ(only(R"([PerfLog] {"time_ms": 4, "metadata": {"time_ms": 5.75}})").time_ms, 5);
}

TEST(Parser, SurvivesNestingOfAnyDepth) {
  for (const std::size_t depth : {1000U, 1024U, 1025U, 400000U}) {
    const std::string open(depth, '[');
    const std::string close(depth, ']');
    const Collected got =
        collect("[PerfLog] {\"value\": {\"x\": " + open + close + "}, \"step\": 1}\n");
    EXPECT_EQ(got.stats.events, depth <= 1024 ? 1U : 0U) << depth;
    EXPECT_EQ(got.stats.malformed, depth <= 1024 ? 0U : 1U) << depth;
  }
}

TEST(Parser, AcceptsNulBytesAndInvalidUtf8) {
  using std::string_view_literals::operator""sv;
  const Collected got =
      collect("a\0b\n[PerfLog] {\"event\": \"X\", \"t\": \"\xff\xfe\0\"}\n\xc3\n"sv);
  EXPECT_EQ(got.stats.events, 1U);
  EXPECT_THAT(got.events.at(0).fields, ElementsAre(std::string("t='\xff\xfe\0'", 7)));
  EXPECT_THAT(got.text, ElementsAre(std::string("1:a\0b", 5), "3:\xc3"));
}

TEST(Parser, GivesTextLinesWithoutTheirLineEnd) {
  EXPECT_THAT(collect("one\r\n\ntwo\rthree\nlast").text,
              ElementsAre("1:one", "2:", "3:two\rthree", "4:last"));
}

TEST(Parser, ReadsAWholeEventWithoutNewlineAtTheEnd) {
  const Collected got = collect("[PerfLog] {\"step\": 3}");
  EXPECT_EQ(got.stats.events, 1U);
  EXPECT_FALSE(got.stats.truncated_tail);
  EXPECT_EQ(got.stats.lines, 1U);
}

TEST(Parser, RecordsATruncatedTail) {
  const std::string line = R"([PerfLog] {"event": "STEP_END", "value": {"loss": 2.5}, "step": 3})";
  for (std::size_t size = 2; size < line.size(); ++size) {
    const Collected got = collect("[PerfLog] {\"step\": 2}\n" + line.substr(0, size));
    EXPECT_TRUE(got.stats.truncated_tail) << size;
    EXPECT_EQ(got.stats.malformed, 0U) << size;
    EXPECT_EQ(got.stats.events, 1U) << size;
  }
  EXPECT_FALSE(collect("plain text without newline").stats.truncated_tail);
  EXPECT_FALSE(collect("").stats.truncated_tail);
}

TEST(Parser, SkipsOverlongLinesAndCountsThoseWithTheToken) {
  const std::string filler(Parser::kMaxLine + 1, 'x');
  const std::string text = filler + "\n" + filler +
                           "[PerfLog] {\"step\": 1}\n[PerfLog] {\"t\": \"" + filler +
                           "\"}\n[PerfLog] {\"step\": 2}\nok\n";
  for (const std::size_t piece : {std::string::npos, std::size_t{65536}, std::size_t{4099}}) {
    const Collected got = collect(text, piece);
    EXPECT_EQ(got.stats.malformed, 2U);
    EXPECT_EQ(got.stats.first_malformed, 2U);
    EXPECT_EQ(got.stats.lines, 5U);
    ASSERT_EQ(got.events.size(), 1U);
    EXPECT_EQ(got.events[0].line, 4U);
    EXPECT_THAT(got.text, ElementsAre("1:" + filler, "2:" + filler, "5:ok"));
  }
}

TEST(Parser, BeginsAnotherLineAfterACut) {
  std::vector<std::string> text;
  int events = 0;
  Parser parser([&](const Event&) { ++events; },
                [&](std::string_view part, std::uint64_t, bool ends) {
                  text.push_back(std::string(part) + (ends ? "." : "…"));
                });
  parser.feed("one\n[PerfLog] {\"step\": 1}\ntw");
  parser.cut();
  parser.feed("o\n[PerfLog] {\"step\"");
  parser.cut();
  parser.feed(": 2}\nthree");
  parser.finish();
  EXPECT_EQ(events, 1);
  EXPECT_THAT(text, ElementsAre("one.", "tw…", "o.", ": 2}.", "three."));
  EXPECT_FALSE(parser.stats().truncated_tail);
  EXPECT_EQ(parser.stats().malformed, 0U);
}

TEST(Parser, GivesTheTextBesideEvents) {
  const Collected got = collect(
      "50%\r[PerfLog] {\"step\": 1} and [PerfLog] {\"step\": 2}\r\n[PerfLog] {\"step\": 3} 60%\n"
      "rate [PerfLog] {torn\n");
  EXPECT_EQ(got.events.size(), 3U);
  EXPECT_THAT(got.text, ElementsAre("1:50%\r", "1: and ", "2: 60%", "3:rate "));
}

TEST(Parser, GivesTheTextOfOverlongLinesHoweverTheyAreCut) {
  std::string line;
  while (line.size() < Parser::kMaxLine + 5000)
    line += "it/s=" + std::to_string(line.size()) + "\r";
  for (const std::string& end : {std::string("\n"), std::string(), std::string("[PerfLog] {}\n")})
    for (const std::size_t piece : {std::string::npos, std::size_t{65536}, std::size_t{7}})
      EXPECT_THAT(collect(line + "." + end, piece).text, ElementsAre("1:" + line + "."));
}

TEST(Parser, TakesALineOfExactlyTheLimit) {
  std::string line = "[PerfLog] {\"t\": \"";
  line += std::string(Parser::kMaxLine - line.size() - 2, 'x') + "\"}";
  ASSERT_EQ(line.size(), Parser::kMaxLine);
  EXPECT_EQ(collect(line + "\n").stats.events, 1U);
  EXPECT_EQ(collect(line + "\n", 1000).stats.events, 1U);
  EXPECT_EQ(collect(line + " \n").stats.malformed, 1U);
  EXPECT_EQ(collect(line + " \n", 1000).stats.malformed, 1U);
}

TEST(Parser, ManyTokensOnOneLineTakeLinearTime) {
  std::string text;
  while (text.size() < Parser::kMaxLine - 100) text += "[PerfLog] {\"a\": {\"b\": [\"";
  const Collected got = collect(text + "\n");
  EXPECT_EQ(got.stats.malformed, 1U);
}

TEST(Parser, NestedKeysCannotUseUnboundedMemory) {
  std::string text = "[PerfLog] {\"" + std::string(4000, 'k') + "\": {";
  while (text.size() < Parser::kMaxLine - 100) text += "\"a\": 1, ";
  const Collected got = collect(text + "\"z\": 2}, \"step\": 3}\n");
  ASSERT_EQ(got.events.size(), 1U);
  EXPECT_EQ(got.events[0].step, 3);
  EXPECT_LE(got.events[0].fields.size(), 300U);
}

TEST(ParseFile, ReadsAFileLargerThanItsBlocks) {
  const assay::testing::TemporaryFolder folder;
  const auto path = folder.path() / "rank0.out.log";
  constexpr int count = 20000;
  {
    std::ofstream out(path);
    for (int i = 1; i <= count; ++i)
      out << "[PerfLog] {\"event\": \"STEP_END\", \"value\": {\"loss\": " << 1.0 / i
          << "}, \"step\": " << i << "}\n";
  }
  std::int64_t next = 1;
  const ParseStats stats = parse_file(path, [&](const Event& event) {
    EXPECT_EQ(event.step, next);
    EXPECT_EQ(event.line, static_cast<std::uint64_t>(next));
    ++next;
  });
  EXPECT_EQ(stats.events, static_cast<std::uint64_t>(count));
  EXPECT_EQ(stats.bytes, std::filesystem::file_size(path));
}

TEST(ParseFile, NamesTheFileThatCannotBeRead) {
  for (const char* path : {"/nonexistent/rank0.out.log", "/"}) {
    try {
      static_cast<void>(parse_file(path, [](const Event&) {}));
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::environment);
      EXPECT_EQ(error.where(), path);
    }
  }
}

}  // namespace
}  // namespace assay::perflog
