// `assay` has what running a suite needs and goes on as assay-full for the rest: nobody notices
// which of the two is at work, and without assay-full an error says how to get it.

#include <gmock/gmock.h>

#include "core/text.h"
#include "e2e/harness.h"

namespace assay::e2e {

using ::testing::HasSubstr;
using ::testing::IsSupersetOf;

class TwoPrograms : public AssayTest {
 protected:
  [[nodiscard]] CommandResult run_at(const fs::path& program, std::vector<std::string> args) const {
    std::vector<std::string> argv{"/bin/sh", "-c", "cd \"$0\" && exec \"$@\"", folder_.string(),
                                  program.string()};
    argv.insert(argv.end(), args.begin(), args.end());
    return run_command(argv);
  }
  [[nodiscard]] CommandResult full(const std::vector<std::string>& args) const {
    return run_at(ASSAY_BIN_DIR "/assay-full", args);
  }
  /// assay in a folder without assay-full.
  [[nodiscard]] CommandResult alone(const std::vector<std::string>& args) const {
    const fs::path program = folder_ / "alone/assay";
    fs::create_directories(program.parent_path());
    if (!fs::exists(program)) fs::copy_file(ASSAY_BIN_DIR "/assay", program);
    return run_at(program, args);
  }
  /// The names that --help lists.
  [[nodiscard]] std::vector<std::string> commands() const {
    std::vector<std::string> out;
    const std::string help = assay({"--help"}).out;
    const std::string list = help.substr(help.find("Subcommands:"));
    for (const std::string_view line : split(list, '\n'))
      if (line.starts_with("  ") && !line.starts_with("   "))
        out.emplace_back(line.substr(2, line.find(' ', 2) - 2));
    std::erase_if(out,
                  [](const std::string& name) { return name.find_first_of("0123456789") == 0; });
    return out;
  }
};

TEST_F(TwoPrograms, ListTheSameCommandsInBothLanguages) {
  EXPECT_EQ(assay({"--help"}).out, full({"--help"}).out);
  EXPECT_EQ(assay({"--help", "--lang", "zh"}).out, full({"--help", "--lang", "zh"}).out);
  EXPECT_EQ(assay({"help"}).out, full({"help"}).out);
  EXPECT_EQ(assay({"comparre"}).err, full({"comparre"}).err);
}

TEST_F(TwoPrograms, EveryCommandShowsTheHelpThatAssayFullHas) {
  const std::vector<std::string> names = commands();
  EXPECT_THAT(names, IsSupersetOf({"run", "compare", "serve", "init", "version"}));
  for (const std::string& name : names) {
    if (name == "assay") continue;  // the examples
    const CommandResult help = assay({name, "--help"});
    EXPECT_EQ(help.status.code, 0) << name << help.err;
    EXPECT_EQ(help.out, full({name, "--help"}).out) << name;
    EXPECT_EQ(assay({"help", name}).out, full({"help", name}).out) << name;
  }
  EXPECT_EQ(assay({"help", "serve", "user"}).out, full({"help", "serve", "user"}).out);
}

TEST_F(TwoPrograms, ArgumentsLanguageAndExitCodeAreThoseOfTheCommand) {
  for (const std::vector<std::string>& words : {std::vector<std::string>{"serve", "nonsense"},
                                                {"tag", "results/none", "-hot"},
                                                {"find", "--out", "nowhere"},
                                                {"--lang", "zh", "compare", "a", "b"},
                                                {"import", "flagperf", "--help"},
                                                {"run", "quick", "--web=70000"}}) {
    const CommandResult here = assay(words);
    const CommandResult there = full(words);
    EXPECT_EQ(here.status.code, there.status.code) << join(words, " ");
    EXPECT_EQ(here.out, there.out) << join(words, " ");
    EXPECT_EQ(here.err, there.err) << join(words, " ");
  }
}

TEST_F(TwoPrograms, WithoutAssayFullAnErrorSaysHowToGetIt) {
  const fs::path suite =
      write("http.yaml",
            "name: jobs\n"
            "cases: [{name: one, command: [./x]}]\n"
            "cluster:\n"
            "  launcher: http\n"
            "  http: {endpoint: 'http://127.0.0.1:1', store_endpoint: 'http://127.0.0.1:1',\n"
            "         bucket: b, code: .}\n");
  for (const auto& [words, what] :
       {std::pair(std::vector<std::string>{"compare", "a", "b"},
                  "'assay compare' needs assay-full"),
        std::pair(std::vector<std::string>{"help", "serve"}, "'assay serve' needs assay-full"),
        std::pair(std::vector<std::string>{"run", "quick", "--web"}, "--web needs assay-full"),
        std::pair(std::vector<std::string>{"run", "quick", "--push", "http://127.0.0.1:1"},
                  "--push needs assay-full"),
        std::pair(std::vector<std::string>{"check", suite.string()},
                  "the launcher 'http' needs assay-full")}) {
    const CommandResult result = alone(words);
    EXPECT_EQ(result.status.code, 3) << what;
    EXPECT_THAT(result.err, HasSubstr(what));
    EXPECT_THAT(result.err, HasSubstr("install Assay as a whole"));
  }
  EXPECT_FALSE(fs::exists(folder_ / "results"));  // nothing was begun
}

TEST_F(TwoPrograms, WithoutAssayFullARunAndItsReportAreWhole) {
  const fs::path suite = script_suite("echo 1\n");
  for (const char* program : {"assay-agent", "assay-micro"}) {
    fs::create_directories(folder_ / "alone");
    fs::copy_file(fs::path(ASSAY_BIN_DIR) / program, folder_ / "alone" / program);
  }
  EXPECT_EQ(alone({"check", suite.string()}).status.code, 0);
  const CommandResult run = alone({"run", suite.string()});
  EXPECT_THAT(run.out, HasSubstr("probe")) << run.err;
  EXPECT_TRUE(fs::exists(latest() / "report.html"));
  EXPECT_EQ(alone({"report", latest().string()}).status.code, run.status.code);
  // The history, which assay-full writes, finds the run when it is asked.
  EXPECT_FALSE(fs::exists(folder_ / "results/.assay-history.db"));
  EXPECT_THAT(assay({"find"}).out, HasSubstr(latest().filename().string()));
}

TEST_F(TwoPrograms, ARunIsInTheHistoryWhenItEnds) {
  (void)assay({"run", script_suite("echo 1\n").string()});
  EXPECT_TRUE(fs::exists(folder_ / "results/.assay-history.db"));
}

}  // namespace assay::e2e
