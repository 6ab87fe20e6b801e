#include <fstream>
#include <random>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "core/files.h"
#include "error_of.h"
#include "temporary_folder.h"
#include "transfer/stream.h"

namespace assay::transfer {
namespace {

namespace fs = std::filesystem;
using assay::testing::error_of;
using ::testing::HasSubstr;

class Stream : public ::testing::Test {
 protected:
  void put(const std::string& name, const std::string& content) const {
    fs::create_directories((from_ / name).parent_path());
    std::ofstream(from_ / name, std::ios::binary) << content;
  }
  [[nodiscard]] std::string sent(const Have& have = {}) const {
    const fs::path file = temporary_.path() / "stream";
    const UniqueFd fd(::open(file.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    send_folder(from_, have, fd.get());
    return read_file(file);
  }
  /// Feeds `stream` in pieces of `piece` bytes.
  bool receive(const std::string& stream, std::size_t piece = 1 << 16) const {
    Receiver receiver(to_);
    for (std::size_t at = 0; at < stream.size(); at += piece)
      receiver.feed(std::string_view(stream).substr(at, piece));
    return receiver.complete();
  }

  testing::TemporaryFolder temporary_;
  const fs::path from_ = temporary_.path() / "from";
  const fs::path to_ = temporary_.path() / "to";
};

constexpr const char* kBegin = "{\"begin\": true}\n";

std::string noise(std::size_t size) {
  std::mt19937 random(7);
  std::string text(size, '\0');
  for (char& c : text) c = static_cast<char>(random());
  return text;
}

// Of the first file.
std::size_t header_end(const std::string& stream) {
  return stream.find('\n', stream.find("path")) + 1;
}

TEST_F(Stream, CarriesAFolderByteForByteInPiecesOfAnySize) {
  put("rank0.out.log", std::string(3'000'000, 'x') + "end");
  put("deep/er/noise.bin", noise(700'000));
  put("empty", "");
  const std::string stream = sent();
  EXPECT_LT(stream.size(), 800'000u) << "text shrinks";
  for (const std::size_t piece : {std::size_t{1} << 20, std::size_t{4093}, std::size_t{1}}) {
    fs::remove_all(to_);
    ASSERT_TRUE(receive(stream, piece));
    for (const char* name : {"rank0.out.log", "deep/er/noise.bin", "empty"})
      EXPECT_EQ(read_file(to_ / name), read_file(from_ / name)) << name;
  }
}

TEST_F(Stream, GoesOnWhereItWasCutOff) {
  put("a.log", noise(5'000'000));
  put("b.log", noise(3'000'000));
  const std::string whole = sent();
  for (const std::size_t cut : {whole.size() / 5, whole.size() / 2, whole.size() - 2}) {
    fs::remove_all(to_);
    EXPECT_FALSE(receive(whole.substr(0, cut)));
    const std::string rest = sent(list_files(to_));
    EXPECT_LE(rest.size(), whole.size() - cut + kPiece + 1000);
    EXPECT_TRUE(receive(rest));
    EXPECT_EQ(read_file(to_ / "a.log"), read_file(from_ / "a.log"));
    EXPECT_EQ(read_file(to_ / "b.log"), read_file(from_ / "b.log"));
  }
}

TEST_F(Stream, WhatIsThereAlreadyIsNotSentAgain) {
  put("a.log", noise(500'000));
  ASSERT_TRUE(receive(sent()));
  EXPECT_LT(sent(list_files(to_)).size(), 100u);
}

TEST_F(Stream, ADamagedByteIsNoticed) {
  put("a.log", noise(100'000));
  const std::string good = sent();
  int noticed = 0;
  for (std::size_t at = header_end(good); at + 40 < good.size(); at += 997) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x10);
    fs::remove_all(to_);
    noticed += error_of([&] { return receive(bad); }) != "no error" ? 1 : 0;
  }
  EXPECT_GT(noticed, 50);
  EXPECT_EQ(noticed, static_cast<int>((good.size() - 40 - header_end(good) + 996) / 997));
}

TEST_F(Stream, WhatWasDamagedIsNotKeptAndComesAgain) {
  put("a.log", noise(2'500'000));
  const std::string good = sent();
  for (const std::size_t at : {good.size() - 60, good.size() / 2}) {
    fs::remove_all(to_);
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x10);
    EXPECT_NE(error_of([&] { return receive(bad); }), "no error");
    const Have have = list_files(to_);
    EXPECT_EQ(have.at("a.log"), at / kPiece * kPiece) << "the pieces before it are kept";
    ASSERT_TRUE(receive(sent(have)));
    EXPECT_EQ(read_file(to_ / "a.log"), read_file(from_ / "a.log"));
  }
}

TEST_F(Stream, NothingIsWrittenOutsideTheFolder) {
  for (const char* path : {"../evil", "/etc/evil", "a/../../evil", "", "./x"})
    EXPECT_THAT(error_of([&] {
                  return receive(std::string(kBegin) + R"({"path": ")" + std::string(path) +
                                 R"(", "size": 0, "offset": 0})" + "\n");
                }),
                HasSubstr("leaves the folder"))
        << path;
  EXPECT_FALSE(fs::exists(temporary_.path() / "evil"));
}

TEST_F(Stream, NonsenseIsAnErrorAndNotACrash) {
  for (const std::string& text :
       {std::string("bash: assay-agent: not found\n"), std::string("[]\n"), std::string("{}\n"),
        std::string(R"({"path": "a", "size": -1, "offset": 0})") + "\n",
        std::string(R"({"path": "a", "size": 10, "offset": 99})") + "\n", std::string(100'000, 'x'),
        std::string(R"({"path": "a", "size": 10, "offset": 0})") + "\nno zstd frame at all"})
    EXPECT_NE(error_of([&] { return receive(kBegin + text); }), "no error") << text.substr(0, 60);
}

TEST_F(Stream, WhatALoginShellSaysBeforeItIsSkipped) {
  put("a.log", "mine");
  ASSERT_TRUE(receive("Welcome!\n{\"a\": 1}\n\xff\xfe no newline" + sent(), 3));
  EXPECT_EQ(read_file(to_ / "a.log"), "mine");
  EXPECT_FALSE(receive("Welcome!\n")) << "nothing came";
  std::string endless;
  while (endless.size() < 1'000'000) endless += "Welcome!\n";
  ASSERT_TRUE(receive(endless + sent())) << "a start-up file that prints a lot";
  ASSERT_TRUE(receive(std::string(1'000'000, '=') + "\n" + sent())) << "in one line, too";
  EXPECT_THAT(error_of([&] { return receive(std::string(5'000'000, '=')); }),
              HasSubstr("not a stream of files"));
  while (endless.size() < 5'000'000) endless += "Welcome!\n";
  EXPECT_THAT(error_of([&] { return receive(endless); }), HasSubstr("not a stream of files"));
}

TEST_F(Stream, AConnectionThatTakesNothingIsGivenUp) {
  put("log", std::string(1 << 20, 'x') + std::string(1 << 20, 'y'));
  std::mt19937 random(1);
  std::string noise(4 << 20, '\0');
  for (char& c : noise) c = static_cast<char>(random());
  put("noise", noise);
  const Pipe pipe = make_pipe();
  const std::string error = error_of([&] {
    send_folder(from_, {}, pipe.write.get(), UINT64_MAX, std::chrono::milliseconds(200));
  });
  EXPECT_THAT(error, HasSubstr("the reader took no bytes for 200 ms"));
}

TEST_F(Stream, LinksAreNotFollowed) {
  put("a.log", "mine");
  fs::create_symlink("/etc/passwd", from_ / "link");
  EXPECT_EQ(list_files(from_), (Have{{"a.log", 4}}));
}

TEST(Sending, EvidenceGoesFirstAndTheRestAsFarAsItFits) {
  const Have files{{"a.bin", 600},
                   {"evidence.jsonl", 5},
                   {"junk.bin", 1'000'000'000'000},
                   {"rank0.out.log", 5'000},
                   {"sub/b.bin", 300},
                   {"telemetry.csv", 9'000},
                   {"z.bin", 200}};
  const Sending sending = plan_sending(files, 1'000);
  EXPECT_THAT(sending.names, ::testing::ElementsAre("evidence.jsonl", "rank0.out.log",
                                                    "telemetry.csv", "a.bin", "sub/b.bin"));
  EXPECT_EQ(sending.left_out.files, 2U);
  EXPECT_EQ(sending.left_out.bytes, 1'000'000'000'200U);
  EXPECT_THAT(sending.left_out.names, ::testing::ElementsAre("junk.bin", "z.bin"));
}

TEST(Sending, AFileThatOnlyHasTheNameOfEvidenceIsBoundedToo) {
  const Sending sending =
      plan_sending({{"rank0.out.log", 1 << 30}, {"rank9.out.log", 3ULL << 40}}, 1 << 30);
  EXPECT_THAT(sending.names, ::testing::ElementsAre("rank0.out.log"));
  EXPECT_THAT(sending.left_out.names, ::testing::ElementsAre("rank9.out.log"));
}

TEST(Sending, WhatTheAgentWritesComesWhateverItsSize) {
  const Sending sending = plan_sending({{"telemetry.csv", 3ULL << 30}}, 1 << 20);
  EXPECT_THAT(sending.names, ::testing::ElementsAre("telemetry.csv"));
}

TEST(Sending, AllIsSentWithoutABound) {
  EXPECT_EQ(plan_sending({{"a", 1ULL << 50}, {"b", 1}}, UINT64_MAX).left_out.files, 0U);
}

TEST_F(Stream, SaysWhatWasLeftOut) {
  put("rank0.out.log", "log");
  put("junk.bin", std::string(5'000, 'x'));
  const fs::path file = temporary_.path() / "stream";
  const UniqueFd fd(::open(file.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  send_folder(from_, {}, fd.get(), 1'000);
  Receiver receiver(to_);
  receiver.feed(read_file(file));
  ASSERT_TRUE(receiver.complete());
  EXPECT_EQ(list_files(to_), (Have{{"rank0.out.log", 3}}));
  EXPECT_EQ(receiver.left_out().bytes, 5'000U);
  EXPECT_THAT(receiver.left_out().names, ::testing::ElementsAre("junk.bin"));
}

TEST_F(Stream, WhatThisMachineCannotWriteIsItsOwnFault) {
  put("rank0.out.log", "log");
  fs::create_directories(to_ / "rank0.out.log");  // in the way
  EXPECT_THROW(receive(sent()), NotWritten);
}

}  // namespace
}  // namespace assay::transfer
