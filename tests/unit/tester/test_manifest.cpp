#include <gtest/gtest.h>

#include "../serve/refused.h"
#include "tester/manifest.h"

namespace assay::tester {
namespace {

const std::string kHash(64, 'a');

Json file_entry(const std::string& path, std::uint64_t size = 1) {
  return {{"path", path}, {"size", size}, {"sha256", kHash}};
}

Json manifest_with(const Json& file) {
  return {{"files", {file_entry("plan.json"), file_entry("journal.jsonl"), file}},
          {"claim", Json::object()}};
}

TEST(ManifestPaths, OfARunAreTaken) {
  for (const char* path :
       {"plan.json", "null:native:cpu:1:2:2/round1/vm_noderank0/rank0.out.log.head",
        "fall/round1/über/a b.json", "..a/b..", "..."})
    EXPECT_EQ(path_fault(path), "") << path;
}

TEST(ManifestPaths, ThatLeaveTheFolderAreRefused) {
  for (const char* path : {"../x", "a/../../x", "a/..", "..", "/etc/passwd", "//x", "./x", "a//b",
                           "a/", ".", "", "a\\..\\b"})
    EXPECT_NE(path_fault(path), "") << path;
}

TEST(ManifestPaths, WithControlCharactersOrBrokenUtf8AreRefused) {
  using namespace std::string_literals;
  for (const std::string& path : {"a\nb"s, "a\tb"s, "a\0b"s, "a\x1b[31m"s, "a\xff"s, "a\x7f"s})
    EXPECT_NE(path_fault(path), "") << path;
}

TEST(ManifestPaths, AreBoundedInLengthAndDepth) {
  EXPECT_EQ(path_fault(std::string(255, 'a')), "");
  EXPECT_NE(path_fault(std::string(256, 'a')), "");
  EXPECT_EQ(path_fault("1/2/3/4/5/6/7/8"), "");
  EXPECT_NE(path_fault("1/2/3/4/5/6/7/8/9"), "");
  EXPECT_NE(path_fault(std::string(200, 'a') + "/" + std::string(200, 'b')), "");
}

TEST(Manifest, ReadsWhatItWrites) {
  Json json = manifest_with(file_entry("a/round1/h_noderank0/rank0.out.log", 77));
  json["claim"]["verdict"] = "VALID";
  const Manifest manifest = parse_manifest(json, {});
  EXPECT_EQ(manifest.files.size(), 3U);
  EXPECT_EQ(manifest.bytes(), 79U);
  EXPECT_EQ(to_json(manifest), json);
}

TEST(Manifest, WithAFileTwiceOrAFileAsFolderIsRefused) {
  EXPECT_EQ(
      serve::refused([] { return parse_manifest(manifest_with(file_entry("plan.json")), {}); }),
      "400 bad_path");
  EXPECT_EQ(
      serve::refused([] { return parse_manifest(manifest_with(file_entry("plan.json/x")), {}); }),
      "400 bad_path");
}

TEST(Manifest, WithoutPlanOrJournalIsRefused) {
  const Json json = {{"files", {file_entry("plan.json")}}, {"claim", Json::object()}};
  EXPECT_EQ(serve::refused([&] { return parse_manifest(json, {}); }), "400 bad_manifest");
}

TEST(Manifest, WithFieldsOfAnotherTypeIsRefused) {
  for (const Json& file :
       {Json{{"path", 7}, {"size", 1}, {"sha256", kHash}},
        Json{{"path", "x"}, {"size", -1}, {"sha256", kHash}},
        Json{{"path", "x"}, {"size", 1.5}, {"sha256", kHash}},
        Json{{"path", "x"}, {"size", 1}, {"sha256", "AA"}}, Json(3), Json::object()})
    EXPECT_EQ(serve::refused([&] { return parse_manifest(manifest_with(file), {}); }),
              "400 bad_manifest")
        << file;
}

TEST(Manifest, WithMoreThanTheLimitIsTooLarge) {
  const ManifestLimits limits{3, 100};
  EXPECT_EQ(
      serve::refused([&] { return parse_manifest(manifest_with(file_entry("x", 98)), limits); }),
      "granted");
  EXPECT_EQ(
      serve::refused([&] { return parse_manifest(manifest_with(file_entry("x", 99)), limits); }),
      "413 too_large");
  // Two sizes whose sum is 0 in 64 bits.
  Json huge = manifest_with(file_entry("x", std::uint64_t{1} << 63));
  huge["files"][1]["size"] = std::uint64_t{1} << 63;
  EXPECT_EQ(serve::refused([&] { return parse_manifest(huge, limits); }), "413 too_large");
  Json many = manifest_with(file_entry("x"));
  many["files"].push_back(file_entry("y"));
  EXPECT_EQ(serve::refused([&] { return parse_manifest(many, limits); }), "413 too_many_files");
}

TEST(Manifest, KnowsWhatTheTesterComputesItself) {
  EXPECT_TRUE(is_derived("result.json"));
  EXPECT_TRUE(is_derived("mllog/a_round1.txt"));
  EXPECT_FALSE(is_derived("a/round1/results/result.json"));
  EXPECT_FALSE(is_derived("plan.json"));
  EXPECT_TRUE(is_derived("a/round1/train_result_info.json"));
}

TEST(Manifest, TheEvidenceOfACaseNamedLogsIsNotDerived) {
  EXPECT_FALSE(is_derived("logs/round1/vm_noderank0/rank0.out.log"));
  EXPECT_TRUE(is_derived("logs/search_round1/trials/0.json"));
}

}  // namespace
}  // namespace assay::tester
