// A model's weights in one file or several.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/files.h"
#include "core/json.h"
#include "error_of.h"
#include "temporary_folder.h"
#include "train/weights/weight_set.h"

namespace assay::train::weights {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class WeightSetTest : public ::testing::Test {
 protected:
  void write(std::int64_t shard_bytes, bool replace = false) {
    write_weights(
        folder_.path() / "model", tensors_,
        [&](std::size_t i) {
          data_.assign(static_cast<std::size_t>(tensors_[i].bytes()),
                       static_cast<std::byte>('a' + i));
          return std::span<const std::byte>(data_);
        },
        shard_bytes, replace);
  }
  std::string refusal() {
    return testing::error_of([&] { return WeightSet(folder_.path() / "model"); });
  }
  std::filesystem::path file(const char* name) { return folder_.path() / "model" / name; }

  testing::TemporaryFolder folder_;
  std::vector<TensorInfo> tensors_{
      {"a", TensorType::f32, {4, 2}}, {"b", TensorType::bf16, {8}}, {"c", TensorType::f32, {3}}};
  std::vector<std::byte> data_;
};

TEST_F(WeightSetTest, OneFileIsReadBack) {
  write(1 << 20);
  const WeightSet set(folder_.path() / "model");
  ASSERT_EQ(set.entries().size(), 3U);
  EXPECT_EQ(set.entries().at("c").data()[0], std::byte{'c'});
  EXPECT_EQ(set.bytes(), 32 + 16 + 12);
  EXPECT_EQ(WeightSet(file("model.safetensors")).entries().size(), 3U);
}

TEST_F(WeightSetTest, LargeModelsAreSeveralFilesWithAnIndex) {
  write(40);
  EXPECT_TRUE(std::filesystem::exists(file("model-00001-of-00002.safetensors")));
  const Json index = parse_json(read_file(file("model.safetensors.index.json")), "index");
  EXPECT_EQ(index["metadata"]["total_size"], 60);
  EXPECT_EQ(index["weight_map"]["b"], "model-00002-of-00002.safetensors");
  const WeightSet set(folder_.path() / "model");
  EXPECT_EQ(set.entries().at("a").data()[31], std::byte{'a'});
  EXPECT_EQ(set.entries().at("b").data()[0], std::byte{'b'});
}

TEST_F(WeightSetTest, OtherWeightsOfTheSameModelHaveAnotherChecksum) {
  const auto checksum = [&] { return WeightSet(folder_.path() / "model").checksum(); };
  write(1 << 20);
  const std::uint32_t first = checksum();
  write(40, true);
  EXPECT_EQ(checksum(), first);  // in two files
  const std::filesystem::path second = file("model-00002-of-00002.safetensors");
  const std::string bytes = read_file(second);
  for (const std::size_t back : {1, 12, 13, 28}) {
    std::string changed = bytes;
    changed[changed.size() - back] ^= 1;
    write_file_atomic(second, changed);
    EXPECT_NE(checksum(), first) << back;
  }
}

TEST_F(WeightSetTest, WeightsAreReplacedOnlyWhenAsked) {
  write(40);
  EXPECT_THAT(testing::error_of([&] {
                write(1 << 20);
                return 0;
              }),
              HasSubstr("there are weights already"));
  write(1 << 20, true);
  EXPECT_FALSE(std::filesystem::exists(file("model-00001-of-00002.safetensors")));
  EXPECT_EQ(WeightSet(folder_.path() / "model").entries().size(), 3U);
}

TEST_F(WeightSetTest, AShardThatIsMissingIsNamed) {
  write(40);
  std::filesystem::remove(file("model-00002-of-00002.safetensors"));
  EXPECT_THAT(refusal(), HasSubstr("model-00002-of-00002.safetensors"));
}

TEST_F(WeightSetTest, AnIndexThatDoesNotFitItsFilesIsRefused) {
  write(40);
  const auto change = [&](const std::function<void(Json&)>& edit) {
    write(40, true);
    const auto path = file("model.safetensors.index.json");
    Json index = parse_json(read_file(path), "index");
    edit(index);
    write_file_atomic(path, index.dump(), false);
    return refusal();
  };
  EXPECT_THAT(change([](Json& i) { i["weight_map"]["x"] = i["weight_map"]["a"]; }),
              HasSubstr("index.json: the tensor 'x' is not in model-00001-of-00002.safetensors"));
  EXPECT_THAT(change([](Json& i) { i["weight_map"].erase("c"); }),
              HasSubstr("it does not name the tensor 'c' of model-00002"));
  EXPECT_THAT(change([](Json& i) { i["weight_map"]["c"] = i["weight_map"]["a"]; }),
              HasSubstr("index.json: the tensor 'c' is not in model-00001"));
  EXPECT_THAT(change([](Json& i) { i["weight_map"]["a"] = "../secret.safetensors"; }),
              HasSubstr("'../secret.safetensors' is not the name of a file in its folder"));
  EXPECT_THAT(change([](Json& i) { i.erase("weight_map"); }), HasSubstr("it has no 'weight_map'"));
  EXPECT_THAT(change([](Json& i) { i["weight_map"]["a"] = 3; }), HasSubstr("is not text"));
}

TEST_F(WeightSetTest, AFolderWithoutWeightsIsRefused) {
  std::filesystem::create_directory(folder_.path() / "model");
  EXPECT_THAT(refusal(), HasSubstr("there is neither model.safetensors nor"));
}

TEST_F(WeightSetTest, EveryDifferenceFromTheModelIsNamed) {
  tensors_.push_back({"d", TensorType::i32, {2}});
  write(1 << 20);
  const WeightSet set(folder_.path() / "model");
  const std::vector<TensorInfo> model{{"a", TensorType::f32, {2, 4}},
                                      {"b", TensorType::f32, {8}},
                                      {"d", TensorType::f32, {2}},
                                      {"e", TensorType::f32, {2}}};
  const std::string error = testing::error_of([&] {
    set.require(model);
    return 0;
  });
  EXPECT_THAT(error, AllOf(HasSubstr("a is [4, 2], not [2, 4]"), HasSubstr("e is missing"),
                           HasSubstr("d is of type I32"), HasSubstr("c is not of this model"),
                           Not(HasSubstr("b is"))));
  const std::vector<TensorInfo> fitting{
      {"a", TensorType::f32, {4, 2}}, {"b", TensorType::f32, {8}}, {"c", TensorType::f32, {3}}};
  tensors_.pop_back();
  write(1 << 20, true);
  WeightSet(folder_.path() / "model").require(fitting);
}

}  // namespace
}  // namespace assay::train::weights
