// Stores that are S3's and answer otherwise than the emulator: odd_store.py.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cloud/obs.h"
#include "cloud/sync.h"
#include "core/files.h"
#include "e2e/cloud/listening_process.h"
#include "error_of.h"
#include "temporary_folder.h"

namespace assay::cloud {
namespace {

using ::assay::testing::error_of;
using ::testing::AllOf;
using ::testing::HasSubstr;

class OddStore : public ::testing::Test {
 protected:
  void odd(const std::string& words) {
    http::Request request;
    request.method = "PUT";
    request.origin = server_.url();
    request.path = "/_odd";
    request.body = words;
    (void)client_.send(request);
  }
  std::filesystem::path file(const std::string& name, const std::string& content) {
    make_directories((folder_.path() / name).parent_path());
    write_file_atomic(folder_.path() / name, content, false);
    return folder_.path() / name;
  }
  static std::string content_of(std::size_t size) {
    std::string out(size, ' ');
    for (std::size_t i = 0; i < size; ++i) out[i] = static_cast<char>('a' + i * i % 23);
    return out;
  }
  static ObsOptions options_of(const std::string& url) {
    ObsOptions options;
    options.endpoint = url;
    options.signing = ObsSigning::aws_v4;
    options.region = "us-east-1";
    options.multipart_from = options.part_size = 100 << 10;
    return options;
  }

  assay::testing::TemporaryFolder folder_;
  ListeningProcess server_{{"/usr/bin/python3", ASSAY_SOURCE_DIR "/tests/e2e/cloud/odd_store.py"},
                           folder_.path() / "store.err"};
  http::Client client_;
  FixedCredentials credentials_{{"AK", "a-secret", ""}};
  ObsBucket store_{client_, credentials_, options_of(server_.url()), "bucket-one"};
};

TEST_F(OddStore, AListThatGoesOnIsNeverTakenForAWholeOne) {
  for (const char* key : {"p/a", "p/b", "p/c", "p/d", "p/e"}) store_.put(key, key);
  odd("page2 true");
  EXPECT_EQ(store_.list("p/").size(), 5U);
  odd("page2 unsaid");
  EXPECT_THAT(error_of([&] { return store_.list("p/"); }), HasSubstr("not the service's"));
}

TEST_F(OddStore, AFolderThatIsOnTwoPagesIsOne) {
  for (const char* key : {"a", "f/1", "f/2", "f/3", "g"}) store_.put(key, key);
  odd("page2 nomarker");
  const Listing found = store_.list_folder("", "/");
  EXPECT_EQ(found.folders, std::vector<std::string>{"f/"});
}

TEST_F(OddStore, ETagsInOtherSpellingsAreTheSameHash) {
  const auto small = file("small", "some bytes");
  const std::string content = content_of(250'000);
  const auto large = file("large", content);
  for (const char* spelling : {"upper", "weak", "bare", "upper bare", "prefixed"}) {
    SCOPED_TRACE(spelling);
    odd(std::string("strict ") + spelling);
    EXPECT_EQ(store_.put_file("d/small", small).etag, store_.etag_of(small));
    EXPECT_EQ(store_.put_file("d/large", large).etag, store_.etag_of(large));
    EXPECT_EQ(sync_files(store_, {{"small", small}, {"large", large}}, "d/").unchanged, 2U);
    store_.get_file("d/large", folder_.path() / "back");
    EXPECT_EQ(read_file(folder_.path() / "back"), content);
  }
  odd("notag");
  EXPECT_THAT(error_of([&] { return store_.put_file("d/small", small); }),
              HasSubstr("without a hash"));
}

TEST_F(OddStore, AnAnswerWithoutALengthIsNoEmptyObject) {
  const auto large = file("large", content_of(250'000));
  store_.put_file("large", large);
  odd("nolength");
  EXPECT_THAT(error_of([&] { return store_.get_file("large", folder_.path() / "back"); }),
              HasSubstr("without a Content-Length"));
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "back"));
}

TEST_F(OddStore, OtherBytesThanWereAskedForAreNotTaken) {
  store_.put_file("large", file("large", content_of(250'000)));
  odd("shifted");
  EXPECT_THAT(error_of([&] { return store_.get_file("large", folder_.path() / "back"); }),
              HasSubstr("gives other bytes"));
  EXPECT_THAT(error_of([&] { return store_.get("large", 10, 5); }), HasSubstr("GET a range of"));
}

TEST_F(OddStore, SaysWhereABucketIs) {
  odd("moved");
  EXPECT_THAT(error_of([&] { return store_.list(""); }),
              AllOf(HasSubstr("it is at s3-eu.example, in the region eu-west-3"),
                    HasSubstr("redirects are not followed")));
}

}  // namespace
}  // namespace assay::cloud
