// assay-train's commands, as somebody types them; and a training on what they write.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/files.h"
#include "core/json.h"
#include "core/subprocess.h"
#include "temporary_folder.h"

namespace assay::train {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class CommandTest : public ::testing::Test {
 protected:
  static CommandResult run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), std::string(ASSAY_BIN_DIR) + "/assay-train");
    CommandOptions options;
    options.timeout = std::chrono::seconds(120);
    return run_command(arguments, options);
  }
  [[nodiscard]] std::string path(const std::string& name) const {
    return (folder_.path() / name).string();
  }
  void write_text() const {
    std::string text;
    for (int i = 0; i < 3000; ++i)
      text += "the cat number " + std::to_string(i % 97) + " sat on the mat. ";
    folder_.write("text/a.txt", text);
    folder_.write("text/b.jsonl", "{\"text\": \"one line\"}\n{\"text\": \"\"}\n");
  }

  testing::TemporaryFolder folder_;
};

TEST_F(CommandTest, TextIsTokenizedWithALearntVocabulary) {
  write_text();
  const CommandResult result = run({"tokenize", path("text"), "--learn", "400", "--output",
                                    path("out/set"), "--threads", "2", "--format", "json"});
  ASSERT_TRUE(result.ok()) << result.err;
  const Json json = parse_json(result.out, "stdout");
  EXPECT_EQ(json["documents"], 2);
  EXPECT_EQ(json["empty_documents"], 1);
  // uint16
  EXPECT_EQ(std::filesystem::file_size(path("out/set.bin")), 2 * json["tokens"].get<std::size_t>());
  EXPECT_TRUE(std::filesystem::exists(path("out/set.idx")));
  const CommandResult again =
      run({"tokenize", path("text"), "--tokenizer", path("out/set.tokenizer.json"), "--output",
           path("again"), "--threads", "1"});
  ASSERT_TRUE(again.ok()) << again.err;
  EXPECT_EQ(read_file(path("again.bin")), read_file(path("out/set.bin")));
  EXPECT_EQ(read_file(path("again.idx")), read_file(path("out/set.idx")));
  EXPECT_EQ(read_file(path("again.tokenizer.json")), read_file(path("out/set.tokenizer.json")));
}

TEST_F(CommandTest, WhatIsThereIsNotReplacedUnasked) {
  write_text();
  folder_.write("set.idx", "precious");
  const std::vector<std::string> command{"tokenize", path("text"), "--learn",
                                         "300",      "--output",   path("set")};
  const CommandResult refused = run(command);
  EXPECT_EQ(refused.status.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("set.idx: the file is there already"));
  EXPECT_EQ(read_file(path("set.idx")), "precious");
  std::vector<std::string> forced = command;
  forced.emplace_back("--force");
  EXPECT_TRUE(run(forced).ok());
}

TEST_F(CommandTest, AWrongLineLeavesNothingBehind) {
  folder_.write("text/b.jsonl", "{\"text\": \"fine\"}\n{\"txt\": \"not\"}\n");
  const CommandResult result =
      run({"tokenize", path("text"), "--learn", "300", "--output", path("set")});
  EXPECT_EQ(result.status.code, 3);
  EXPECT_THAT(result.err, HasSubstr("b.jsonl:2: the line has no 'text'"));
  for (const char* const name : {"set.idx", "set.bin", "set.bin.part", "set.tokenizer.json"})
    EXPECT_FALSE(std::filesystem::exists(path(name))) << name;
}

TEST_F(CommandTest, WrongUsageIsExplained) {
  for (const auto& [arguments, message] :
       std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"tokenize"}, "which files or folders?"},
           {{"tokenize", "x"}, "--output PREFIX is missing"},
           {{"tokenize", "x", "--outptu", "y"}, "did you mean '--output'"},
           {{"tokenize", "x", "--output"}, "--output needs PREFIX"},
           {{"plan"}, "which model?"},
           {{"plan", "lama-8b"}, "did you mean 'llama-8b'"},
           {{"plan", "llama-8b", "--memory", "5x"}, "not a valid size: '5x'"},
           {{"plan", "llama-8b", "--devices", "0"}, "'0' is not a number from 1"},
           {{"plan", "llama-8b", "--flops", "nan"}, "--flops: 'nan' is not a number"},
           {{"plan", "llama-8b", "--efficiency", "-nan"}, "--efficiency: '-nan' is not a number"},
           {{"plan", "llama-8b", "--mesh", "tensor=x"}, "'tensor=x' is not a size of a mesh"},
           {{"plan", "llama-8b", "--devices", "8", "--sequence", "8190", "--mesh", "tensor=4"},
            "8190 tokens of a sequence cannot be shared by 4"},
           {{"plan", "llama-3b", "--devices", "3", "--micro-batch", "4", "--batch", "15"},
            "use a multiple of 12"},
           {{"plan", "llama-8b", "--devices", "6", "--mesh", "tensor=3"},
            "cannot be shared by 3"}}) {
    const CommandResult result = run(arguments);
    EXPECT_EQ(result.status.code, 2) << message;
    EXPECT_THAT(result.err, HasSubstr(message));
  }
}

