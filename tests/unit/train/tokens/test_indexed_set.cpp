// Megatron's indexed data sets: written, read, and refused.
#include <array>
#include <cstring>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>

#include "core/files.h"
#include "core/json.h"
#include "core/subprocess.h"
#include "error_of.h"
#include "needs.h"
#include "temporary_folder.h"
#include "train/tokens/indexed_set.h"
#include "train/tokens/indexed_writer.h"

namespace assay::train::tokens {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <class T>
std::string raw(std::initializer_list<T> values) {
  std::string out;
  for (const T value : values) out.append(reinterpret_cast<const char*>(&value), sizeof(T));
  return out;
}

std::vector<std::int32_t> all_tokens(const TokenStream& stream) {
  std::vector<std::int32_t> out(static_cast<std::size_t>(stream.size()));
  stream.read(0, stream.size(), 1 << 30, out.data());
  return out;
}

class IndexedSetTest : public ::testing::Test {
 protected:
  // Documents [10, 11], [12] and [13, 14, 15], as Megatron writes them; uint16.
  std::string index(std::string lengths = raw<std::int32_t>({2, 1, 3}),
                    std::string offsets = raw<std::int64_t>({0, 4, 6}),
                    std::string documents = raw<std::int64_t>({0, 1, 2, 3})) {
    return std::string("MMIDIDX\0\0", 9) + raw<std::uint64_t>({1}) + '\x08' +
           raw<std::uint64_t>({lengths.size() / 4, documents.size() / 8}) + lengths + offsets +
           documents;
  }
  std::string old_index(bool with_documents) {
    std::string out = std::string("TNTIDX\0\0", 8) + raw<std::uint64_t>({1, 8, 2, 3, 3});
    if (with_documents) out += raw<std::uint64_t>({3});
    out += raw<std::int64_t>({0, 1, 2, 3}) + raw<std::int64_t>({0, 2, 3, 6}) +
           raw<std::int64_t>({2, 1, 3});
    if (with_documents) out += raw<std::int64_t>({0, 2, 3});
    return out;
  }
  std::filesystem::path write(const std::string& index_bytes,
                              const std::string& bin = raw<std::uint16_t>({10, 11, 12, 13, 14,
                                                                           15})) {
    folder_.write("set.bin", bin);
    folder_.write("set.idx", index_bytes);
    return folder_.path() / "set";
  }
  std::string refusal(const std::string& index_bytes) {
    const auto path = write(index_bytes);
    return testing::error_of([&] { return IndexedSet(path); });
  }

