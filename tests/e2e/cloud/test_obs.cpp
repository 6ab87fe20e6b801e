#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cloud/service_error.h"
#include "core/digest.h"
#include "core/files.h"
#include "e2e/cloud/emulator_process.h"
#include "error_of.h"

namespace assay::cloud {
namespace {

using ::assay::testing::error_of;
using ::testing::AllOf;
using ::testing::HasSubstr;

class Obs : public EmulatorTest {
 protected:
  std::string code_of(ObsBucket& bucket) {
    try {
      bucket.check();
    } catch (const ServiceError& e) {
      return e.code();
    }
    return "no error";
  }
};

TEST_F(Obs, GivesBackWhatWasPut) {
  ObsBucket store = bucket();
  for (const std::string key : {"plain", "folder/", "a b/ü+%&?#=~!*'()", "..//odd/./key"}) {
    const ObjectInfo put = store.put(key, "content of " + key);
    EXPECT_EQ(put.etag, to_hex(digest(Hash::md5, "content of " + key)));
    EXPECT_EQ(store.get(key), "content of " + key);
    EXPECT_EQ(store.head(key)->size, 11 + key.size());
  }
  EXPECT_EQ(store.list("").size(), 4U);
}

TEST_F(Obs, SpeaksTheSignatureOfAws) {
  ObsOptions options = obs_options();
  options.signing = ObsSigning::aws_v4;
  options.region = "eu-west-0";
  ObsBucket store(client_, credentials_, options, "bucket-one");
  const auto file = make_file("large", 3 << 20);
  store.put("a b/ü?", "small");
  store.put_file("large", file);
  store.get_file("large", folder_ / "back");
  EXPECT_EQ(read_file(folder_ / "back"), read_file(file));
  EXPECT_EQ(store.list("a ").size(), 1U);
}

TEST_F(Obs, SpeaksToABucketsOwnHost) {
  ObsOptions options = obs_options();
  const std::string port = url().substr(url().rfind(':'));
  options.endpoint = "http://localhost" + port;
  ObsBucket store(client_, credentials_, options, "bucket-one");
  store.put("key", "by virtual host");
  EXPECT_EQ(bucket().get("key"), "by virtual host");
}

TEST_F(Obs, SendsALargeFileInPartsAndFetchesIt) {
  ObsBucket store = bucket();
  const auto file = make_file("large", (5 << 20) + 12345);
  const ObjectInfo put = store.put_file("large", file);
  EXPECT_TRUE(put.etag.ends_with("-21")) << put.etag;
  EXPECT_EQ(put.etag, store.etag_of(file));
  EXPECT_EQ(store.get_file("large", folder_ / "back"), (5U << 20) + 12345);
  EXPECT_EQ(read_file(folder_ / "back"), read_file(file));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "back.assay-partial"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "back.assay-partial.json"));
}

TEST_F(Obs, HandlesEmptyFiles) {
  ObsBucket store = bucket();
  const auto file = make_file("empty", 0);
  EXPECT_EQ(store.put_file("empty", file).etag, "d41d8cd98f00b204e9800998ecf8427e");
  EXPECT_EQ(store.get_file("empty", folder_ / "back"), 0U);
  EXPECT_EQ(std::filesystem::file_size(folder_ / "back"), 0U);
}

TEST_F(Obs, ReadsARangeAndNothingBeyondTheEnd) {
  ObsBucket store = bucket();
  store.put("key", "0123456789");
  EXPECT_EQ(store.get("key", 4), "456789");
  EXPECT_EQ(store.get("key", 4, 3), "456");
  EXPECT_EQ(store.get("key", 10), "");
  EXPECT_EQ(store.get("key", 1000), "");
}

TEST_F(Obs, ListsPageByPage) {
  ObsBucket store = bucket();
  for (int i = 0; i < 25; ++i) store.put("p/" + std::to_string(100 + i), "x");
  store.put("q", "not asked for");
  const auto all = store.list("p/", {}, 10);
  ASSERT_EQ(all.size(), 25U);
  EXPECT_EQ(all.front().key, "p/100");
  EXPECT_EQ(all.back().key, "p/124");
  EXPECT_EQ(count("GET obs"), 3U);
}

TEST_F(Obs, RemovesWhatIsThereAndWhatIsNot) {
  ObsBucket store = bucket();
  store.put("key", "x");
  store.remove("key");
  store.remove("key");
  EXPECT_FALSE(store.head("key"));
}

TEST_F(Obs, SaysTheServicesCodeAndWhatToDo) {
  ObsBucket missing(client_, credentials_, obs_options(), "no-such-bucket");
  EXPECT_THAT(error_of([&] { return missing.get("key"); }),
              AllOf(HasSubstr("404 NoSuchBucket"), HasSubstr("GET no-such-bucket/key"),
                    HasSubstr("check the bucket's name")));
  ObsBucket store = bucket();
  EXPECT_THAT(error_of([&] { return store.get_file("no/key", folder_ / "x"); }),
              HasSubstr("NoSuchKey"));
}

TEST_F(Obs, TellsAWrongKeyFromAWrongSecret) {
  FixedCredentials wrong_key({"AKNOBODY", secret_key_, ""});
  ObsBucket first(client_, wrong_key, obs_options(), "bucket-one");
  EXPECT_EQ(code_of(first), "InvalidAccessKeyId");
  FixedCredentials wrong_secret({access_key_, "not the secret", ""});
  ObsBucket second(client_, wrong_secret, obs_options(), "bucket-one");
  EXPECT_EQ(code_of(second), "SignatureDoesNotMatch");
}

