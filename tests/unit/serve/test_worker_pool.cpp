#include <future>
#include <stdexcept>

#include <gtest/gtest.h>

#include "serve/worker_pool.h"

namespace assay::serve {
namespace {

TEST(WorkerPool, ATaskThatThrowsCostsTheNextOneNothing) {
  std::promise<void> done;
  WorkerPool workers(1, 10);
  ASSERT_TRUE(workers.post("ann", [] { throw std::runtime_error("no memory"); }));
  ASSERT_TRUE(workers.post("ann", [&] { done.set_value(); }));
  EXPECT_EQ(done.get_future().wait_for(std::chrono::seconds(60)), std::future_status::ready);
}

}  // namespace
}  // namespace assay::serve