  testing::TemporaryFolder folder_;
};

TEST_F(IndexedSetTest, MegatronsFilesAreRead) {
  const IndexedSet set(write(index()));
  EXPECT_THAT(all_tokens(set), ElementsAre(10, 11, 12, 13, 14, 15));
  EXPECT_THAT(set.starts(), ElementsAre(0, 2, 3, 6));
  EXPECT_EQ(set.sequences(), 3);
}

TEST_F(IndexedSetTest, ItIsNamedByItsPrefixOrOneOfItsFiles) {
  const auto prefix = write(index());
  for (const char* const extension : {"", ".idx", ".bin"})
    EXPECT_EQ(IndexedSet(prefix.string() + extension).size(), 6);
}

TEST_F(IndexedSetTest, ADocumentMayHaveSeveralSequences) {
  const IndexedSet set(write(index(raw<std::int32_t>({2, 1, 3}), raw<std::int64_t>({0, 4, 6}),
                                   raw<std::int64_t>({0, 2, 3}))));
  EXPECT_THAT(set.starts(), ElementsAre(0, 3, 6));
}

TEST_F(IndexedSetTest, SequencesMayLieInAnyOrder) {
  const IndexedSet set(write(index(raw<std::int32_t>({3, 1, 2}), raw<std::int64_t>({6, 4, 0}))));
  EXPECT_THAT(all_tokens(set), ElementsAre(13, 14, 15, 12, 10, 11));
  std::array<std::int32_t, 3> part{};
  set.read(2, 3, 100, part.data());
  EXPECT_THAT(part, ElementsAre(15, 12, 10));
}

TEST_F(IndexedSetTest, BytesThatSeveralSequencesHaveAreRefused) {
  EXPECT_THAT(refusal(index(raw<std::int32_t>({2, 1, 3}), raw<std::int64_t>({0, 0, 0}))),
              HasSubstr("sequence 1 begins at byte 0, within sequence 0, which ends at 4"));
  // Not in the order of the file.
  EXPECT_THAT(refusal(index(raw<std::int32_t>({3, 1, 2}), raw<std::int64_t>({6, 2, 0}))),
              HasSubstr("sequence 1 begins at byte 2, within sequence 2, which ends at 4"));
}

TEST_F(IndexedSetTest, BytesBetweenSequencesAreRefused) {
  // As many bytes as the file has: one is used twice instead.
  EXPECT_THAT(refusal(index(raw<std::int32_t>({3, 1, 2}), raw<std::int64_t>({6, 6, 0}))),
              HasSubstr("the bytes 4 … 5 of set.bin are of no sequence"));
}

TEST_F(IndexedSetTest, ASequenceThatBeginsWithinATokenIsRefused) {
  EXPECT_THAT(refusal(index(raw<std::int32_t>({2, 1, 3}), raw<std::int64_t>({0, 4, 5}))),
              HasSubstr("sequence 2 begins at byte 5, within a token of 2 bytes"));
}

TEST_F(IndexedSetTest, AnEmptySequenceMayBeAnywhere) {
  const IndexedSet set(write(index(raw<std::int32_t>({3, 0, 3}), raw<std::int64_t>({6, 2, 0}))));
  EXPECT_THAT(all_tokens(set), ElementsAre(13, 14, 15, 10, 11, 12));
}

TEST_F(IndexedSetTest, TheOlderIndexIsReadWithAndWithoutDocuments) {
  const IndexedSet megatron(write(old_index(true)));
  EXPECT_THAT(all_tokens(megatron), ElementsAre(10, 11, 12, 13, 14, 15));
  EXPECT_THAT(megatron.starts(), ElementsAre(0, 3, 6));
  const IndexedSet fairseq(write(old_index(false)));
  EXPECT_THAT(fairseq.starts(), ElementsAre(0, 2, 3, 6));
}

TEST_F(IndexedSetTest, EveryTypeOfTokensIsRead) {
  const auto read = [&](char type, const std::string& bin, std::int64_t width) {
    std::string bytes =
        index(raw<std::int32_t>({2}), raw<std::int64_t>({0}), raw<std::int64_t>({0, 1}));
    bytes[17] = type;
    EXPECT_EQ(static_cast<std::int64_t>(bin.size()), 2 * width);
    return all_tokens(IndexedSet(write(bytes, bin)));
  };
  EXPECT_THAT(read(1, raw<std::uint8_t>({1, 200}), 1), ElementsAre(1, 200));
  EXPECT_THAT(read(2, raw<std::int8_t>({1, 100}), 1), ElementsAre(1, 100));
  EXPECT_THAT(read(3, raw<std::int16_t>({1, 30000}), 2), ElementsAre(1, 30000));
  EXPECT_THAT(read(4, raw<std::int32_t>({1, 128255}), 4), ElementsAre(1, 128255));
  EXPECT_THAT(read(5, raw<std::int64_t>({1, 128255}), 8), ElementsAre(1, 128255));
  EXPECT_THAT(read(8, raw<std::uint16_t>({1, 65000}), 2), ElementsAre(1, 65000));
}

TEST_F(IndexedSetTest, ATokenOutsideOfTheVocabularyIsNamedWithItsPlace) {
  const IndexedSet set(write(index()));
  std::array<std::int32_t, 6> out{};
  EXPECT_THAT(testing::error_of([&] {
                set.read(0, 6, 14, out.data());
                return 0;
              }),
              HasSubstr("set.bin: byte 8: the token 14 is not of the vocabulary of 14"));
}

TEST_F(IndexedSetTest, EveryCutIndexIsRefused) {
  for (const std::string& whole : {index(), old_index(true)})
    for (std::size_t size = 0; size < whole.size(); ++size)
      EXPECT_THAT(refusal(whole.substr(0, size)), HasSubstr("set.idx: ")) << size;
  // Cut where fairseq's would end, it would be one without documents but for its header.
  EXPECT_THAT(refusal(index() + "x"), HasSubstr("1 byte behind its end"));
}

TEST_F(IndexedSetTest, ForeignFilesAreRefused) {
  EXPECT_THAT(refusal("a text file of some kind"), HasSubstr("it is not an index of Megatron's"));
  EXPECT_THAT(refusal(""), HasSubstr("too short"));
  std::string bytes = index();
  bytes[9] = 2;
  EXPECT_THAT(refusal(bytes), HasSubstr("version 2 is not known"));
  bytes = index();
  bytes[17] = 7;
  EXPECT_THAT(refusal(bytes), HasSubstr("its values (type 7) are no tokens"));
  bytes[17] = 99;
  EXPECT_THAT(refusal(bytes), HasSubstr("there is no type 99"));
}

TEST_F(IndexedSetTest, CountsFarBeyondTheFileAreRefused) {
  std::string bytes = index();
  for (const std::uint64_t count : {std::uint64_t{4}, std::uint64_t{1} << 40, ~std::uint64_t{0}}) {
    std::memcpy(bytes.data() + 18, &count, 8);
    EXPECT_THAT(refusal(bytes), HasSubstr("set.idx: ")) << count;
  }
  EXPECT_THAT(refusal(bytes), HasSubstr("18446744073709551615 sequences, which is more than"));
}

TEST_F(IndexedSetTest, EntriesOutsideOfTheTokensAreRefused) {
  const auto lengths = raw<std::int32_t>({2, 1, 3});
  EXPECT_THAT(
      refusal(index(lengths, raw<std::int64_t>({0, 4, 8}))),
      HasSubstr("sequence 2 (3 tokens from byte 8 on) is not within set.bin, which has 12"));
  EXPECT_THAT(refusal(index(lengths, raw<std::int64_t>({0, -4, 6}))), HasSubstr("sequence 1"));
  EXPECT_THAT(
      refusal(index(lengths, raw<std::int64_t>({0, std::numeric_limits<std::int64_t>::max(), 6}))),
      HasSubstr("sequence 1"));
  EXPECT_THAT(refusal(index(raw<std::int32_t>({2, -1, 3}))),
              HasSubstr("sequence 1 has a length of -1"));
}

TEST_F(IndexedSetTest, DocumentsThatAreNotThereAreRefused) {
  const auto lengths = raw<std::int32_t>({2, 1, 3});
  const auto offsets = raw<std::int64_t>({0, 4, 6});
  EXPECT_THAT(refusal(index(lengths, offsets, raw<std::int64_t>({0, 2, 1, 3}))),
              HasSubstr("document 2 begins at sequence 1"));
  EXPECT_THAT(refusal(index(lengths, offsets, raw<std::int64_t>({0, 1, 2, 9}))),
              HasSubstr("document 3 begins at sequence 9"));
  EXPECT_THAT(refusal(index(lengths, offsets, raw<std::int64_t>({1, 2, 3}))),
              HasSubstr("document 0 begins at sequence 1"));
  EXPECT_THAT(refusal(index(lengths, offsets, raw<std::int64_t>({0, 2}))),
              HasSubstr("its documents have 2 of its 3 sequences"));
  EXPECT_THAT(refusal(index(lengths, offsets, "")), HasSubstr("its documents have 0 of its 3"));
}

TEST_F(IndexedSetTest, TokensOfAnotherSetAreNoticed) {
  const auto cut = write(index(), raw<std::uint16_t>({10, 11, 12}));
  EXPECT_THAT(testing::error_of([&] { return IndexedSet(cut); }),
              HasSubstr("is not within set.bin"));
  const auto longer = write(index(), std::string(100, 'x'));
  EXPECT_THAT(testing::error_of([&] { return IndexedSet(longer); }),
              HasSubstr("its sequences have 12 of the 100 bytes of set.bin"));
}

TEST_F(IndexedSetTest, ImagesAreNoText) {
  EXPECT_EQ(IndexedSet(write(index() + std::string(3, '\0'))).size(), 6);
  EXPECT_THAT(refusal(index() + std::string("\0\1\0", 3)), HasSubstr("sequence 1 is not text"));
}

TEST_F(IndexedSetTest, AMissingFileIsNamed) {
  folder_.write("set.idx", index());
  EXPECT_THAT(testing::error_of([&] { return IndexedSet(folder_.path() / "set"); }),
              HasSubstr("set.bin"));
}

TEST_F(IndexedSetTest, AnEmptySetHasNoTokens) {
  EXPECT_EQ(IndexedSet(write(index("", "", raw<std::int64_t>({0})), "")).size(), 0);
}

void fill(IndexedWriter& writer) {
  writer.append({{1, 2}});
  writer.append({{3}});
  writer.end_document();
  writer.end_document();  // empty: none
  writer.append({{4}});
  writer.end_document();
}

TEST_F(IndexedSetTest, WhatIsWrittenIsReadBack) {
  for (const std::int64_t vocabulary : {1000, 128'256}) {
    IndexedWriter writer(folder_.path() / "out", vocabulary, true);
    fill(writer);
    writer.finish();
    const IndexedSet set(folder_.path() / "out");
    EXPECT_THAT(all_tokens(set), ElementsAre(1, 2, 3, 4));
    EXPECT_THAT(set.starts(), ElementsAre(0, 3, 4));
    EXPECT_EQ(std::filesystem::file_size(folder_.path() / "out.bin"),
              vocabulary > 65'500 ? 16U : 8U);
  }
}

// Not with our reader: a few lines of Python, as Megatron reads it.
TEST_F(IndexedSetTest, WhatIsWrittenAnotherReaderReads) {
  const std::string python = needs::python_with("struct");
  if (python.empty()) GTEST_SKIP() << needs::package("python3");
  IndexedWriter writer(folder_.path() / "out", 128'256, false);
  fill(writer);
  writer.finish();
  const char* const script = R"(
import struct, sys
idx, bin = open(sys.argv[1] + ".idx", "rb").read(), open(sys.argv[1] + ".bin", "rb").read()
assert idx[:9] == b"MMIDIDX\x00\x00"
version, code, n, d = struct.unpack("<QBQQ", idx[9:34])
lengths = struct.unpack("<%di" % n, idx[34:34 + 4 * n])
offsets = struct.unpack("<%dq" % n, idx[34 + 4 * n:34 + 12 * n])
documents = struct.unpack("<%dq" % d, idx[34 + 12 * n:])
print(version, code, documents, [struct.unpack_from("<%di" % l, bin, o) for l, o in zip(lengths, offsets)])
)";
  const CommandResult result =
      run_command({python, "-c", script, (folder_.path() / "out").string()}, {});
  ASSERT_TRUE(result.ok()) << result.err;
  EXPECT_EQ(result.out, "1 4 (0, 1, 2) [(1, 2, 3), (4,)]\n");
}

TEST_F(IndexedSetTest, NothingIsThereBeforeTheEnd) {
  {
    IndexedWriter writer(folder_.path() / "out", 1000, false);
    fill(writer);
    EXPECT_FALSE(std::filesystem::exists(folder_.path() / "out.bin"));
    EXPECT_FALSE(std::filesystem::exists(folder_.path() / "out.idx"));
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path())) << "an error leaves nothing behind";
}

TEST_F(IndexedSetTest, ASetIsReplacedOnlyWhenAsked) {
  const auto prefix = write(index());
  EXPECT_THAT(testing::error_of([&] { return IndexedWriter(prefix, 1000, false).documents(); }),
              HasSubstr("set.idx: the file is there already"));
  EXPECT_EQ(IndexedSet(prefix).size(), 6) << "and stays as it was";
  IndexedWriter writer(prefix, 1000, true);
  fill(writer);
  writer.finish();
  EXPECT_EQ(IndexedSet(prefix).size(), 4);
}

TEST_F(IndexedSetTest, TwoWritersDoNotMix) {
  const auto prefix = folder_.path() / "out";
  folder_.write("out.bin.part", "left behind by one that was killed");
  IndexedWriter first(prefix, 1000, false);
  EXPECT_THAT(testing::error_of([&] { return IndexedWriter(prefix, 1000, false).documents(); }),
              HasSubstr("another process is writing"));
  fill(first);
  first.finish();
  EXPECT_EQ(IndexedSet(prefix).size(), 4);
}

TEST(TokenStreamTest, StreamsAreJoined) {
  const auto make = [](std::vector<std::int32_t> tokens) {
    auto stream = std::make_unique<MemoryTokens>();
    stream->append(tokens);
    stream->end_document();
    return stream;
  };
  std::vector<std::unique_ptr<const TokenStream>> parts;
  parts.push_back(make({}));
  parts.push_back(make({1, 2, 3}));
  parts.push_back(make({}));
  parts.push_back(make({4}));
  parts.push_back(make({5, 6}));
  const JoinedTokens joined(std::move(parts));
  EXPECT_THAT(all_tokens(joined), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(joined.starts(), ElementsAre(0, 3, 4, 6));
  std::array<std::int32_t, 3> out{};
  joined.read(2, 3, 10, out.data());
  EXPECT_THAT(out, ElementsAre(3, 4, 5));
}

}  // namespace
}  // namespace assay::train::tokens
