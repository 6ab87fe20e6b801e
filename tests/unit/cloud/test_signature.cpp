#include <gtest/gtest.h>

#include "cloud/signature.h"
#include "core/digest.h"

namespace assay::cloud {
namespace {

const std::string kEmptyHash = to_hex(digest(Hash::sha256, ""));

Signable vpcs() {
  return {"GET",
          "/v1/77b6a44cba5143ab91d13ab9a8ff44fd/vpcs",
          {{"marker", "13551d6b-755d-4757-b956-536f674975c0"}, {"limit", "2"}},
          {{"X-Sdk-Date", "20191115T033655Z"},
           {"Host", "service.region.example.com"},
           {"Content-Type", "application/json"}},
          kEmptyHash};
}

TEST(SdkSignature, GivesThePublishedCanonicalRequest) {
  EXPECT_EQ(to_hex(digest(Hash::sha256, sdk_canonical_request(vpcs()))),
            "b25362e603ee30f4f25e7858e8a7160fd36e803bb2dfe206278659d71a9bcd7a");
}

TEST(SdkSignature, SignsARequestWithoutBody) {
  EXPECT_EQ(sdk_signature(vpcs(), "test-secret"),
            "746a8cad6059dbcdd891f538e39cc70ff0ab1e5cba73cb29a6892ad6ff1bccd3");
  EXPECT_EQ(sdk_authorization(vpcs(), {"AK", "test-secret", ""}),
            "SDK-HMAC-SHA256 Access=AK, SignedHeaders=content-type;host;x-sdk-date, Signature="
            "746a8cad6059dbcdd891f538e39cc70ff0ab1e5cba73cb29a6892ad6ff1bccd3");
}

TEST(SdkSignature, SignsARequestWithBodyAndProject) {
  const Signable request{"POST",
                         "/v2/p0/training-jobs/cf63aba9-63b1-4219-b717-708a2665100b/actions",
                         {},
                         {{"content-type", "application/json"},
                          {"host", "modelarts.example.com"},
                          {"x-project-id", "p0"},
                          {"x-sdk-date", "20191115T033655Z"}},
                         to_hex(digest(Hash::sha256, R"({"action_type":"terminate"})"))};
  EXPECT_EQ(to_hex(digest(Hash::sha256, sdk_canonical_request(request))),
            "b2a1bd5235de4715fec6309e96ada0dbcd6489a59656571d3ecae78a7e6ef231");
  EXPECT_EQ(sdk_signature(request, "test-secret"),
            "7afb755612b7caf798e5fd78eadb2afa2484205db69b821a15c5a4a5f865e47a");
}

std::string obs_signed(const Signable& request, std::string_view key) {
  return obs_signature(obs_string_to_sign(request, "bucket", key), "test-secret");
}

TEST(ObsSignature, SignsAGet) {
  const Signable get{"GET", "", {}, {{"Date", "Sat, 12 Oct 2015 08:12:38 GMT"}}, ""};
  EXPECT_EQ(obs_signed(get, "object.txt"), "UV7YpXGjGJMr8qzJEG0kihuLzhg=");
  EXPECT_EQ(obs_signed(get, ""), "iPuztfqPWqmCvUycUj256+/GkDI=");
}

TEST(ObsSignature, SignsHeadersOfTheService) {
  const Signable put{"PUT",
                     "",
                     {},
                     {{"Date", "Mon, 14 Oct 2015 12:08:34 GMT"},
                      {"Content-Type", "text/plain"},
                      {"X-Obs-Acl", " public-read "},
                      {"User-Agent", "unsigned"}},
                     ""};
  EXPECT_EQ(obs_signed(put, "object.txt"), "s/J/VDMofcwhuZokyUQrJeXaslQ=");
}

TEST(ObsSignature, SignsSubResourcesAlone) {
  const Signable part{"PUT",
                      "",
                      {{"uploadId", "ABC"}, {"prefix", "not signed"}, {"partNumber", "1"}},
                      {{"Date", "Sat, 12 Oct 2015 08:12:38 GMT"}},
                      ""};
  EXPECT_EQ(obs_signed(part, "object02"), "AGJRfCTYl00B2K3txsHuLc5Xadg=");
}

TEST(ObsSignature, LeavesTheDateEmptyWhenTheServicesOwnIsSent) {
  const Signable get{
      "GET", "", {}, {{"Date", "x"}, {"x-obs-date", "Sat, 12 Oct 2015 08:12:38 GMT"}}, ""};
  EXPECT_EQ(obs_string_to_sign(get, "b", "k"),
            "GET\n\n\n\nx-obs-date:Sat, 12 Oct 2015 08:12:38 GMT\n/b/k");
  EXPECT_EQ(obs_string_to_sign({"GET", "", {}, {}, ""}, "b", "a key", "1532779451"),
            "GET\n\n\n1532779451\n/b/a%20key");
}

// The three worked examples of "Authenticating Requests: Using the Authorization Header".
constexpr const char* kAwsSecret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";

TEST(V4Signature, SignsTheGetOfTheDocumentation) {
  const Signable get{"GET",
                     "/test.txt",
                     {},
                     {{"Host", "examplebucket.s3.amazonaws.com"},
                      {"Range", "bytes=0-9"},
                      {"x-amz-content-sha256", kEmptyHash},
                      {"x-amz-date", "20130524T000000Z"}},
                     kEmptyHash};
  EXPECT_EQ(v4_signature(get, kAwsSecret, "us-east-1"),
            "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
  EXPECT_EQ(v4_authorization(get, {"AKIAIOSFODNN7EXAMPLE", kAwsSecret, ""}, "us-east-1"),
            "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,"
            "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date,Signature="
            "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
}

TEST(V4Signature, SignsThePutOfTheDocumentation) {
  const std::string hash = to_hex(digest(Hash::sha256, "Welcome to Amazon S3."));
  const Signable put{"PUT",
                     "/test$file.text",
                     {},
                     {{"Host", "examplebucket.s3.amazonaws.com"},
                      {"Date", "Fri, 24 May 2013 00:00:00 GMT"},
                      {"x-amz-date", "20130524T000000Z"},
                      {"x-amz-storage-class", "REDUCED_REDUNDANCY"},
                      {"x-amz-content-sha256", hash}},
                     hash};
  EXPECT_EQ(v4_signature(put, kAwsSecret, "us-east-1"),
            "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd");
}

TEST(V4Signature, SignsASubResourceOfTheDocumentation) {
  const Signable get{"GET",
                     "/",
                     {{"lifecycle", ""}},
                     {{"Host", "examplebucket.s3.amazonaws.com"},
                      {"x-amz-content-sha256", kEmptyHash},
                      {"x-amz-date", "20130524T000000Z"}},
                     kEmptyHash};
  EXPECT_EQ(v4_signature(get, kAwsSecret, "us-east-1"),
            "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");
}

TEST(Digest, GivesTheValuesOfTheStandards) {
  EXPECT_EQ(to_hex(digest(Hash::md5, "abc")), "900150983cd24fb0d6963f7d28e17f72");
  EXPECT_EQ(to_hex(digest(Hash::sha1, "abc")), "a9993e364706816aba3e25717850c26c9cd0d89d");
  EXPECT_EQ(to_base64(digest(Hash::md5, "")), "1B2M2Y8AsgTpgAmY7PhCfg==");
  Digest running(Hash::md5);
  running.update("a");
  running.update("bc");
  EXPECT_EQ(to_hex(running.finish()), "900150983cd24fb0d6963f7d28e17f72");
}

}  // namespace
}  // namespace assay::cloud
