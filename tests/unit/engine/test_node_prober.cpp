#include <atomic>

#include <gtest/gtest.h>

#include "core/error.h"
#include "engine/node_prober.h"
#include "eventually.h"

namespace assay::engine {
namespace {

using testing::eventually;

TEST(NodeProber, ANodeThatCannotBeAskedForWasNotReached) {
  std::atomic<int> asked = 0;
  std::atomic<bool> fails = false;
  const EmbeddedNode node{.name = "n1", .remote = true};
  NodeProber prober(
      {node},
      [&](const EmbeddedNode& /*node*/) -> bool {
        ++asked;
        if (fails) throw Error(ErrorKind::environment, "cannot start a process");
        return true;
      },
      std::chrono::milliseconds(1));
  ASSERT_TRUE(eventually([&] { return prober.available(node); }));
  fails = true;
  EXPECT_TRUE(eventually([&] { return !prober.available(node); }));
  fails = false;
  EXPECT_TRUE(eventually([&] { return prober.available(node); })) << asked;
}

}  // namespace
}  // namespace assay::engine