TEST_F(Obs, SaysThatTheClockIsWrong) {
  start({{"clock_offset_s", 3600}});
  ObsBucket store = bucket();
  EXPECT_THAT(error_of([&] { return store.check(), 0; }),
              AllOf(HasSubstr("RequestTimeTooSkewed"), HasSubstr("behind the server's"),
                    HasSubstr("clock (NTP)")));
}

TEST_F(Obs, SaysThatAnEndpointAnswersLikeNoService) {
  fault({{"kind", "html"}, {"count", -1}});
  ObsBucket store = bucket();
  EXPECT_THAT(error_of([&] { return store.check(), 0; }),
              AllOf(HasSubstr("not the service's"), HasSubstr("Please log in")));
}

TEST_F(Obs, ComesThroughBrokenUploads) {
  const auto file = make_file("large", 3 << 20);
  fault({{"kind", "drop-request"}, {"method", "PUT"}, {"bytes", 100'000}, {"count", 3}});
  fault({{"kind", "drop-reply"}, {"method", "PUT"}, {"skip", 2}, {"count", 2}});
  fault(
      {{"kind", "status"}, {"status", 503}, {"code", "SlowDown"}, {"method", "PUT"}, {"skip", 4}});
  ObsBucket store = bucket();
  EXPECT_EQ(store.put_file("large", file).etag, store.etag_of(file));
  store.get_file("large", folder_ / "back");
  EXPECT_EQ(read_file(folder_ / "back"), read_file(file));
}

TEST_F(Obs, GoesOnWhereADownloadBroke) {
  const auto file = make_file("one-piece", 900'000);
  ObsBucket store = bucket();
  store.put_file("key", file);
  fault({{"kind", "cut-reply"}, {"method", "GET"}, {"bytes", 300'000}, {"count", 2}});
  EXPECT_EQ(store.get_file("key", folder_ / "back"), 900'000U);
  EXPECT_EQ(read_file(folder_ / "back"), read_file(file));
  EXPECT_EQ(count("GET obs"), 3U);
}

TEST_F(Obs, FetchesOnlyTheMissingPartsAfterItFailed) {
  const auto file = make_file("large", 2 << 20);
  ObsOptions options = obs_options();
  options.parallel = 1;
  ObsBucket store(client_, credentials_, options, "bucket-one");
  store.put_file("key", file);
  fault({{"kind", "status"},
         {"status", 403},
         {"code", "AccessDenied"},
         {"method", "GET"},
         {"skip", 5}});
  EXPECT_THAT(error_of([&] { return store.get_file("key", folder_ / "back"); }),
              HasSubstr("AccessDenied"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "back"));
  EXPECT_EQ(store.get_file("key", folder_ / "back"), 3U * (256 << 10));  // 5 of 8 were there
  EXPECT_EQ(read_file(folder_ / "back"), read_file(file));
}

TEST_F(Obs, StartsAfreshWhenTheObjectChanged) {
  ObsOptions options = obs_options();
  options.parallel = 1;
  ObsBucket store(client_, credentials_, options, "bucket-one");
  store.put_file("key", make_file("old", 2 << 20));
  fault({{"kind", "status"}, {"status", 403}, {"method", "GET"}, {"skip", 5}});
  EXPECT_NE(error_of([&] { return store.get_file("key", folder_ / "back"); }), "no error");
  const auto newer = make_file("new", (2 << 20) + 1);
  store.put_file("key", newer);
  EXPECT_EQ(store.get_file("key", folder_ / "back"), (2U << 20) + 1);
  EXPECT_EQ(read_file(folder_ / "back"), read_file(newer));
}

TEST_F(Obs, FindsThatAnUploadWasFinishedAlthoughTheAnswerWasLost) {
  const auto file = make_file("large", 2 << 20);
  fault({{"kind", "drop-reply"}, {"method", "POST"}, {"parameter", "uploadId"}});
  ObsBucket store = bucket();
  EXPECT_EQ(store.put_file("key", file).etag, store.etag_of(file));
}

TEST_F(Obs, WithdrawsAnUploadThatFails) {
  const auto file = make_file("large", 2 << 20);
  fault({{"kind", "status"},
         {"status", 403},
         {"code", "AccessDenied"},
         {"method", "PUT"},
         {"skip", 3},
         {"count", -1}});
  ObsBucket store = bucket();
  EXPECT_THAT(error_of([&] { return store.put_file("key", file), 0; }), HasSubstr("AccessDenied"));
  EXPECT_EQ(count("DELETE obs"), 1U);
  EXPECT_FALSE(store.head("key"));
}

TEST_F(Obs, GivesLinksThatNeedNoKey) {
  ObsBucket store = bucket();
  store.put("a b", "linked");
  const http::Url link = http::parse_url(store.signed_url("GET", "a b", 60), "link");
  http::Request request;
  request.origin = link.origin;
  request.path = link.path;
  request.query = link.query;
  EXPECT_EQ(client_.send(request).body, "linked");
  request.method = "DELETE";
  EXPECT_EQ(client_.send(request).status, 403);
}

TEST_F(Obs, RefusesABucketNameThatCannotBe) {
  EXPECT_THAT(error_of([&] {
                ObsBucket wrong(client_, credentials_, obs_options(), "No/Bucket");
                return 0;
              }),
              HasSubstr("bucket's name"));
}

}  // namespace
}  // namespace assay::cloud
