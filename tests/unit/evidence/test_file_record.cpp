#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "core/json_fields.h"
#include "error_of.h"
#include "evidence/file_record.h"
#include "temporary_folder.h"

namespace assay::evidence {
namespace {

using assay::testing::TemporaryFolder;

FileRecord record_of(std::string_view content, std::string name = "a.log") {
  FileHash hash;
  hash.append(content);
  return hash.record(std::move(name));
}

TEST(FileHash, CountsAndHashesWhatWasWrittenSoFarAndGoesOn) {
  FileHash hash;
  EXPECT_EQ(hash.record("f"), (FileRecord{"f", 0, 0, sha256("")}));
  hash.append("one\ntw");
  EXPECT_EQ(hash.record("f"), (FileRecord{"f", 6, 1, sha256("one\ntw")}));
  hash.append("o\n\n");
  EXPECT_EQ(hash.record("f"), (FileRecord{"f", 9, 3, sha256("one\ntwo\n\n")}));
}

TEST(FileHash, IsTheSameInPiecesOfAnySize) {
  std::string content;
  for (int i = 0; i < 5000; ++i) content += std::to_string(i * 7919) + (i % 3 == 0 ? "\n" : " ");
  FileHash hash;
  std::size_t at = 0;
  for (std::size_t size = 0; at < content.size(); ++size, at += size - 1)
    hash.append(std::string_view(content).substr(at, size));
  EXPECT_EQ(hash.record("a.log"), record_of(content));
}

TEST(FileRecord, HasTheSameJsonBothWays) {
  const FileRecord record = record_of("x\ny");
  const Json json = fields_to_json(record);
  EXPECT_EQ(dump_line(json),
            R"({"name":"a.log","bytes":3,"lines":1,"sha256":")" + sha256("x\ny") + "\"}");
  EXPECT_EQ(fields_from_json<FileRecord>(json, "here"), record);
}

TEST(MeasureFile, ReadsAFileOfAnySize) {
  const TemporaryFolder folder;
  std::string content(3'000'000, 'x');
  content[70'000] = '\n';
  EXPECT_EQ(measure_file(folder.write("a.log", content), "a.log"), record_of(content));
  EXPECT_EQ(measure_file(folder.write("empty", ""), "empty"), record_of("", "empty"));
}

TEST(MeasureFile, TellsWhatIsMissingFromWhatCannotBeRead) {
  const TemporaryFolder folder;
  EXPECT_EQ(measure_file(folder.path() / "none", "none"), std::nullopt);
  EXPECT_EQ(measure_file(folder.write("file", "") / "below", "below"), std::nullopt);
  EXPECT_THROW((void)measure_file(folder.path(), "folder"), Error);
  const auto fifo = folder.path() / "fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_THROW((void)measure_file(fifo, "fifo"), Error);
}

TEST(Compare, SaysHowAFileDiffersFromItsRecord) {
  const FileRecord listed = record_of("abc\n");
  EXPECT_EQ(compare(listed, record_of("abc\n", "another name")), FileMatch::same);
  EXPECT_EQ(compare(listed, std::nullopt), FileMatch::missing);
  EXPECT_EQ(compare(listed, record_of("abc")), FileMatch::shorter);
  EXPECT_EQ(compare(listed, record_of("abc\n\n")), FileMatch::longer);
  EXPECT_EQ(compare(listed, record_of("abd\n")), FileMatch::different);
  FileRecord lines = listed;
  lines.lines = 2;
  EXPECT_EQ(compare(lines, listed), FileMatch::different);
}

TEST(FirstMisfit, ChecksEveryLengthThatAFileHad) {
  const TemporaryFolder folder;
  const std::string content(600'000, 'z');
  const auto path = folder.write("a.log", content + "\n");
  std::vector<FileRecord> records;
  for (const std::size_t size : {0, 1, 1, 262'144, 262'145, 600'000})
    records.push_back(record_of(content.substr(0, size)));
  records.push_back(record_of(content + "\n"));
  EXPECT_EQ(first_misfit(path, records), std::nullopt);
  EXPECT_EQ(first_misfit(path, {}), std::nullopt);

  records[3].sha256 = sha256("other");
  EXPECT_EQ(first_misfit(path, records), 3U);
}

TEST(FirstMisfit, MissesBytesThatAreNotThere) {
  const TemporaryFolder folder;
  const auto path = folder.write("a.log", "one\ntwo\n");
  const std::vector<FileRecord> records{record_of("one\n"), record_of("one\ntwo\nthree\n")};
  EXPECT_EQ(first_misfit(path, records), 1U);
  EXPECT_EQ(first_misfit(folder.path() / "none", records), 0U);
  EXPECT_EQ(first_misfit(folder.path() / "none", std::vector{record_of("")}), std::nullopt);
}

TEST(FirstMisfit, TakesNoRecordThatFalls) {
  const TemporaryFolder folder;
  const auto path = folder.write("a.log", "one\ntwo\n");
  EXPECT_EQ(first_misfit(path, std::vector{record_of("one\ntwo\n"), record_of("one\n")}), 1U);
}

TEST(IsPlainName, RefusesWhatLeavesTheFolder) {
  for (const char* name : {"rank0.out.log", "results/a.json", "a b", "..a", "é"})
    EXPECT_TRUE(is_plain_path(name)) << name;
  for (const char* name : {"", "/etc/passwd", "..", "a/../b", "./a", "a/", "a//b", "a\nb", "\x7f"})
    EXPECT_FALSE(is_plain_path(name)) << name;
  EXPECT_FALSE(is_plain_path(std::string(5000, 'a')));
  EXPECT_FALSE(is_plain_path(std::string_view("a\0b", 3)));
}

TEST(IsSound, WantsAHash) {
  FileRecord record = record_of("x");
  EXPECT_TRUE(is_sound(record));
  record.sha256[3] = 'G';
  EXPECT_FALSE(is_sound(record));
  record.sha256.resize(63, 'a');
  EXPECT_FALSE(is_sound(record));
}

}  // namespace
}  // namespace assay::evidence
