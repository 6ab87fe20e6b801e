// safetensors files: read, written, and refused.
#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/files.h"
#include "core/json.h"
#include "core/subprocess.h"
#include "error_of.h"
#include "needs.h"
#include "temporary_folder.h"
#include "train/weights/safetensors.h"

namespace assay::train::weights {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string file_of(const std::string& header, const std::string& data) {
  const std::uint64_t length = header.size();
  return std::string(reinterpret_cast<const char*>(&length), 8) + header + data;
}

std::span<const std::byte> bytes_of_text(const std::string& text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

class SafetensorsTest : public ::testing::Test {
 protected:
  SafetensorsFile open(const std::string& content) {
    return SafetensorsFile(folder_.write("m.safetensors", content));
  }
  std::string refusal(const std::string& header, const std::string& data = "01234567") {
    return testing::error_of([&] { return open(file_of(header, data)); });
  }

  testing::TemporaryFolder folder_;
};

TEST_F(SafetensorsTest, AFileOfAnotherWriterIsRead) {
  const SafetensorsFile file = open(
      file_of(R"({"__metadata__":{"format":"pt"},"b":{"dtype":"BF16","shape":[2],"data_offsets":)"
              R"([4,8]},"a\u0041":{"dtype":"F32","shape":[],"data_offsets":[0,4]}}   )",
              "0123abcd"));
  ASSERT_EQ(file.tensors().size(), 2U);
  EXPECT_EQ(file.tensors()[0].info.name, "aA");
  EXPECT_EQ(file.tensors()[0].info.shape_text(), "[]");
  EXPECT_EQ(file.tensors()[1].info.type, TensorType::bf16);
  EXPECT_THAT(file.tensors()[1].info.shape, ElementsAre(2));
  EXPECT_EQ(std::memcmp(file.data(file.tensors()[1]).data(), "abcd", 4), 0);
  EXPECT_EQ(file.metadata().at("format"), "pt");
}

TEST_F(SafetensorsTest, EmptyTensorsAndEmptyFilesAreFine) {
  EXPECT_TRUE(open(file_of("{}", "")).tensors().empty());
  const SafetensorsFile file =
      open(file_of(R"({"a":{"dtype":"F32","shape":[0,5],"data_offsets":[0,0]},)"
                   R"("b":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
                   "x"));
  EXPECT_EQ(file.tensors().size(), 2U);
}

TEST_F(SafetensorsTest, HeadersThatAreNoneAreRefused) {
  EXPECT_THAT(testing::error_of([&] { return open("short"); }), HasSubstr("too short"));
  EXPECT_THAT(testing::error_of([&] { return open(std::string(64, '\xFF')); }),
              HasSubstr("18446744073709551615 bytes: it is not a safetensors file"));
  EXPECT_THAT(testing::error_of([&] { return open(std::string("\xFF\0\0\0\0\0\0\0{}", 10)); }),
              HasSubstr("its header has 255 bytes, the file 10: it is cut"));
  EXPECT_THAT(refusal("PK zip"), HasSubstr("its header is not JSON"));
  EXPECT_THAT(refusal("{\"a\": "), HasSubstr("m.safetensors"));
  EXPECT_THAT(refusal("{\"a\": 7}"), HasSubstr("m.safetensors: a: expected an object"));
}

TEST_F(SafetensorsTest, TensorsThatDoNotFitAreNamed) {
  const auto tensor = [](const char* dtype, const char* shape, const char* offsets) {
    return std::string(R"({"w":{"dtype":)") + dtype + R"(,"shape":)" + shape +
           R"(,"data_offsets":)" + offsets + "}}";
  };
  EXPECT_THAT(refusal(tensor("\"F7\"", "[2]", "[0,8]")),
              HasSubstr("m.safetensors: w: the type \"F7\" is not known"));
  EXPECT_THAT(refusal(tensor("\"F32\"", "[3]", "[0,8]")),
              HasSubstr("w: F32 [3] is 12 bytes; its place has 8"));
  EXPECT_THAT(refusal(tensor("\"F32\"", "[-2]", "[0,8]")), HasSubstr("w: 'shape' should be"));
  EXPECT_THAT(refusal(tensor("\"F32\"", "[1.5]", "[0,8]")), HasSubstr("w: 'shape' should be"));
  EXPECT_THAT(refusal(tensor("\"F32\"", "[4]", "[0,16]")),
              HasSubstr("w: it ends at byte 16 of the data, of which the file has 8: it is cut"));
  EXPECT_THAT(refusal(tensor("\"F32\"", "[2]", "[8,0]")),
              HasSubstr("w: it begins at byte 8 and ends at 0"));
  EXPECT_THAT(refusal(tensor("\"F32\"", "[4294967296,4294967296]", "[0,8]")),
              HasSubstr("m.safetensors: w: a shape of [4294967296, 4294967296] is not possible"));
  EXPECT_THAT(refusal(tensor("\"F32\"", "[2]", "[0]")), HasSubstr("'data_offsets' should be two"));
  EXPECT_THAT(refusal(R"({"w":{"dtype":"F32","shape":[2]}})"),
              HasSubstr("w: it has no 'data_offsets'"));
}

TEST_F(SafetensorsTest, PlacesThatOverlapOrLeaveGapsAreNamed) {
  const auto two = [](const char* first, const char* second) {
    return std::string(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":)") + first +
           R"(},"b":{"dtype":"U8","shape":[4],"data_offsets":)" + second + "}}";
  };
  EXPECT_THAT(refusal(two("[0,4]", "[2,6]")), HasSubstr("b: it overlaps the one before it"));
  EXPECT_THAT(refusal(two("[0,4]", "[0,4]"), "0123"), HasSubstr("b: it overlaps"));
  EXPECT_THAT(refusal(two("[0,4]", "[6,10]"), "0123456789"),
              HasSubstr("b: 2 bytes before it belong to no tensor"));
  EXPECT_THAT(refusal(two("[0,4]", "[4,8]"), "0123456789"),
              HasSubstr("2 bytes at its end belong to no tensor"));
  EXPECT_THAT(refusal(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
                      R"("a":{"dtype":"U8","shape":[4],"data_offsets":[4,8]}})"),
              HasSubstr("a: it is there twice"));
}

TEST_F(SafetensorsTest, EveryCutFileIsRefused) {
  const std::string whole =
      file_of(R"({"a":{"dtype":"U8","shape":[8],"data_offsets":[0,8]}})", "01234567");
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_THAT(testing::error_of([&] { return open(whole.substr(0, size)); }),
                HasSubstr("m.safetensors"))
        << size;
}

// Not with our reader: a few lines of Python.
TEST_F(SafetensorsTest, WhatIsWrittenAnotherReaderReads) {
  const std::string python = needs::python_with("struct, json");
  if (python.empty()) GTEST_SKIP() << needs::package("python3");
  const auto path = folder_.path() / "out.safetensors";
  const std::vector<TensorInfo> tensors{{"model.\"norm\".weight", TensorType::f32, {2}},
                                        {"w", TensorType::u8, {1, 3}}};
  const std::vector<std::string> data{std::string("\0\0\x80\x3f\0\0\0\x40", 8), "abc"};
  write_safetensors(path, tensors, {{"format", "pt"}},
                    [&](std::size_t i) { return bytes_of_text(data[i]); });
  const char* const script = R"(
import json, struct, sys
f = open(sys.argv[1], "rb").read()
n, = struct.unpack("<Q", f[:8])
assert (8 + n) % 64 == 0
h = json.loads(f[8:8 + n])
data = f[8 + n:]
assert h.pop("__metadata__") == {"format": "pt"}
for name, t in h.items():
    b, e = t["data_offsets"]
    print(name, t["dtype"], t["shape"], struct.unpack("<2f", data[b:e]) if t["dtype"] == "F32" else data[b:e])
)";
  const CommandResult result = run_command({python, "-c", script, path.string()}, {});
  ASSERT_TRUE(result.ok()) << result.err;
  EXPECT_EQ(result.out, "model.\"norm\".weight F32 [2] (1.0, 2.0)\nw U8 [1, 3] b'abc'\n");
  const SafetensorsFile again(path);
  EXPECT_EQ(again.tensors()[1].info.name, "w");
  EXPECT_FALSE(std::filesystem::exists(path.string() + ".part"));
}

TEST_F(SafetensorsTest, BytesThatDoNotFitTheShapeAreADefect) {
  const std::vector<TensorInfo> tensors{{"w", TensorType::f32, {2}}};
  const std::string data = "abc";
  EXPECT_THAT(testing::error_of([&] {
                write_safetensors(folder_.path() / "out", tensors, {},
                                  [&](std::size_t) { return bytes_of_text(data); });
                return 0;
              }),
              HasSubstr("w: 3 bytes for [2]"));
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "out"));
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "out.part")) << "left half written";
}

}  // namespace
}  // namespace assay::train::weights
