#include <gtest/gtest.h>

#include "core/address.h"

namespace assay {
namespace {

TEST(Address, AnEndpointIsANumericAddressAndAPort) {
  const auto v4 = parse_endpoint("127.0.0.1:9400");
  ASSERT_TRUE(v4);
  EXPECT_EQ(v4->address, "127.0.0.1");
  EXPECT_EQ(v4->port, 9400);
  const auto v6 = parse_endpoint("[::1]:1");
  ASSERT_TRUE(v6);
  EXPECT_EQ(v6->address, "::1");
  for (const char* wrong : {"", ":", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1",
                            "127.0.0.1:80x", "localhost:80", "::1:80", "[127.0.0.1]:80", "[::1]"})
    EXPECT_FALSE(parse_endpoint(wrong)) << wrong;
}

TEST(Address, AUrlNamesThisMachineByNameOrNumberAlone) {
  for (const char* here :
       {"localhost", "localhost:8480", "127.0.0.1", "127.8.9.1:80", "[::1]", "[::1]:8480"})
    EXPECT_TRUE(is_this_machine(here)) << here;
  for (const char* elsewhere :
       {"", "127.example.org", "127.0.0.1.example.org:80", "localhost.example.org",
        "[::1]example.org", "127.0.0.1@example.org", "localhost@example.org:80", "[::2]", "::1",
        "10.0.0.1:80"})
    EXPECT_FALSE(is_this_machine(elsewhere)) << elsewhere;
}

TEST(Address, OnlyThisMachineReachesItsLoopback) {
  for (const char* inside : {"127.0.0.1", "127.8.9.1", "::1"}) EXPECT_TRUE(is_loopback(inside));
  for (const char* outside : {"0.0.0.0", "::", "10.0.0.1", "127.evil.example"})
    EXPECT_FALSE(is_loopback(outside)) << outside;
}

}  // namespace
}  // namespace assay