TEST_F(CommandTest, HelpHasExamples) {
  for (const char* const command : {"tokenize", "plan"}) {
    const CommandResult result = run({command, "--help"});
    EXPECT_TRUE(result.ok());
    EXPECT_THAT(result.out, AllOf(HasSubstr("usage: assay-train " + std::string(command)),
                                  HasSubstr("examples:\n  assay-train ")));
  }
  EXPECT_THAT(run({"--help"}).out, AllOf(HasSubstr("commands:"), HasSubstr("  tokenize ")));
}

TEST_F(CommandTest, APlanSaysWhatFitsByItsExitCodeToo) {
  const CommandResult fits = run({"plan", "llama-70b", "--devices", "64", "--memory", "80G"});
  EXPECT_EQ(fits.status.code, 0) << fits.err;
  EXPECT_THAT(fits.out, AllOf(HasSubstr("fits: data"), Not(HasSubstr("\x1b"))));
  const CommandResult too_large =
      run({"plan", "llama-70b", "--devices", "8", "--memory", "80G", "--format", "json"});
  EXPECT_EQ(too_large.status.code, 3);
  const Json json = parse_json(too_large.out, "stdout");
  EXPECT_EQ(json["fits"], false);
  EXPECT_EQ(json["devices_that_fit"], 16);
  const CommandResult mesh = run({"plan", "llama-8b", "--devices", "8", "--mesh", "zero=3",
                                  "--recompute", "full", "--format", "json"});
  EXPECT_EQ(mesh.status.code, 0) << mesh.err;
  EXPECT_EQ(parse_json(mesh.out, "stdout")["plans"].size(), 1U);
}

TEST_F(CommandTest, AShorterSequenceIsAdvisedOnlyWhereOneFits) {
  EXPECT_THAT(run({"plan", "llama-70b", "--devices", "1", "--memory", "4G"}).out,
              Not(HasSubstr("shorter")));
  EXPECT_THAT(run({"plan", "llama-8b", "--devices", "8", "--sequence", "4194304"}).out,
              HasSubstr("or a shorter --sequence"));
}

TEST_F(CommandTest, WhatCannotBeWrittenIsAnError) {
  const CommandResult full = run_command(
      {"/bin/sh", "-c", "\"$0\" --list > /dev/full", std::string(ASSAY_BIN_DIR) + "/assay-train"});
  EXPECT_EQ(full.status.code, 3);
  EXPECT_THAT(full.err, HasSubstr("No space left on device"));
}

// Tokens, a training on them, its weights, and a training that begins with these.
TEST_F(CommandTest, AModelIsTrainedOnTokensAndItsWeightsGoOn) {
  write_text();
  ASSERT_TRUE(run({"tokenize", path("text"), "--learn", "300", "--output", path("set")}).ok());
  const std::string common = "data: indexed\npath: " + path("set") +
                             "\nsequence: 32\nbatch_size: 8\nthreads: 1\nloader_threads: 1\n"
                             "max_steps: 12\neval_every: 12\nwarmup_steps: 2\n";
  folder_.write("first.yaml", common + "export: " + path("weights") + "\n");
  const CommandResult first = run({"llama-tiny", "--config", path("first.yaml")});
  ASSERT_TRUE(first.ok()) << first.err;
  EXPECT_TRUE(std::filesystem::exists(path("weights/model.safetensors")));
  EXPECT_EQ(parse_json(read_file(path("weights/config.json")), "c")["vocab_size"], 300);
  const auto loss = [](const CommandResult& result, const std::string& key) {
    const std::size_t at = result.out.rfind("\"" + key + "\":");
    EXPECT_NE(at, std::string::npos) << key;
    return std::stod(result.out.substr(at + key.size() + 3));
  };
  folder_.write("second.yaml", common + "weights: " + path("weights") + "\n");
  const CommandResult second = run({"llama-tiny", "--config", path("second.yaml")});
  ASSERT_TRUE(second.ok()) << second.err;
  EXPECT_LT(loss(second, "final_eval_loss"), loss(first, "final_eval_loss"));
  // With a moving average, what was evaluated is what is exported.
  folder_.write("average.yaml", common + "ema_decay: 0.9\nexport: " + path("averages") + "\n");
  const CommandResult average = run({"llama-tiny", "--config", path("average.yaml")});
  ASSERT_TRUE(average.ok()) << average.err;
  EXPECT_NE(loss(average, "final_eval_loss"), loss(first, "final_eval_loss"));
  std::string still = common + "learning_rate: 0\nweights: " + path("averages") + "\n";
  still.replace(still.find("max_steps: 12"), 13, "max_steps: 1");
  folder_.write("still.yaml", still);
  const CommandResult same = run({"llama-tiny", "--config", path("still.yaml")});
  ASSERT_TRUE(same.ok()) << same.err;
  EXPECT_NEAR(loss(same, "final_eval_loss"), loss(average, "final_eval_loss"), 1e-6);
  const CommandResult refused = run({"llama-tiny", "--config", path("first.yaml")});
  EXPECT_EQ(refused.status.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("there are weights already"));
}

}  // namespace
}  // namespace assay::train
