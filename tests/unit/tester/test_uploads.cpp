#include <fstream>

#include <gtest/gtest.h>
#include <zstd.h>

#include "../serve/refused.h"
#include "core/files.h"
#include "core/sha256.h"
#include "temporary_folder.h"
#include "tester/uploads.h"

namespace assay::tester {
namespace {

namespace fs = std::filesystem;

std::string packed_by_zstd(const std::string& text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 3));
  return out;
}

class UploadsTest : public ::testing::Test {
 protected:
  std::uint64_t append(std::uint64_t offset, const std::string& part, std::int64_t n = 0) {
    return uploads_.append("t", n, file_, offset, part);
  }

  testing::TemporaryFolder folder_;
  Uploads uploads_{folder_.path()};
  ManifestFile file_{"plan.json", 10, sha256("0123456789")};
};

TEST_F(UploadsTest, AFileComesInParts) {
  EXPECT_EQ(uploads_.received("t", 0, file_), 0U);
  EXPECT_EQ(append(0, "0123"), 4U);
  EXPECT_EQ(uploads_.received("t", 0, file_), 4U);
  EXPECT_EQ(append(4, "456789"), 10U);
  EXPECT_EQ(uploads_.received("t", 0, file_), 10U);
  EXPECT_EQ(read_file(folder_.path() / "tests/t/files/0"), "0123456789");
}

TEST_F(UploadsTest, AWrongOffsetSaysTheRightOne) {
  append(0, "0123");
  try {
    append(5, "56789");
    FAIL();
  } catch (const serve::Refusal& refusal) {
    EXPECT_EQ(refusal.status, 409);
    EXPECT_EQ(refusal.more["received"], 4);
  }
  EXPECT_EQ(serve::refused([&] { return append(3, "3456"); }), "409 wrong_offset");
}

TEST_F(UploadsTest, APartWhoseAnswerWasLostMayComeAgain) {
  append(0, "0123");
  EXPECT_EQ(append(0, "0123"), 4U);
  append(4, "456789");
  EXPECT_EQ(append(4, "456789"), 10U);
}

TEST_F(UploadsTest, AnotherServerGoesOnWithWhatIsThere) {
  append(0, "01234");
  Uploads after_a_crash(folder_.path());
  EXPECT_EQ(after_a_crash.received("t", 0, file_), 5U);
  EXPECT_EQ(after_a_crash.append("t", 0, file_, 5, "56789"), 10U);
}

TEST_F(UploadsTest, AFileThatWasWholeButNotCheckedInACrashIsChecked) {
  append(0, "01234");
  std::ofstream(folder_.path() / "tests/t/files/0.part", std::ios::app) << "56789";
  EXPECT_EQ(uploads_.received("t", 0, file_), 10U);
  EXPECT_TRUE(fs::exists(folder_.path() / "tests/t/files/0"));

  append(0, "01234", 1);
  std::ofstream(folder_.path() / "tests/t/files/1.part", std::ios::app) << "5678X";
  EXPECT_EQ(uploads_.received("t", 1, file_), 0U);
  EXPECT_EQ(append(0, "0123456789", 1), 10U);
}

TEST_F(UploadsTest, MoreThanWasDeclaredIsRefused) {
  EXPECT_EQ(serve::refused([&] { return append(0, "0123456789a"); }), "413 too_large");
  append(0, "01234");
  EXPECT_EQ(serve::refused([&] { return append(5, "56789a"); }), "413 too_large");
}

TEST_F(UploadsTest, AWrongHashBeginsTheFileAgain) {
  EXPECT_EQ(serve::refused([&] { return append(0, "012345678X"); }), "422 wrong_hash");
  EXPECT_EQ(uploads_.received("t", 0, file_), 0U);
  EXPECT_EQ(append(0, "0123456789"), 10U);
}

TEST_F(UploadsTest, AnEmptyFileIsWholeAfterAnEmptyPart) {
  file_ = {"system.json", 0, sha256("")};
  EXPECT_EQ(append(0, "", 3), 0U);
  EXPECT_TRUE(fs::exists(folder_.path() / "tests/t/files/3"));
}

TEST_F(UploadsTest, TheJudgeGetsTheEvidenceAndNothingDerived) {
  Manifest manifest;
  manifest.files = {file_, {"result.json", 1, sha256("x")}, {"a/b/c.log", 1, sha256("y")}};
  append(0, "0123456789");
  EXPECT_EQ(serve::refused([&] { return uploads_.make_work_folder("t", manifest); }),
            "409 incomplete");
  uploads_.append("t", 1, manifest.files[1], 0, "x");
  uploads_.append("t", 2, manifest.files[2], 0, "y");
  const fs::path work = uploads_.make_work_folder("t", manifest);
  EXPECT_EQ(read_file(work / "plan.json"), "0123456789");
  EXPECT_EQ(read_file(work / "a/b/c.log"), "y");
  EXPECT_FALSE(fs::exists(work / "result.json"));
  // A judge that replaces a file leaves the evidence as it is.
  write_file_atomic(work / "plan.json", "changed");
  EXPECT_EQ(read_file(folder_.path() / "tests/t/files/0"), "0123456789");
}

TEST(PackedParts, AreUnpacked) {
  const std::string text = std::string(300'000, 'a') + "end";
  EXPECT_EQ(unpack_zstd(packed_by_zstd(text), text.size()), text);
  EXPECT_EQ(unpack_zstd(packed_by_zstd(""), 0), "");
  const std::string whole_blocks(4 << 20, 'b');
  EXPECT_EQ(unpack_zstd(packed_by_zstd(whole_blocks), whole_blocks.size()), whole_blocks);
}

TEST(PackedParts, ThatGrowBeyondTheirRoomAreRefused) {
  const std::string bomb = packed_by_zstd(std::string(64 << 20, '\0'));
  EXPECT_LT(bomb.size(), 16'384U);
  EXPECT_EQ(serve::refused([&] { return unpack_zstd(bomb, 1 << 20); }), "413 too_large");
  EXPECT_EQ(serve::refused([&] { return unpack_zstd(packed_by_zstd("ab"), 1); }), "413 too_large");
}

TEST(PackedParts, ThatAreCutOrNoneAreRefused) {
  const std::string packed = packed_by_zstd("some text that is packed");
  EXPECT_EQ(serve::refused([&] { return unpack_zstd(packed.substr(0, packed.size() - 2), 100); }),
            "400 bad_encoding");
  EXPECT_EQ(serve::refused([] { return unpack_zstd("no zstd at all", 100); }), "400 bad_encoding");
  EXPECT_EQ(serve::refused([] { return unpack_zstd("", 100); }), "400 bad_encoding");
}

}  // namespace
}  // namespace assay::tester
