#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/json.h"
#include "core/text.h"
#include "evidence/chain.h"

namespace assay::evidence {
namespace {

constexpr const char* kRound = "run1/case/1-0badcafe";

FileRecord log_of(std::string_view content) {
  FileHash hash;
  hash.append(content);
  return hash.record("rank0.out.log");
}

// Three links, a line each.
std::vector<std::string> lines_of(std::string_view round = kRound, int node = 0) {
  Chain chain(round, node);
  return {
      chain.append({100, 5000}, {log_of("a\n")}), chain.append({200, 4000}, {}),
      chain.append({200, 6000}, {log_of("a\nb\n"), FileRecord{"telemetry.csv", 0, 0, sha256("")}})};
}

std::string text_of(const std::vector<std::string>& lines) {
  std::string out;
  for (const std::string& line : lines) out += line;
  return out;
}

TEST(Chain, IsReadAsItWasWritten) {
  const ChainCheck check = verify_chain(text_of(lines_of()), kRound, 0);
  ASSERT_TRUE(check.ok()) << check.problem;
  ASSERT_EQ(check.links.size(), 3U);
  EXPECT_EQ(check.links[0].at.mono_ns, 100);
  EXPECT_EQ(check.links[0].at.wall_ns, 5000);
  EXPECT_EQ(check.links[0].files, std::vector{log_of("a\n")});
  EXPECT_EQ(check.links[2].files.size(), 2U);
  EXPECT_EQ(check.head, check.links[2].head);
}

// docs/evidence.md: who has no Assay can compute it, too.
TEST(Chain, HasTheDocumentedFormat) {
  Chain chain("id", 3);
  const std::string first = sha256("assay evidence chain 1\nid\nnode 3\n");
  EXPECT_EQ(chain.head(), first);
  const std::string line = chain.append({7, 8}, {{"a", 1, 0, sha256("x")}});
  const std::string body =
      R"({"mono_ns":7,"wall_ns":8,"files":[{"name":"a","bytes":1,"lines":0,"sha256":")" +
      sha256("x") + R"("}]})";
  const std::string head = sha256(first + body);
  EXPECT_EQ(line, body.substr(0, body.size() - 1) + ",\"head\":\"" + head + "\"}\n");
  EXPECT_EQ(chain.head(), head);
}

TEST(Chain, WithoutLinksFits) {
  const ChainCheck check = verify_chain("", kRound, 0);
  EXPECT_TRUE(check.ok());
  EXPECT_EQ(check.head, first_head(kRound, 0));
}

TEST(Chain, OfAnotherRoundOrNodeDoesNotFit) {
  EXPECT_EQ(verify_chain(text_of(lines_of()), "run1/case/2-0badcafe", 0).bad_line, 1U);
  EXPECT_EQ(verify_chain(text_of(lines_of()), kRound, 1).bad_line, 1U);
}

TEST(Chain, FindsEveryChangedByte) {
  const std::string text = text_of(lines_of());
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string changed = text;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    const ChainCheck check = verify_chain(changed, kRound, 0);
    EXPECT_FALSE(check.ok()) << "byte " << i;
    EXPECT_LT(check.links.size(), 3U);
    EXPECT_FALSE(check.problem.empty());
  }
}

TEST(Chain, FindsLinesThatAreSwappedRepeatedOrLeftOut) {
  const auto line = lines_of();
  EXPECT_EQ(verify_chain(line[1] + line[0] + line[2], kRound, 0).bad_line, 1U);
  EXPECT_EQ(verify_chain(line[0] + line[0] + line[1], kRound, 0).bad_line, 2U);
  EXPECT_EQ(verify_chain(line[0] + line[2], kRound, 0).bad_line, 2U);
  EXPECT_EQ(verify_chain(line[0] + "\n" + line[1], kRound, 0).bad_line, 2U);
}

TEST(Chain, KeepsTheLinksBeforeTheBadPlace) {
  auto line = lines_of();
  line[2][5] = '!';
  const ChainCheck check = verify_chain(text_of(line), kRound, 0);
  EXPECT_EQ(check.bad_line, 3U);
  EXPECT_EQ(check.links.size(), 2U);
  EXPECT_EQ(check.head, check.links.back().head);
}

// Whether it is all of it is for who knows the last head.
TEST(Chain, CutAtALinesEndFitsWithAnotherHead) {
  const auto line = lines_of();
  const ChainCheck whole = verify_chain(text_of(line), kRound, 0);
  const ChainCheck cut = verify_chain(line[0] + line[1], kRound, 0);
  EXPECT_TRUE(cut.ok());
  EXPECT_NE(cut.head, whole.head);
}

TEST(Chain, CutWithinALineDoesNotFit) {
  const std::string text = text_of(lines_of());
  EXPECT_EQ(verify_chain(text.substr(0, text.size() - 1), kRound, 0).bad_line, 3U);
}

// Chains that were made to look right, by who can compute hashes.
TEST(Chain, RefusesLinksThatCannotBeMeantAlthoughTheirHeadsFit) {
  Chain backwards(kRound, 0);
  std::string text = backwards.append({200, 1}, {});
  text += backwards.append({199, 2}, {});
  EXPECT_EQ(verify_chain(text, kRound, 0).bad_line, 2U);

  for (const FileRecord& bad : {FileRecord{"../x", 0, 0, sha256("")}, FileRecord{"x", 0, 0, "ab"}})
    EXPECT_EQ(verify_chain(Chain(kRound, 0).append({1, 1}, {bad}), kRound, 0).bad_line, 1U);

  for (const std::string body :
       {"{}", "[]", "{\"mono_ns\":1,\"wall_ns\":1,\"files\":3}", "{\"a\":"}) {
    const std::string line = body.substr(0, body.size() - 1) + ",\"head\":\"" +
                             sha256(first_head(kRound, 0) + body.substr(0, body.size() - 1) + "}") +
                             "\"}\n";
    EXPECT_EQ(verify_chain(line, kRound, 0).bad_line, 1U) << body;
  }
}

TEST(Chain, ReadsAnythingWithoutHarm) {
  for (const std::string& text :
       {std::string("\n"), std::string("{}\n"), std::string(1'000'000, '['),
        std::string(1000, '\0'), std::string("\"}\n"), std::string(200, 'x') + "\"}\n"})
    EXPECT_EQ(verify_chain(text, kRound, 0).bad_line, 1U);
}

}  // namespace
}  // namespace assay::evidence
