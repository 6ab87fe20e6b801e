#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/files.h"
#include "error_of.h"
#include "launch/cloud/transfer_settings.h"
#include "temporary_folder.h"

namespace assay::launch {
namespace {

using assay::testing::error_of;
using ::testing::AllOf;
using ::testing::HasSubstr;

TransferSettings settings(const std::string& text) {
  return transfer_settings(parse_json(text, "test"), "/site", "key.json");
}

TEST(TransferSettings, ReachTheClientAndTheStore) {
  const TransferSettings out = settings(
      R"({"stall": "5s", "min_rate": "2K", "attempts": 3, "signing": "aws-v4",
          "region": "eu-1", "path_style": true, "parallel": 2, "part_size": "8M",
          "multipart_from": "16M", "proxy": "http://proxy:3128"})");
  EXPECT_EQ(out.client.stall_timeout, std::chrono::seconds(5));
  EXPECT_EQ(out.client.min_rate, 2048U);
  EXPECT_EQ(out.client.retry.attempts, 3);
  EXPECT_EQ(out.client.proxy, "http://proxy:3128");
  const cloud::ObsOptions store = out.store_at("https://store");
  EXPECT_EQ(store.endpoint, "https://store");
  EXPECT_EQ(store.signing, cloud::ObsSigning::aws_v4);
  EXPECT_EQ(store.region, "eu-1");
  EXPECT_TRUE(store.path_style);
  EXPECT_EQ(store.parallel, 2);
  EXPECT_EQ(store.part_size, 8U << 20);
  EXPECT_EQ(store.multipart_from, 16U << 20);
}

TEST(TransferSettings, TakeThePrivateAuthorityBesideTheirFile) {
  const testing::TemporaryFolder folder;
  write_file_atomic(folder.path() / "ca.pem", "", false);
  write_file_atomic(folder.path() / "key.json", R"({"transfer": {"ca_file": "ca.pem"}})", false);
  EXPECT_EQ(read_transfer_settings(folder.path() / "key.json").client.ca_file,
            folder.path() / "ca.pem");
}

TEST(TransferSettings, ThatAreWrongAreRefusedWithTheirPlace) {
  EXPECT_THAT(error_of([] { return settings(R"({"stal": "5s"})"); }),
              AllOf(HasSubstr("key.json"), HasSubstr("'stal'"), HasSubstr("stall")));
  EXPECT_THAT(error_of([] { return settings(R"({"stall": "0s"})"); }), HasSubstr("1s to 1h"));
  EXPECT_THAT(error_of([] { return settings(R"({"signing": "aws-v4"})"); }), HasSubstr("region"));
  EXPECT_THAT(error_of([] { return settings(R"({"ca_file": "nowhere.pem"})"); }),
              HasSubstr("no such ca_file"));
  EXPECT_THAT(error_of([] { return settings("[]"); }), HasSubstr("an object"));
}

}  // namespace
}  // namespace assay::launch
