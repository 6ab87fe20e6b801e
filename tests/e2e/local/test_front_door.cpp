// What somebody meets who begins with Assay: init, help, explain, list and the completion of
// shells.

#include <gmock/gmock.h>

#include "core/files.h"
#include "core/process.h"
#include "core/text.h"
#include "e2e/harness.h"
#include "needs.h"

namespace assay::e2e {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class FrontDoor : public AssayTest {};

constexpr const char* kNullSuite =
    "name: tiny\n"
    "cases:\n"
    "  - case: null:native:cpu:1:2:2\n"
    "    config: {steps: 20, step_ms: 10}\n"
    "    rules: {min-duration: off}\n";

TEST_F(FrontDoor, InitLeavesNoSuiteThatItsOwnCheckRefuses) {
  const std::vector<std::string> command{"init", "own.yaml",   "--launcher", "ssh",   "--hosts",
                                         "a,a",  "--workload", "matmul",     "--yes", "--replace"};
  EXPECT_EQ(assay(command).status.code, 2);
  EXPECT_FALSE(fs::exists(folder_ / "own.yaml"));
  write("own.yaml", "mine");
  EXPECT_EQ(assay(command).status.code, 2);
  EXPECT_EQ(read_file(folder_ / "own.yaml"), "mine");
}

TEST_F(FrontDoor, InitReadsTheRateOfALineInItsUnit) {
  ASSERT_EQ(assay({"init", "own.yaml", "--command", "train", "--sample",
                   "Tokens/p/s: 345.6 at step 3", "--yes"})
                .status.code,
            0);
  const std::string suite = read_file(folder_ / "own.yaml");
  EXPECT_THAT(suite, HasSubstr("throughput: {match: '\\bTokens/p/s: *("));
  EXPECT_THAT(suite, HasSubstr("unit: 'tokens/s/device'"));
  EXPECT_EQ(assay({"init", "loss.yaml", "--command", "train", "--sample", "loss=1e-3", "--yes"})
                .status.code,
            0);
  EXPECT_THAT(read_file(folder_ / "loss.yaml"), HasSubstr("better: lower"));
  ASSERT_EQ(assay({"init", "rate.yaml", "--command", "train", "--sample",
                   "speed: 12,345.6 tok/s  (1.2e3 it/s)", "--yes"})
                .status.code,
            0);
  EXPECT_THAT(read_file(folder_ / "rate.yaml"), HasSubstr("match: '\\bspeed: *("));
}

TEST_F(FrontDoor, InitShowsTheValueThatARunWouldReadFromTheLine) {
  const CommandResult made = assay({"init", "own.yaml", "--command", "train", "--vendor", "cpu",
                                    "--sample", "tok/s 12.3k | loss 3.2", "--yes"});
  EXPECT_EQ(made.status.code, 0) << made.err;
  EXPECT_THAT(made.err, HasSubstr("reads 12300 tokens/s\n"));
}

TEST_F(FrontDoor, InitRefusesALineOfWhichItIsNotSure) {
  const std::vector<std::string> command{
      "init",     "own.yaml", "--command", "train",
      "--vendor", "cpu",      "--sample",  "iter 10: loss 3.2, time 350.12ms",
      "--yes"};
  const CommandResult refused = assay(command);
  EXPECT_EQ(refused.status.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("time 350.12ms\n"));
  EXPECT_THAT(refused.err, HasSubstr("does not say surely which number counts"));
  EXPECT_FALSE(fs::exists(folder_ / "own.yaml"));
  std::vector<std::string> chosen = command;
  chosen.insert(chosen.end(), {"--number", "3", "--metric", "step_time", "--better", "lower"});
  EXPECT_EQ(assay(chosen).status.code, 0);
  EXPECT_THAT(read_file(folder_ / "own.yaml"),
              HasSubstr(")ms(?:[^\\w/]|$)', unit: 'ms', better: lower}"));
}

TEST_F(FrontDoor, InitRefusesAPatternThatReadsNoNumberOfTheLine) {
  const CommandResult refused =
      assay({"init", "own.yaml", "--command", "train", "--vendor", "cpu", "--sample",
             "speed 1,5 img/s", "--pattern", "speed ([0-9,]+)", "--yes"});
  EXPECT_EQ(refused.status.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("cannot be read as a number: '1,5'"));
  EXPECT_FALSE(fs::exists(folder_ / "own.yaml"));
}

TEST_F(FrontDoor, InitWritesASuiteForDevicesThatIsRight) {
  const CommandResult made = assay({"init", "gpu.yaml", "--vendor", "nvidia", "--yes"});
  EXPECT_EQ(made.status.code, 0) << made.err;
  EXPECT_THAT(read_file(folder_ / "gpu.yaml"), HasSubstr("model: gemm"));
}

TEST_F(FrontDoor, InitWritesNoBuiltInWorkloadForDevicesOnWhichNoneRuns) {
  const std::vector<std::string> base{"init",     "npu.yaml", "--launcher", "slurm",
                                      "--vendor", "ascend",   "--yes"};
  std::vector<std::string> built_in = base;
  built_in.insert(built_in.end(), {"--workload", "resnet50"});
  for (const std::vector<std::string>& command : {base, built_in}) {
    const CommandResult made = assay(command);
    EXPECT_EQ(made.status.code, 2) << made.out;
    EXPECT_THAT(made.err, HasSubstr("the built-in workloads do not run on"));
    EXPECT_FALSE(fs::exists(folder_ / "npu.yaml"));
  }
  std::vector<std::string> own = base;
  own.insert(own.end(), {"--command", "python3 train.py"});
  EXPECT_EQ(assay(own).status.code, 0);
}

TEST_F(FrontDoor, HelpSaysWhatOptionsTakeInPlainWords) {
  const std::string run = assay({"run", "--help"}).out;
  EXPECT_THAT(run, HasSubstr("--format text|json "));
  EXPECT_THAT(run, HasSubstr("--repeat N "));
  EXPECT_THAT(run, HasSubstr("--web[=…] "));
  EXPECT_THAT(run, Not(HasSubstr("Excludes")));
  EXPECT_THAT(assay({"compare", "--help"}).out, HasSubstr("base new..."));
  EXPECT_THAT(assay({"export", "--help"}).out, HasSubstr("assay export csv"));
}

// What stands behind `before` in a text, up to `after`.
std::string between(const std::string& text, const std::string& before, const std::string& after) {
  const std::size_t from = text.find(before);
  EXPECT_NE(from, std::string::npos) << before << " in " << text;
  if (from == std::string::npos) return {};
  return text.substr(from + before.size(),
                     text.find(after, from + before.size()) - from - before.size());
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  for (const std::string_view line : split(text, '\n')) out.emplace_back(line);
  return out;
}

TEST_F(FrontDoor, HelpTopicsShowKeysThatThereAre) {
  const auto accepted = [&](const std::string& suite) {
    const CommandResult run = assay({"run", write("shown.yaml", suite).string(), "--dry-run"});
    EXPECT_EQ(run.status.code, 0) << suite << run.err;
  };
  const std::string suite = assay({"help", "suite"}).out;
  const std::string one = "name: x\ncases: [{" + between(suite, "what to run: '", "'") + "}]\n";
  accepted(one);
  accepted(one + "defaults: {" + between(assay({"help", "rules"}).out, "with '", "'") + "}\n");
  const std::string known = assay({"run", write("k.yaml", "nothing: 1\n").string()}).err;
  for (const std::string& line : lines_of(between(suite, "YAML file:\n", "\n\n")))
    EXPECT_THAT(known, HasSubstr(line.substr(2, line.find(' ', 2) - 2))) << line;
  const std::string cluster = assay({"help", "cluster"}).out;
  accepted(one + "cluster: " + between(cluster, "cluster: ", "\n") + "\n");
  for (const char* topic : {"suite", "metrics", "rules"})
    EXPECT_TRUE(fs::exists(between(assay({"help", topic}).out, "Read more in: ", "\n"))) << topic;
}

TEST_F(FrontDoor, HelpNamesACommandAsItIsTyped) {
  EXPECT_THAT(assay({"help", "run"}).out, HasSubstr("Usage: assay run "));
  EXPECT_THAT(assay({"help", "import", "flagperf"}).out,
              HasSubstr("Usage: assay import flagperf "));
}

TEST_F(FrontDoor, ArgumentsThatAreTooManyAreListedAsTheyWereGiven) {
  EXPECT_THAT(assay({"list", "rules", "one", "two", "three"}).err, HasSubstr(": one two three"));
}

TEST_F(FrontDoor, AChangeOfARuleThatIsNoneIsToldWhatItMayBe) {
  const CommandResult run = assay(
      {"check",
       write("rule.yaml",
             "name: x\ncases: [null:native:cpu:1:1:1]\ndefaults: {rules: {min-duration: abc}}\n")
           .string()});
  EXPECT_EQ(run.status.code, 2);
  EXPECT_THAT(run.err, HasSubstr("expected on, off or a change such as {min: 5}, got 'abc'"));
}

TEST_F(FrontDoor, ExplainKnowsAFindingByItsLine) {
  const std::string suite = "name: x\ncases: [{name: bad, command: 'false'}]\n";
  EXPECT_EQ(assay({"run", write("bad.yaml", suite).string()}).status.code, 5);
  const std::string text = read_file(latest() / "report.txt");
  const std::size_t end = text.find("[round-failed]");
  ASSERT_NE(end, std::string::npos) << text;
  const std::size_t begin = text.rfind('\n', end) + 1;
  const CommandResult found = assay({"explain", text.substr(begin, text.find('\n', end) - begin)});
  EXPECT_EQ(found.status.code, 0) << found.err;
  EXPECT_THAT(found.out, StartsWith("round-failed  finding\n"));
  EXPECT_THAT(read_file(latest() / "report.md"), HasSubstr("(round-failed)"));
  EXPECT_TRUE(fs::exists(between(found.out, "Read more in: ", "\n"))) << found.out;
}

TEST_F(FrontDoor, ListSpeaksToPrograms) {
  const auto listed = [&](const char* what) {
    return Json::parse(assay({"list", what, "--format", "json"}).out);
  };
  EXPECT_THAT(listed("suites")[0]["cases"].get<int>(), ::testing::Ge(1));
  EXPECT_EQ(listed("metrics")[0].size(), 4U);
  EXPECT_TRUE(listed("vendors")[0].contains("visible_devices"));
  EXPECT_TRUE(listed("rules")[0].contains("severity"));
}

TEST_F(FrontDoor, ListKnowsEveryCatalogue) {
  EXPECT_THAT(assay({"list", "workloads"}).out, HasSubstr("matmul"));
  EXPECT_THAT(assay({"list", "vendors"}).out, HasSubstr("kunlunxin"));
  EXPECT_THAT(assay({"list", "launchers"}).out, HasSubstr("local"));
  EXPECT_THAT(assay({"list", "metrics"}).out, HasSubstr("p_core"));
  EXPECT_THAT(assay({"list", "rules"}).out, HasSubstr("min-steps"));
  EXPECT_THAT(assay({"list", "suites"}).out, HasSubstr("gpu-quick"));
}

TEST_F(FrontDoor, TopicsCompleteWithWhatCanBeExplainedAndHelped) {
  const std::string rules = assay({"completion", "candidates", "--", "explain", "cpu-"}).out;
  EXPECT_THAT(rules, HasSubstr("cpu-taken\trule\n"));
  EXPECT_THAT(assay({"completion", "candidates", "--", "explain", "steady_"}).out,
              HasSubstr("steady_throughput\tmetric\n"));
  const std::string topics = assay({"completion", "candidates", "--", "help", "su"}).out;
  EXPECT_THAT(topics, HasSubstr("suite\t"));
  EXPECT_THAT(topics, HasSubstr("submit\t"));
}

// What bash offers for a command line as it takes it apart: at blanks, ':' and '='.
std::string bash_offers(const fs::path& script, const std::vector<std::string>& words,
                        const std::string& line) {
  std::vector<std::string> command{
      "bash",
      "-c",
      "compopt() { :; }; . \"$0\" && COMP_LINE=$1 && shift && COMP_WORDS=(\"$@\") && "
      "COMP_CWORD=$(($# - 1)) && _assay && printf '[%s]' \"${COMPREPLY[@]}\"",
      script.string(),
      ASSAY_BIN_DIR "/assay" + line,
      ASSAY_BIN_DIR "/assay"};
  command.insert(command.end(), words.begin(), words.end());
  const CommandResult bash = run_command(command);
  EXPECT_TRUE(bash.ok()) << bash.err;
  return bash.out;
}

TEST_F(FrontDoor, BashCompletesWithItsScript) {
  const fs::path script = write("complete.bash", assay({"completion", "bash"}).out);
  EXPECT_EQ(bash_offers(script, {"list", "sui"}, " list sui"), "[suites]");
  EXPECT_EQ(bash_offers(script, {"--lang", "=", "z"}, " --lang=z"), "[zh]");
  EXPECT_EQ(bash_offers(script, {"--to", "http", ":", "//h", ":", "1", "list", "sui"},
                        " --to http://h:1 list sui"),
            "[]");
}

TEST_F(FrontDoor, BashCompletesAfterColonsAndInNamesWithBlanks) {
  const fs::path script = write("complete.bash", assay({"completion", "bash"}).out);
  const std::string suite =
      write("colons.yaml", "name: colons\ncases:\n  - {case: 'matmul:native:cpu:1:1:1'}\n");
  EXPECT_EQ(bash_offers(script, {"run", suite, "--only", "matmul", ":", "native", ":", "c"},
                        " run " + suite + " --only matmul:native:c"),
            "[cpu:1:1:1]");
  const std::string runs = folder_.string() + "/my runs";
  const std::string typed = folder_.string() + "/my\\ runs/r";
  fs::create_directories(runs + "/run1");
  EXPECT_EQ(bash_offers(script, {"push", "--to", "http", ":", "//h", ":", "1", typed},
                        " push --to http://h:1 " + typed),
            "[" + runs + "/run1]");
}

TEST_F(FrontDoor, ZshCompletesWithItsScript) {
  if (!find_program("zsh")) GTEST_SKIP() << needs::package("zsh");
  const fs::path script = write("complete.zsh", assay({"completion", "zsh"}).out);
  // What zsh's own functions would show: the array that _describe is given by name.
  const CommandResult zsh =
      run_command({"zsh", "-fc",
                   "compdef() { }; _files() { }; _describe() { print -rl -- \"${(@P)2}\" }\n"
                   ". \"$0\"; words=(\"$1\" list sui); CURRENT=3; _assay",
                   script.string(), ASSAY_BIN_DIR "/assay"});
  EXPECT_TRUE(zsh.ok()) << zsh.err;
  EXPECT_THAT(zsh.out, HasSubstr("suites\n"));
}

TEST_F(FrontDoor, FishCompletesWithItsScript) {
  if (!find_program("fish")) GTEST_SKIP() << needs::package("fish");
  const fs::path script = write("complete.fish", assay({"completion", "fish"}).out);
  fs::create_directories(folder_ / "results/run1");
  const auto offers = [&](const std::string& line) {
    const CommandResult fish =
        run_command({"fish", "--no-config", "-c",
                     "cd \"$argv[3]\"; set -x PATH \"$argv[2]\" $PATH; source \"$argv[1]\"; "
                     "complete -C \"assay $argv[4]\"",
                     script.string(), ASSAY_BIN_DIR, folder_.string(), line});
    EXPECT_TRUE(fish.ok()) << fish.err;
    return fish.out;
  };
  EXPECT_EQ(offers("list sui"), "suites\n");
  EXPECT_THAT(offers("run --re"), HasSubstr("--resume\t"));
  // Each once: as a run, or as a folder.
  EXPECT_THAT(offers("logs results/"), StartsWith("results/run1/"));
  EXPECT_THAT(offers("logs results/"), Not(HasSubstr("results/run1\n")));
}

TEST_F(FrontDoor, ValuesCompleteWithWhatTheRunsHave) {
  const std::string suite = write("tiny.yaml", kNullSuite).string();
  const CommandResult run = assay({"run", suite});
  ASSERT_TRUE(run.status.code == 0 || run.status.code == 6) << run.err;
  ASSERT_EQ(assay({"tag", "results/latest", "+accepted"}).status.code, 0);
  const auto offers = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"completion", "candidates", "--"});
    return assay(words).out;
  };
  const std::string host = result()["cases"][0]["rounds"][0]["ranks"][0]["host"];
  EXPECT_EQ(offers({"history", "--host", ""}), host + "\t\n");
  EXPECT_EQ(offers({"find", "--tag", "acc"}), "accepted\t\n");
  EXPECT_EQ(offers({"logs", "results/latest", "--rank", ""}), "0\t\n1\t\n");
  const std::string one = result()["cases"][0]["name"];
  EXPECT_EQ(offers({"logs", "results/latest", "--case", ""}), one + "\t\n");
  EXPECT_THAT(offers({"run", suite, "--set", "lim"}), HasSubstr("limits.time=\t\n"));
  EXPECT_THAT(offers({"run", "-"}), HasSubstr("--resume\t"));
  EXPECT_THAT(assay({"--lang", "zh", "completion", "candidates", "--", "explain", "cpu-taken"}).out,
              HasSubstr("cpu-taken\t规则"));
}

}  // namespace assay::e2e
