#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/code_upload.h"
#include "code/code_store.h"
#include "code/folder_scan.h"
#include "core/files.h"
#include "core/json_fields.h"
#include "http/url.h"
#include "small_server.h"
#include "temporary_folder.h"

namespace assay::client {
namespace {

using ::testing::HasSubstr;

// A server with a real store of code.
class SentFolder : public ::testing::Test {
 protected:
  serve::HttpResponse answer(const serve::HttpRequest& request) {
    try {
      if (request.path == "/api/v1/code") {
        const auto announced =
            store_.announce("ann", code::read_manifest(parse_json_or_null(request.body)));
        Json answer{{"code", announced.id}, {"missing", announced.missing}};
        if (bundle_ > 0) answer["bundle"] = bundle_;
        return SmallServer::json(200, answer);
      }
      if (request.path == "/api/v1/code/blobs")
        return SmallServer::json(
            200, {{"wrong", store_.put_all("ann", code::read_bundle(request.body))}});
      const http::Query query = http::parse_query(request.query);
      const auto received = store_.put("ann", request.path.substr(request.path.rfind('/') + 1),
                                       std::stoull(query.at(0).second), request.body);
      return SmallServer::json(200, {{"received", received.received}});
    } catch (const Error& error) {
      return SmallServer::error(422, "not_taken", error.message());
    }
  }
  CodeUpload send() {
    const code::Scan scan = code::scan_folder(folder_.path(), {});
    return send_code(connection_, folder_.path(), scan.manifest);
  }

  [[nodiscard]] std::size_t puts() {
    return static_cast<std::size_t>(
        std::ranges::count(server_.requests(), "PUT", &serve::HttpRequest::method));
  }

  testing::TemporaryFolder folder_;
  testing::TemporaryFolder data_;
  std::int64_t bundle_ = 8 << 20;  ///< what the server takes at once; 0: it knows no bundles
  code::CodeStore store_{data_.path() / "code"};
  SmallServer server_{[this](const serve::HttpRequest& request) { return answer(request); }};
  Connection connection_{server_.as("t")};
};

TEST_F(SentFolder, ArrivesAndOnlyChangesAreSentTheNextTime) {
  const std::string large(5'000'000, 'x');
  folder_.write("a.py", "pass");
  folder_.write("copy.py", "pass");
  folder_.write("empty", "");
  folder_.write("large.bin", large);
  const CodeUpload first = send();
  EXPECT_EQ(first.files, 3U);
  EXPECT_EQ(first.bytes, 5'000'004U);
  EXPECT_EQ(read_file(store_.folder_of(first.id) / "large.bin"), large);
  EXPECT_EQ(read_file(store_.folder_of(first.id) / "copy.py"), "pass");

  EXPECT_EQ(send().files, 0U);
  folder_.write("a.py", "fail");
  const CodeUpload second = send();
  EXPECT_EQ(second.files, 1U);
  EXPECT_EQ(read_file(store_.folder_of(second.id) / "a.py"), "fail");
  EXPECT_EQ(read_file(store_.folder_of(first.id) / "a.py"), "pass");
}

TEST_F(SentFolder, SmallFilesGoTogether) {
  for (int i = 0; i < 300; ++i) folder_.write("a" + std::to_string(i), std::to_string(i));
  const std::string large(3'000'000, 'x');
  folder_.write("large.bin", large);
  const CodeUpload upload = send();
  EXPECT_EQ(upload.files, 301U);
  EXPECT_EQ(read_file(store_.folder_of(upload.id) / "a299"), "299");
  EXPECT_EQ(read_file(store_.folder_of(upload.id) / "large.bin"), large);
  EXPECT_EQ(puts(), 3U);  // one with all that is small, and two parts
}

TEST_F(SentFolder, NoRequestHasMoreThanTheServerTakes) {
  bundle_ = 1000;
  for (int i = 0; i < 20; ++i)
    folder_.write("a" + std::to_string(i), std::string(200, static_cast<char>('a' + i)));
  folder_.write("b", std::string(999, 'z'));
  const CodeUpload upload = send();
  EXPECT_EQ(read_file(store_.folder_of(upload.id) / "a19"), std::string(200, 't'));
  for (const serve::HttpRequest& request : server_.requests()) {
    if (request.method == "PUT") {
      EXPECT_LE(request.body.size(), 1000U);
    }
  }
  EXPECT_EQ(puts(), 8U);  // three in a bundle; the last by itself
}

TEST_F(SentFolder, AServerThatKnowsNoBundlesGetsOneAfterTheOther) {
  bundle_ = 0;
  folder_.write("a", "one");
  folder_.write("b", "two");
  EXPECT_EQ(read_file(store_.folder_of(send().id) / "b"), "two");
  EXPECT_EQ(puts(), 2U);
}

TEST_F(SentFolder, GoesOnWhereItWasCutOff) {
  const std::string large(5'000'000, 'x');
  folder_.write("large.bin", large);
  const code::Manifest manifest = code::scan_folder(folder_.path(), {}).manifest;
  (void)store_.announce("ann", manifest);
  (void)store_.put("ann", manifest.files[0].sha256, 0, large.substr(0, 4'000'000));
  const CodeUpload upload = send();
  EXPECT_EQ(read_file(store_.folder_of(upload.id) / "large.bin"), large);
  std::size_t bytes = 0;
  for (const serve::HttpRequest& request : server_.requests())
    if (request.method == "PUT") bytes += request.body.size();
  EXPECT_LT(bytes, 4'000'000U);  // one part that was not needed, and the rest
}

TEST_F(SentFolder, BeginsAnewWhereWhatTheServerHadWasDamaged) {
  folder_.write("a", "0123456789");
  const code::Manifest manifest = code::scan_folder(folder_.path(), {}).manifest;
  (void)store_.announce("ann", manifest);
  (void)store_.put("ann", manifest.files[0].sha256, 0, "garb");
  EXPECT_EQ(read_file(store_.folder_of(send().id) / "a"), "0123456789");
}

TEST_F(SentFolder, AFileThatChangesMeanwhileIsSaid) {
  folder_.write("a.py", "pass");
  const code::Manifest manifest = code::scan_folder(folder_.path(), {}).manifest;
  folder_.write("a.py", "fail");
  EXPECT_THAT(thrown_by([&] { (void)send_code(connection_, folder_.path(), manifest); }).what(),
              HasSubstr("a.py: the file has changed while it was sent"));
  folder_.write("a.py", "");
  EXPECT_THAT(thrown_by([&] { (void)send_code(connection_, folder_.path(), manifest); }).what(),
              HasSubstr("has changed"));
}

TEST_F(SentFolder, AServerWithoutUploadsIsSaid) {
  const SmallServer other([](const serve::HttpRequest&) {
    return SmallServer::error(404, "not_found", "there is no such page");
  });
  folder_.write("a.py", "pass");
  const Connection connection(other.as("t"));
  const Error error = thrown_by([&] {
    (void)send_code(connection, folder_.path(), code::scan_folder(folder_.path(), {}).manifest);
  });
  EXPECT_THAT(error.what(), HasSubstr("--no-code"));
}

}  // namespace
}  // namespace assay::client
