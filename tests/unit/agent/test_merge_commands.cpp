#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "agent/merge_commands.h"
#include "core/files.h"

namespace assay::agent {
namespace {

using ::testing::HasSubstr;

struct Merged {
  int code = 0;
  std::string output{};
};

/// Runs the commands with this input, which ends then.
Merged merge(const std::vector<std::vector<std::string>>& commands, const std::string& input) {
  int in[2];
  int out[2];
  EXPECT_EQ(::pipe(in), 0);
  EXPECT_EQ(::pipe(out), 0);
  UniqueFd read_in(in[0]);
  UniqueFd write_in(in[1]);
  UniqueFd read_out(out[0]);
  UniqueFd write_out(out[1]);
  std::thread writer([&] {
    for (std::size_t n = 0; n < input.size();) {
      const ssize_t wrote = ::write(write_in.get(), input.data() + n, input.size() - n);
      if (wrote <= 0) break;
      n += static_cast<std::size_t>(wrote);
    }
    write_in.reset();
  });
  Merged result;
  std::thread reader([&] {
    char buffer[4096];
    for (ssize_t n = 0; (n = ::read(read_out.get(), buffer, sizeof buffer)) > 0;)
      result.output.append(buffer, static_cast<std::size_t>(n));
  });
  result.code = merge_commands(commands, read_in.get(), write_out.get());
  write_out.reset();
  reader.join();
  writer.join();
  return result;
}

TEST(MergeCommands, EachGetsTheWholeInputAndLinesComeOutWhole) {
  std::string input;
  for (int i = 0; i < 20'000; ++i) input += "line " + std::to_string(i) + " of the input\n";
  const Merged merged = merge({{"sed", "s/^/a /"}, {"sed", "s/^/b /"}}, input);
  EXPECT_EQ(merged.code, 0);
  int a = 0;
  int b = 0;
  std::size_t at = 0;
  while (at < merged.output.size()) {
    const auto end = merged.output.find('\n', at);
    ASSERT_NE(end, std::string::npos);
    const std::string line = merged.output.substr(at, end - at);
    int& next = line[0] == 'a' ? a : b;
    ASSERT_EQ(line.substr(2), "line " + std::to_string(next) + " of the input");
    ++next;
    at = end + 1;
  }
  EXPECT_EQ(a, 20'000);
  EXPECT_EQ(b, 20'000);
}

TEST(MergeCommands, OneThatEndsOrDoesNotReadLeavesTheOthersServed) {
  const std::string input(1 << 20, 'x');
  const Merged merged =
      merge({{"/bin/sh", "-c", "exit 3"}, {"/bin/sh", "-c", "wc -c"}}, input + "\n");
  EXPECT_EQ(merged.code, 3);
  EXPECT_THAT(merged.output, HasSubstr(std::to_string(input.size() + 1)));
}

TEST(MergeCommands, ALastLineWithoutAnEndGetsOne) {
  EXPECT_EQ(merge({{"printf", "abc"}}, "").output, "abc\n");
}

}  // namespace
}  // namespace assay::agent
