#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "error_of.h"
#include "pack/contents.h"
#include "pack/unfold.h"

namespace assay::pack {
namespace {

using assay::testing::error_of;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;

std::string head_of(const std::string& files, int count, const std::string& run = "run1") {
  return "assay pack 1\nrun " + run + "\nfiles " + std::to_string(count) + "\n" + files;
}

std::string refusal(const std::string& text) {
  return error_of([&] {
    HeadReader reader("x.assay");
    (void)reader.feed(text);
    return reader.complete();
  });
}

TEST(PackHead, IsReadInPiecesOfAnySize) {
  const std::string text = head_of("3 a\n0 b/c\n", 2) + "content";
  for (std::size_t size = 1; size < text.size(); ++size) {
    HeadReader reader("x.assay");
    std::size_t taken = 0;
    while (!reader.complete() && taken < text.size()) {
      const std::string_view piece = std::string_view(text).substr(taken, size);
      taken += reader.feed(piece);
    }
    ASSERT_TRUE(reader.complete()) << size;
    EXPECT_EQ(text.substr(taken), "content");
    EXPECT_EQ(reader.contents().run_id, "run1");
    EXPECT_EQ(head_text(reader.contents()) + "content", text);
    EXPECT_EQ(reader.contents().bytes(), 3U);
  }
}

TEST(PackHead, RefusesPathsThatLeaveTheFolder) {
  for (const char* path : {"../a", "/etc/passwd", "a/../b", "a//b", "./a", "a/", "", "a\tb"})
    EXPECT_THAT(refusal(head_of("1 " + std::string(path) + "\n", 1)),
                HasSubstr("leaves the folder"))
        << path;
}

TEST(PackHead, RefusesWhatIsThereTwiceOrInAnotherOrder) {
  EXPECT_THAT(refusal(head_of("1 a\n1 a\n", 2)), HasSubstr("there twice: 'a'"));
  EXPECT_THAT(refusal(head_of("1 b\n1 a\n", 2)), HasSubstr("not sorted at 'a'"));
  EXPECT_THAT(refusal(head_of("1 a\n1 a.b\n1 a/b\n", 3)), HasSubstr("a folder too: 'a'"));
}

TEST(PackHead, RefusesSizesThatCannotBe) {
  for (const char* size : {"-1", "x", "", "1e3", "0x10", "99999999999999999999"})
    EXPECT_THAT(refusal(head_of(std::string(size) + " a\n", 1)), HasSubstr("expected a size"))
        << size;
  std::string many;
  for (const char* name : {"a", "b"}) many += std::string("1152921504606846976 ") + name + "\n";
  EXPECT_THAT(refusal(head_of(many, 2)), HasSubstr("cannot be true"));
}

TEST(PackHead, RefusesOtherFilesAndNewerFormats) {
  EXPECT_THAT(refusal("hello\n"), HasSubstr("x.assay: this is not a packed run"));
  EXPECT_THAT(refusal(std::string(100'000, 'x')), HasSubstr("not a packed run"));
  EXPECT_THAT(refusal("assay pack 2\nwhatever\n"),
              HasSubstr("format 2, this program reads up to 1"));
  EXPECT_THAT(refusal("assay pack x\n"), HasSubstr("not a packed run"));
  EXPECT_THAT(refusal(head_of("", 1, "../up")), HasSubstr("no folder can have"));
  EXPECT_THAT(refusal(head_of("", 1, "a/b")), HasSubstr("no folder can have"));
  EXPECT_THAT(refusal("assay pack 1\nrun a\nfiles many\n"), HasSubstr("how many"));
  EXPECT_THAT(refusal("assay pack 1\nname a\n"), HasSubstr("expected 'run …'"));
  EXPECT_THAT(refusal(head_of("1 " + std::string(10'000, 'a') + "\n", 1)), HasSubstr("too long"));
}

Contents three_files() {
  Contents contents{"run1", {{"a", 3}, {"b", 0}, {"c", 4}}};
  contents.files[0].sha256 = sha256("one");
  contents.files[1].sha256 = sha256("");
  contents.files[2].sha256 = sha256("four");
  return contents;
}

using Flaws = std::vector<FlawedFile>;

Flaws flaws_of(const std::string& stream, std::size_t unknown_from = 0, std::size_t unknown = 0) {
  Unfolder unfolder(three_files(), nullptr);
  unfolder.feed(stream.substr(0, unknown_from));
  unfolder.skip(unknown);
  unfolder.feed(stream.substr(unknown_from + unknown));
  return unfolder.finish(true).files;
}

auto flawed(const std::string& path, Flaw flaw) {
  return ::testing::AllOf(Field(&FlawedFile::path, path), Field(&FlawedFile::flaw, flaw));
}

TEST(Unfold, NamesEveryFileThatIsNotAsItWasPacked) {
  const std::string tail = tail_text(three_files());
  EXPECT_THAT(flaws_of("onefour" + tail), ElementsAre());
  EXPECT_THAT(flaws_of("oneFour" + tail), ElementsAre(flawed("c", Flaw::changed)));
  EXPECT_THAT(flaws_of("onefour" + tail, 1, 1), ElementsAre(flawed("a", Flaw::damaged)));
  EXPECT_THAT(flaws_of("onefour" + tail, 2, 2),
              ElementsAre(flawed("a", Flaw::damaged), flawed("c", Flaw::damaged)));
  EXPECT_THAT(flaws_of("onefo"), ElementsAre(flawed("a", Flaw::damaged), flawed("b", Flaw::damaged),
                                             flawed("c", Flaw::cut)));
  // Hashes that cannot be read leave nothing to compare with.
  EXPECT_THAT(flaws_of("onefour" + tail, 7, 10), ElementsAre(flawed("a", Flaw::damaged)));
}

TEST(Unfold, SaysWhatIsWrongWithTheWhole) {
  const auto whole = [](const std::string& stream, bool complete = true) {
    Unfolder unfolder(three_files(), nullptr);
    unfolder.feed(stream);
    return unfolder.finish(complete).whole;
  };
  const std::string tail = tail_text(three_files());
  EXPECT_THAT(whole("onefour" + tail), ElementsAre());
  EXPECT_THAT(whole("onefour" + tail + "xyz"), ElementsAre("3 bytes after its end"));
  EXPECT_THAT(whole("onefour" + tail.substr(0, 70)), ElementsAre(HasSubstr("is cut")));
  EXPECT_THAT(whole("onefour" + tail, false), ElementsAre(HasSubstr("table of pieces")));
}

}  // namespace
}  // namespace assay::pack
