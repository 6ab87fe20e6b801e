#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
#include <gmock/gmock.h>

#include "agent/one_shot_commands.h"
#include "temporary_folder.h"

namespace assay::agent {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using namespace std::chrono_literals;

using Command = std::vector<std::string>;

Command shell(const std::string& script) {
  return {"/bin/sh", "-c", script};
}

std::vector<bool> cleaned(std::vector<Command> commands, Nanoseconds limit) {
  asio::io_context loop(1);
  std::vector<bool> out;
  asio::co_spawn(loop, clean_up(std::move(commands), limit),
                 [&](const std::exception_ptr& error, const std::vector<bool>& done) {
                   EXPECT_FALSE(error);
                   out = done;
                   loop.stop();
                 });
  loop.run();
  return out;
}

TEST(CleanUp, OfManyContainersTakesAsLongAsOfOne) {
  const std::vector<Command> commands(16, shell("sleep 1"));
  EXPECT_THAT(cleaned(commands, 10s), Each(true));  // one after the other: 16 s
}

TEST(CleanUp, IsTriedAgainUntilItSucceeds) {
  const testing::TemporaryFolder folder;
  const std::string mark = (folder.path() / "tried").string();
  EXPECT_THAT(cleaned({shell("test -e " + mark + " || { touch " + mark + "; false; }")}, 10s),
              ElementsAre(true));
}

TEST(CleanUp, OfAContainerThatIsGoneSucceeds) {
  const Command docker = shell("echo 'Error: No such container: assay-1-0' >&2; exit 1");
  EXPECT_THAT(cleaned({docker}, 10s), ElementsAre(true));
}

TEST(CleanUp, OneThatNeverSucceedsIsTheOnlyOneThatFails) {
  EXPECT_THAT(cleaned({shell("true"), shell("false"), {}}, 1s), ElementsAre(true, false, true));
}

TEST(CleanUp, OneThatIsNotThereFails) {
  EXPECT_THAT(cleaned({{"/no/such/program"}, shell("true")}, 300ms), ElementsAre(false, true));
}

TEST(CleanUp, OneThatHangsIsGivenUp) {
  EXPECT_THAT(cleaned({shell("sleep 60")}, 300ms), ElementsAre(false));
}

}  // namespace
}  // namespace assay::agent
