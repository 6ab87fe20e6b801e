// The hot paths allocate nothing: counted by replacing the global operator new of this program.

#include <atomic>
#include <cstdlib>
#include <new>
#include <string>

#include <fcntl.h>
#include <gtest/gtest.h>

#include "core/files.h"
#include "perflog/parser.h"
#include "perflog/progress.h"
#include "perflog/writer.h"

namespace {

std::atomic<std::size_t> g_allocations{0};

}  // namespace

void* operator new(std::size_t size) {
  ++g_allocations;
  if (void* const memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace assay::perflog {
namespace {

std::string mixed_log() {
  std::string text;
  for (int i = 0; i < 500; ++i)
    text += "[PerfLog] {\"event\": \"STEP_END\", \"value\": {\"loss\": 2." + std::to_string(i) +
            ", \"name\": \"n" + std::to_string(i % 7) +
            "\", \"m\": {\"a\": 1}}, \"step\": " + std::to_string(i) +
            "}\n[PerfLog] {\"event\": \"STEP_BEGIN\", \"step\": " + std::to_string(i) +
            "}\nsome text\n[PerfLog] torn {\n";
  return text;
}

template <typename Function>
std::size_t allocations(Function function) {
  const std::size_t before = g_allocations;
  function();
  return g_allocations - before;
}

TEST(Allocation, ParserAllocatesNothingAfterWarmUp) {
  const std::string text = mixed_log();
  double sum = 0;
  Parser parser([&](const Event& event) { sum += static_cast<double>(event.step); },
                [&](std::string_view piece, std::uint64_t, bool) {
                  sum += static_cast<double>(piece.size());
                });
  const auto feed = [&] {
    for (std::size_t at = 0; at < text.size(); at += 997)
      parser.feed(std::string_view(text).substr(at, 997));
  };
  EXPECT_GT(allocations(feed), 0U);
  EXPECT_EQ(allocations(feed), 0U);
  EXPECT_GT(sum, 0);
}

TEST(Allocation, ProgressScannerAllocatesNothing) {
  const std::string text = mixed_log();
  ProgressScanner scanner;
  EXPECT_EQ(allocations([&] { scanner.feed(text); }), 0U);
  EXPECT_EQ(scanner.steps(), 500U);
}

TEST(Allocation, WriterAllocatesNothing) {
  const UniqueFd null(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  Writer writer(null.get(), 0);
  Step step;
  step.loss = 2.5;
  step.samples = 32;
  EXPECT_EQ(allocations([&] {
              for (int i = 0; i < 100; ++i)
                writer.step_end(i, step, {{"grad_norm", 0.5}, {"s", "t"}});
            }),
            0U);
}

}  // namespace
}  // namespace assay::perflog
