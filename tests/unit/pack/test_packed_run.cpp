#include <algorithm>
#include <random>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "core/files.h"
#include "core/sha256.h"
#include "error_of.h"
#include "needs.h"
#include "pack/packed_run.h"
#include "pack/pieces.h"
#include "store/run_dir.h"
#include "temporary_folder.h"

namespace assay::pack {
namespace {

namespace fs = std::filesystem;
using assay::testing::error_of;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Does not shrink, so that a place in the packed file is a place in a file of the run.
std::string noise(std::size_t size) {
  std::mt19937_64 random(7);
  std::string out(size, '\0');
  for (char& c : out) c = static_cast<char>(random());
  return out;
}

class PackedRun : public ::testing::Test {
 protected:
  void SetUp() override {
    plan::Plan plan;
    plan.run_id = "run1";
    const store::RunDir made = store::RunDir::create(folder_.path() / "results", plan);
    run_ = made.path();
    folder_.write(run_ / "journal.jsonl", "{}\n");
    folder_.write(run_ / "empty", "");
    folder_.write(run_ / "case/round1/vm_noderank0/rank0.out.log", std::string(100'000, 'x'));
    folder_.write(run_ / "case/round1/vm_noderank0/big", noise(9'000'000));
    folder_.write(run_ / "lock", "");
    folder_.write(run_ / "push.json", "{}");
  }

  [[nodiscard]] std::map<std::string, std::string> files_below(const fs::path& folder) const {
    std::map<std::string, std::string> out;
    for (const auto& entry : fs::recursive_directory_iterator(folder))
      if (entry.is_regular_file())
        out[entry.path().lexically_relative(folder).generic_string()] = read_file(entry.path());
    return out;
  }
  fs::path packed() {
    if (!fs::exists(file_)) (void)write(run_, file_);
    return file_;
  }
  // The file with something done to its bytes.
  fs::path altered(const std::function<void(std::string&)>& alter) {
    std::string bytes = read_file(packed());
    alter(bytes);
    return folder_.write("altered.assay", bytes);
  }
  static std::vector<std::string> paths(const Check& check) {
    std::vector<std::string> out;
    for (const FlawedFile& flawed : check.files)
      out.push_back(flawed.path + " " + std::string(to_text(flawed.flaw)));
    return out;
  }

  testing::TemporaryFolder folder_;
  fs::path run_;
  fs::path file_ = folder_.path() / "run1.assay";
  fs::path out_ = folder_.path() / "unpacked/here";
};

TEST_F(PackedRun, ComesOutAsItWentIn) {
  const Written written = write(run_, file_);
  EXPECT_EQ(written.packed_bytes, fs::file_size(file_));
  EXPECT_THAT(written.left_out, ElementsAre("lock", "push.json"));
  const Check check = extract(file_, out_);
  EXPECT_TRUE(check.ok());
  EXPECT_EQ(check.contents.run_id, "run1");
  std::map<std::string, std::string> expected = files_below(run_);
  expected.erase("lock");
  expected.erase("push.json");
  EXPECT_EQ(files_below(out_), expected);
  EXPECT_EQ(check.contents.files.front().path, "case/round1/vm_noderank0/big");
  EXPECT_EQ(check.contents.files.front().sha256, sha256(noise(9'000'000)));
  // Nothing else is left beside it.
  EXPECT_EQ(std::distance(fs::directory_iterator(out_.parent_path()), fs::directory_iterator()), 1);
}

TEST_F(PackedRun, HasTheSameBytesEveryTime) {
  Options one;
  one.threads = 1;
  (void)write(run_, file_, one);
  for (const auto& entry : fs::recursive_directory_iterator(run_))
    fs::last_write_time(entry.path(), fs::file_time_type::clock::now());
  Options many;
  many.threads = 7;
  const fs::path again = folder_.path() / "again.assay";
  (void)write(run_, again, many);
  EXPECT_EQ(sha256_file(file_), sha256_file(again));
}

TEST_F(PackedRun, IsListedWithoutItsContent) {
  const Contents contents = list(packed());
  ASSERT_EQ(contents.files.size(), 5U);
  EXPECT_EQ(contents.files[0].bytes, 9'000'000U);
  EXPECT_EQ(contents.files[4].path, "plan.json");
}

TEST_F(PackedRun, LinksAndDevicesAreLeftOutAndNamed) {
  fs::create_symlink("/etc/passwd", run_ / "link");
  ASSERT_EQ(::mkfifo((run_ / "pipe").c_str(), 0600), 0);
  EXPECT_THAT(write(run_, file_).left_out, ElementsAre("link", "lock", "pipe", "push.json"));
}

TEST_F(PackedRun, ACutFileNamesWhatIsCutAndMissing) {
  const fs::path cut = altered([](std::string& bytes) { bytes.resize(6'000'000); });
  const Check check = extract(cut, out_);
  EXPECT_THAT(paths(check),
              ElementsAre("case/round1/vm_noderank0/big cut",
                          "case/round1/vm_noderank0/rank0.out.log missing", "empty missing",
                          "journal.jsonl missing", "plan.json missing"));
  EXPECT_THAT(check.whole, ElementsAre(HasSubstr("is cut")));
  EXPECT_FALSE(fs::exists(out_));
  EXPECT_TRUE(fs::is_empty(out_.parent_path()));
}

TEST_F(PackedRun, WhereverItIsCutSomethingIsSaid) {
  const std::size_t size = fs::file_size(packed());
  for (const std::size_t at :
       {std::size_t{0}, std::size_t{1}, std::size_t{100}, size / 2, size - 30, size - 1}) {
    const fs::path cut = altered([&](std::string& bytes) { bytes.resize(at); });
    bool refused = false;
    try {
      refused = !verify(cut).ok();
    } catch (const Error&) {
      refused = true;
    }
    EXPECT_TRUE(refused) << at;
  }
}

TEST_F(PackedRun, OneChangedByteNamesItsFileAndNoOther) {
  const fs::path changed =
      altered([](std::string& bytes) { bytes[7'000'000] = static_cast<char>(~bytes[7'000'000]); });
  EXPECT_THAT(paths(verify(changed)), ElementsAre("case/round1/vm_noderank0/big damaged"));
}

TEST_F(PackedRun, DamageInASmallRunSparesTheFilesOfOtherPieces) {
  fs::remove(run_ / "case/round1/vm_noderank0/big");
  folder_.write(run_ / "a", noise(100'000));
  folder_.write(run_ / "b", noise(100'000));
  const fs::path changed =
      altered([](std::string& bytes) { bytes[50'000] = static_cast<char>(~bytes[50'000]); });
  EXPECT_THAT(paths(verify(changed)), ElementsAre("a damaged"));
  const fs::path cut = altered([](std::string& bytes) { bytes.resize(150'000); });
  EXPECT_THAT(paths(verify(cut)).front(), "a damaged");  // its hash is gone
  EXPECT_THAT(paths(verify(cut))[1], "b missing");
}

TEST_F(PackedRun, WhateverByteIsChangedNothingIsUnpacked) {
  const std::string good = read_file(packed());
  std::mt19937 random(1);
  for (int i = 0; i < 40; ++i) {
    std::string bytes = good;
    // Half of them in the first and last kilobyte, where everything has a meaning.
    const std::size_t near = random() % 1024;
    const std::size_t at = i % 4 == 0   ? near
                           : i % 4 == 1 ? bytes.size() - 1 - near
                                        : random() % bytes.size();
    bytes[at] = static_cast<char>(bytes[at] ^ (1 << (random() % 8)));
    const fs::path changed = folder_.write("changed.assay", bytes);
    std::string said;
    try {
      const Check check = extract(changed, out_);
      said = check.ok() ? "" : "flawed";
    } catch (const Error& error) {
      said = error.what();
    }
    EXPECT_NE(said, "") << "byte " << at;
    EXPECT_FALSE(fs::exists(out_));
  }
}

TEST_F(PackedRun, BytesAfterItsEndAreNotPassedOver) {
  const fs::path longer = altered([](std::string& bytes) { bytes += "more"; });
  EXPECT_THAT(verify(longer).whole, ElementsAre(HasSubstr("something follows it")));
}

// A whole stream that somebody else made: the reader must not rely on the writer.
fs::path pack_text(const testing::TemporaryFolder& folder, const std::string& text) {
  const fs::path file = folder.write("made.assay", "");
  const UniqueFd fd(::open(file.c_str(), O_WRONLY | O_CLOEXEC));
  PieceWriter pieces(fd.get(), file, 1);
  pieces.append(text);
  (void)pieces.finish();
  return file;
}

TEST_F(PackedRun, DeclaredSizesAreTheMostThatIsWritten) {
  const std::string hash = sha256("x");
  const fs::path more = pack_text(folder_, "assay pack 1\nrun r\nfiles 1\n1 a\nx" + hash +
                                               "\nend\n" + std::string(5'000'000, 'y'));
  EXPECT_THAT(verify(more).whole, ElementsAre("5000000 bytes after its end"));
  const fs::path huge = pack_text(
      folder_, "assay pack 1\nrun r\nfiles 1\n1000000000000000000 a\nx" + hash + "\nend\n");
  EXPECT_THAT(error_of([&] { return extract(huge, out_); }), HasSubstr("the disk has room for"));
  EXPECT_FALSE(fs::exists(out_));
}

TEST_F(PackedRun, AHashThatWasChangedWithTheContentIsFoundOutByTheSealAlone) {
  const fs::path forged =
      pack_text(folder_, "assay pack 1\nrun r\nfiles 1\n1 a\nx" + sha256("x") + "\nend\n");
  EXPECT_TRUE(verify(forged).ok());
  bool asked = false;
  const Check check = extract(forged, out_, {}, [&](const fs::path& unpacked) {
    asked = read_file(unpacked / "a") == "x";
    return false;
  });
  EXPECT_TRUE(asked);
  EXPECT_TRUE(check.ok());
  EXPECT_FALSE(fs::exists(out_));
}

TEST_F(PackedRun, TraversalIsRefusedBeforeAnythingIsWritten) {
  const fs::path file =
      pack_text(folder_, "assay pack 1\nrun r\nfiles 1\n1 ../evil\nx" + sha256("x") + "\nend\n");
  EXPECT_THAT(error_of([&] { return extract(file, out_); }), HasSubstr("leaves the folder"));
  EXPECT_FALSE(fs::exists(folder_.path() / "unpacked"));
}

TEST_F(PackedRun, OtherFilesAreRefused) {
  EXPECT_THAT(error_of([&] { return list(folder_.write("text", "hello")); }),
              HasSubstr("not a packed run"));
  EXPECT_THAT(error_of([&] { return list(folder_.write("nothing", "")); }),
              HasSubstr("the file is empty"));
  EXPECT_THAT(error_of([&] { return list(folder_.path()); }), HasSubstr("not even a regular file"));
  EXPECT_THAT(error_of([&] { return list("/nowhere/x.assay"); }), HasSubstr("/nowhere/x.assay"));
  EXPECT_THAT(error_of([&] { return list(pack_text(folder_, "hello\n")); }),
              HasSubstr("not a packed run"));
}

TEST_F(PackedRun, AFolderThatExistsStaysAsItIs) {
  folder_.write("unpacked/here/mine", "1");
  EXPECT_THAT(error_of([&] { return extract(packed(), out_); }), HasSubstr("exists already"));
  EXPECT_EQ(files_below(out_).size(), 1U);
  fs::remove(out_ / "mine");
  EXPECT_TRUE(extract(packed(), out_).ok());  // an empty one is taken
  EXPECT_TRUE(fs::exists(out_ / "plan.json"));
}

TEST_F(PackedRun, ARunThatGoesOnOrIsNoneIsNotPacked) {
  EXPECT_THAT(error_of([&] { return write(folder_.path(), file_); }),
              HasSubstr(folder_.path().string()));
  const store::RunLock lock(run_);
  EXPECT_THAT(error_of([&] { return write(run_, file_); }), HasSubstr("is going on"));
  EXPECT_FALSE(fs::exists(file_));
}

TEST_F(PackedRun, AnAbortedPackLeavesNothing) {
  Options options;
  options.progress = [](std::uint64_t, std::uint64_t) { throw Error(ErrorKind::usage, "stop"); };
  EXPECT_THAT(error_of([&] { return write(run_, file_, options); }), "stop");
  EXPECT_THAT(error_of([&] { return extract(packed(), out_, options); }), "stop");
  EXPECT_FALSE(fs::exists(out_));
  EXPECT_TRUE(fs::is_empty(out_.parent_path()));
  for (const auto& entry : fs::directory_iterator(folder_.path()))
    EXPECT_FALSE(entry.path().filename().string().starts_with(".run1")) << entry.path();
}

TEST_F(PackedRun, IsReadByTheZstdProgramToo) {
  if (std::system("command -v zstd >/dev/null") != 0) GTEST_SKIP() << needs::package("zstd");
  const std::string command =
      "zstd -dc '" + packed().string() + "' | head -n 1 > '" + folder_.path().string() + "/line'";
  ASSERT_EQ(std::system(command.c_str()), 0);
  EXPECT_EQ(read_file(folder_.path() / "line"), "assay pack 1\n");
}

}  // namespace
}  // namespace assay::pack
