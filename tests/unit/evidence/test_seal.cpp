#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/json.h"
#include "evidence/seal.h"

namespace assay::evidence {
namespace {

FileRecord file_of(std::string name, std::string_view content) {
  FileHash hash;
  hash.append(content);
  return hash.record(std::move(name));
}

const SigningKey& key() {
  static const SigningKey own = SigningKey::generate();
  return own;
}

std::vector<FileRecord> files() {
  return {file_of("plan.json", "{}\n"), file_of("journal.jsonl", "{}\n{}\n")};
}

std::string sealed() {
  return make_seal("run1", files(), 1'700'000'000'123'000'000, &key());
}

// Every file is as it was.
std::optional<FileRecord> as_it_was(const std::string& name) {
  for (const FileRecord& file : files())
    if (file.name == name) return file;
  return std::nullopt;
}

SealCheck check(const std::string& text) {
  return verify_seal(text, "run1", as_it_was);
}

// The seal with one field changed.
std::string changed(const char* field, const Json& value) {
  Json json = parse_json(sealed(), "seal");
  json[field] = value;
  return json.dump();
}

TEST(Seal, OfAnUntouchedRunFits) {
  const SealCheck result = check(sealed());
  EXPECT_TRUE(result.fits()) << result.problem;
  EXPECT_EQ(result.signature, SignatureState::valid);
  EXPECT_EQ(result.seal->public_key, key().public_key());
  EXPECT_EQ(result.seal->signed_at, "2023-11-14T22:13:20.123Z");
  EXPECT_EQ(result.seal->files, files());
}

// docs/evidence.md: openssl can check it from these bytes.
TEST(Seal, SignsTheDocumentedBytes) {
  Seal seal;
  seal.run_id = "run1";
  seal.signed_at = "2026-11-15T10:15:00.000Z";
  seal.public_key = "ed25519:K";
  seal.files = {{"plan.json", 10, 1, std::string(64, 'a')}, {"a b", 0, 0, std::string(64, 'b')}};
  EXPECT_EQ(signed_bytes(seal),
            "assay seal 1\nrun run1\nsigned_at 2026-11-15T10:15:00.000Z\n"
            "public_key ed25519:K\nfile " +
                std::string(64, 'a') + " 10 1 plan.json\nfile " + std::string(64, 'b') +
                " 0 0 a b\n");
}

TEST(Seal, WithoutAKeyIsUnsigned) {
  const SealCheck result = check(make_seal("run1", files(), 0, nullptr));
  EXPECT_TRUE(result.fits());
  EXPECT_EQ(result.signature, SignatureState::unsigned_);
}

TEST(Seal, NamesFilesThatAreNotAsTheyWere) {
  const SealCheck result =
      verify_seal(sealed(), "run1", [](const std::string& name) -> std::optional<FileRecord> {
        if (name == "plan.json") return std::nullopt;
        return file_of(name, "{}\n{ \n");
      });
  ASSERT_EQ(result.misfits.size(), 2U);
  EXPECT_EQ(result.misfits[0].match, FileMatch::missing);
  EXPECT_EQ(result.misfits[1].name, "journal.jsonl");
  EXPECT_EQ(result.misfits[1].match, FileMatch::different);
  EXPECT_FALSE(result.fits());
  EXPECT_EQ(result.signature, SignatureState::valid) << "the seal itself is whole";
}

TEST(Seal, ChangedAfterSigningIsWrong) {
  Json list = parse_json(sealed(), "seal")["files"];
  list[0]["bytes"] = 4;
  EXPECT_EQ(check(changed("files", list)).signature, SignatureState::wrong);
  EXPECT_EQ(check(changed("files", Json::array())).signature, SignatureState::wrong);
  EXPECT_EQ(check(changed("signed_at", "2030-01-01T00:00:00.000Z")).signature,
            SignatureState::wrong);
  EXPECT_EQ(check(changed("public_key", SigningKey::generate().public_key())).signature,
            SignatureState::wrong);
  EXPECT_EQ(check(changed("public_key", "")).signature, SignatureState::wrong);
  EXPECT_EQ(check(changed("signature", "")).signature, SignatureState::wrong);
  EXPECT_EQ(check(changed("signature", key().sign("other"))).signature, SignatureState::wrong);
}

TEST(Seal, OfAnotherRunIsNotRead) {
  const SealCheck result = verify_seal(sealed(), "run2", as_it_was);
  EXPECT_FALSE(result.seal);
  EXPECT_THAT(result.problem, ::testing::HasSubstr("another run"));
  EXPECT_FALSE(result.fits());
}

TEST(Seal, ThatCannotBeMeantIsNotRead) {
  EXPECT_FALSE(check(changed("schema", 2)).seal);
  EXPECT_FALSE(check(changed("schema", "1")).seal);
  EXPECT_FALSE(check(changed("files", 3)).seal);
  EXPECT_FALSE(check(changed("signed_at", "now\nfile x")).seal);
  Json twice = Json::array({parse_json(sealed(), "seal")["files"][0]});
  twice.push_back(twice[0]);
  EXPECT_FALSE(check(changed("files", twice)).seal);
  Json outside = twice;
  outside.erase(1);
  outside[0]["name"] = "../../etc/passwd";
  EXPECT_FALSE(check(changed("files", outside)).seal);
  for (const std::string& text : {std::string(), std::string("[]"), sealed().substr(0, 100),
                                  std::string("{}"), std::string(100'000, '{')})
    EXPECT_FALSE(check(text).seal);
}

}  // namespace
}  // namespace assay::evidence
