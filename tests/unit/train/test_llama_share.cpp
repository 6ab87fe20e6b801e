// Parts of a model make the model: names, shapes, values.
#include <set>

#include <gtest/gtest.h>

#include "train/models/llama.h"

namespace assay::train {
namespace {

// One of several ranks that never speak.
class Silent final : public Exchange {
 public:
  Silent(std::int64_t size, std::int64_t rank) : size_(size), rank_(rank) {}
  std::int64_t size() const override { return size_; }
  std::int64_t rank() const override { return rank_; }
  torch::Tensor gather(const torch::Tensor& part) override { return part; }
  torch::Tensor scatter_sum(const torch::Tensor& parts) override { return parts; }
  void sum(const torch::Tensor&) override {}
  void largest(const torch::Tensor&) override {}
  torch::Tensor all_to_all(const torch::Tensor& rows, const std::vector<std::int64_t>&,
                           const std::vector<std::int64_t>&) override {
    return rows;
  }

 private:
  std::int64_t size_;
  std::int64_t rank_;
};

LlamaOptions four_layers(bool tied, std::int64_t experts) {
  LlamaOptions options;
  options.vocabulary = 48;
  options.layers = 4;
  options.width = 32;
  options.heads = 4;
  options.kv_heads = 2;
  options.inner = 48;
  options.tied = tied;
  options.qk_norm = true;
  options.experts = experts;
  return options;
}

TEST(LlamaShareTest, TheCutsOfAWholeModelAreItsParameters) {
  for (const std::int64_t experts : {0, 4}) {
    const LlamaOptions options = four_layers(false, experts);
    Llama model(options);
    std::int64_t count = 0;
    const auto parameters = model->named_parameters();
    const auto cuts = cuts_of(options, {});
    ASSERT_EQ(cuts.size(), parameters.size());
    for (const ParameterCut& cut : cuts) {
      EXPECT_EQ(parameters[cut.name].sizes().vec(), cut.shape) << cut.name;
      count += parameters[cut.name].numel();
    }
    EXPECT_EQ(count, options.parameters());
  }
}

// Two stages of two ranks that share matrices and experts: put together they are the model that one
// rank draws with the same seed, and every element is counted once.
TEST(LlamaShareTest, SharesTogetherAreTheModel) {
  for (const bool tied : {true, false})
    for (const std::int64_t experts : {0, 4}) {
      const LlamaOptions options = four_layers(tied, experts);
      torch::manual_seed(5);
      Llama whole(options);
      const auto expected = whole->named_parameters();
      std::map<std::string, torch::Tensor> made;
      std::map<std::string, std::int64_t> counted;
      for (std::int64_t stage = 0; stage < 2; ++stage)
        for (std::int64_t tensor = 0; tensor < 2; ++tensor)
          for (std::int64_t expert = 0; expert < (experts > 0 ? 2 : 1); ++expert) {
            Silent of_tensor(2, tensor);
            Silent of_expert(2, expert);
            const LlamaShare share{2 * stage, 2, &of_tensor, experts > 0 ? &of_expert : nullptr};
            torch::manual_seed(5);
            Llama part(options, torch::kCPU, share);
            const auto values = part->named_parameters();
            for (const ParameterCut& cut : cuts_of(options, share)) {
              torch::Tensor& to = made[cut.name];
              if (!to.defined()) to = torch::full(cut.shape, NAN);
              put_into(to, values[cut.name].detach(), cut);
              if (cut.counts && (cut.expert || expert == 0))
                counted[cut.name] += values[cut.name].numel();
            }
          }
      ASSERT_EQ(made.size(), expected.size());
      for (const auto& item : expected) {
        EXPECT_TRUE(torch::equal(made.at(item.key()), item.value())) << item.key();
        EXPECT_EQ(counted.at(item.key()), item.value().numel()) << item.key();
      }
    }
}

TEST(LlamaShareTest, APartThatIsCutOutAndPutBackIsWhereItWas) {
  const torch::Tensor whole = torch::arange(24, torch::kFloat).view({6, 4});
  const ParameterCut rows{"qkv", {6, 4}, 0, {{1, 1}, {4, 2}}};
  const torch::Tensor part = cut_from(whole, rows);
  EXPECT_TRUE(torch::equal(part, torch::stack({whole[1], whole[4], whole[5]})));
  torch::Tensor to = torch::zeros({6, 4});
  put_into(to, part, rows);
  EXPECT_TRUE(torch::equal(to[4], whole[4]));
  EXPECT_EQ(to[0].abs().sum().item<double>(), 0);
}

}  // namespace
}  // namespace assay::train
