#include <gtest/gtest.h>

#include "core/fnv1a.h"

namespace assay {
namespace {

TEST(Fnv1a, GivesThePublishedValues) {
  EXPECT_EQ(fnv1a(""), 0xcbf29ce484222325U);
  EXPECT_EQ(fnv1a("a"), 0xaf63dc4c8601ec8cU);
  EXPECT_EQ(fnv1a<std::uint32_t>("a"), 0xe40c292cU);
}

TEST(Fnv1a, GoesOnFromAnEarlierPart) {
  EXPECT_EQ(fnv1a("bar", fnv1a("foo")), fnv1a("foobar"));
}

}  // namespace
}  // namespace assay
