#include <algorithm>
#include <regex>

#include <gmock/gmock.h>

#include "automl/experiment_journal.h"
#include "automl/experiment_settings.h"
#include "automl/morphism.h"
#include "core/error.h"
#include "core/files.h"
#include "core/run_layout.h"
#include "core/subprocess.h"
#include "demo.h"
#include "report/experiment_family.h"
#include "report/experiment_network.h"
#include "report/experiment_prediction.h"
#include "report/experiment_report.h"
#include "report/experiment_score.h"
#include "report/experiment_trials.h"
#include "report/experiment_workers.h"
#include "report/html.h"
#include "report/pack.h"
#include "report/report.h"
#include "report/report_assets.h"
#include "sound_page.h"
#include "temporary_folder.h"

namespace assay::report {
namespace {

using automl::Operation;
using testing::has;

std::size_t count(const std::string& page, const std::string& pattern) {
  const std::regex regex(pattern);
  return static_cast<std::size_t>(
      std::distance(std::sregex_iterator(page.begin(), page.end(), regex), std::sregex_iterator()));
}

// Two workers and five trials: the start model, a wider child, a skip on that, one that fails with
// a hostile message, and one that is lost with its worker and trained again.
class Events {
 public:
  Events() {
    automl::ExperimentSettings settings;
    settings.start = "resnet8";
    const automl::Graph start = settings.start_graph();
    const Operation wider{Operation::Kind::wider,
                          automl::places(start, Operation::Kind::wider)[0].layer, 16};
    const Operation skip = automl::places(start, Operation::Kind::concat_skip).front();
    const Operation deeper = automl::places(start, Operation::Kind::deeper)[1];
    add(0, {{"event", "experiment"}, {"version", 1}, {"settings", automl::to_json(settings)}});
    for (const int rank : {0, 1})
      add(1, {{"event", "worker"}, {"rank", rank}, {"what", "joined"}, {"host", "node<1>"}});
    propose(0, -1, Json::array(), {});
    propose(1, 0, Json::array({automl::to_json(wider)}), {});
    train(0, 0, 2, 20, 0.5, "ok");
    train(1, 1, 2, 22, 0.7, "ok");
    propose(2, 1, Json::array({automl::to_json(skip)}), 0.65);
    propose(3, 0, Json::array({automl::to_json(deeper)}), 0.6);
    train(2, 0, 21, 40, 0.9, "ok");
    start_trial(3, 1, 23);
    add(30, {{"event", "ended"},
             {"trial", 3},
             {"attempt", 1},
             {"worker", 1},
             {"status", "failed"},
             {"final", true},
             {"reason", "<script>alert(\"x\")</script> & more"}});
    propose(4, 2, Json::array({automl::to_json(deeper)}), 0.8);
    start_trial(4, 1, 31);
    add(35, {{"event", "ended"}, {"trial", 4}, {"attempt", 1}, {"worker", 1}, {"status", "lost"}});
    add(35, {{"event", "worker"}, {"rank", 1}, {"what", "left"}, {"reason", "closed"}});
    train(4, 0, 41, 60, 0.85, "ok");
    add(60, {{"event", "end"}, {"reason", "time"}, {"detail", "its time"}});
    std::ranges::stable_sort(events_, {},
                             [](const Json& event) { return event["at_s"].get<double>(); });
  }

  [[nodiscard]] const std::vector<Json>& all() const { return events_; }
  [[nodiscard]] std::string text() const {
    std::string out;
    for (const Json& event : events_) out += dump_line(event) + "\n";
    return out;
  }

 private:
  void add(double at, Json event) {
    event["at_s"] = at;
    events_.push_back(std::move(event));
  }
  void propose(int trial, int parent, Json operations, std::optional<double> predicted) {
    Json event{{"event", "proposed"},
               {"trial", trial},
               {"parent", parent},
               {"operations", std::move(operations)},
               {"hyper", automl::to_json(automl::Hyper{})},
               {"parameters", 80'000 + trial},
               {"layers", 30},
               {"per_sample",
                {{"aiperf_train", 3'000'000},
                 {"aiperf_validate", 1'000'000},
                 {"exact_train", 2'900'000},
                 {"exact_validate", 900'000}}}};
    if (predicted) event["predicted"] = {{"mean", *predicted}, {"deviation", 0.04}};
    add(2, std::move(event));
  }
  void start_trial(int trial, int rank, double at) {
    add(at, {{"event", "started"},
             {"trial", trial},
             {"attempt", 1},
             {"worker", rank},
             {"host", "node<1>"},
             {"epochs", 4}});
  }
  void train(int trial, int rank, double from, double to, double accuracy, const char* status) {
    start_trial(trial, rank, from);
    add(to, {{"event", "epoch"},
             {"trial", trial},
             {"attempt", 1},
             {"worker", rank},
             {"epoch", 1},
             {"accuracy", accuracy},
             {"trained", 1000},
             {"validated", 100}});
    add(to, {{"event", "ended"},
             {"trial", trial},
             {"attempt", 1},
             {"worker", rank},
             {"status", status},
             {"final", true},
             {"accuracy", accuracy},
             {"trained", 1000},
             {"validated", 100}});
  }
  std::vector<Json> events_;
};

class ExperimentReport : public ::testing::Test {
 protected:
  ExperimentReport() {
    run_.cases[0].name = "search";
    view_.result = run_.cases.data();
    view_.round = run_.cases[0].rounds.data();
    view_.record = automl::record_of(events_.all());
    view_.workers = automl::timeline_of(events_.all());
  }
  // As the judge reads it.
  void put_journal(const std::string& text) {
    const auto dir = folder_.path() / "search" / "round1" / "automl";
    make_directories(dir / "weights");
    write_file_atomic(dir / "journal.jsonl", text);
    write_file_atomic(dir / "weights" / "2.pt", "best");
    write_file_atomic(dir / "weights" / "1.pt", "other");
    const std::vector<Json> events = automl::ExperimentJournal::read(dir / "journal.jsonl");
    if (!events.empty())
      run_.cases[0].rounds[0].experiment =
          judge::Experiment{automl::record_of(events), automl::timeline_of(events)};
  }
  Events events_;
  judge::RunResult run_ = small_result();
  ExperimentView view_;
  testing::TemporaryFolder folder_;
};

TEST_F(ExperimentReport, IsASoundPage) {
  testing::expect_sound_page(render_experiments(run_, {view_}));
}

// Placeholders and values agree, or filling throws; what no page fills would go unchecked.
TEST_F(ExperimentReport, FillsEveryTemplateTogetherWithTheReport) {
  const std::string pages =
      render_html(demo_result()) + render_html(sweep_result()) + render_experiments(run_, {view_});
  for (const page::Asset& asset : assets::kAll) {
    if (!asset.name.ends_with(".html")) continue;
    EXPECT_TRUE(has(pages, testing::longest_literal(asset.text))) << asset.name;
  }
}

TEST_F(ExperimentReport, EscapesWhatTrialsAndHostsSay) {
  const std::string page = render_experiments(run_, {view_});
  EXPECT_FALSE(has(page, "<script>alert"));
  EXPECT_TRUE(has(page, "&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt; &amp; more"));
  EXPECT_FALSE(has(page, "node<1>"));
}

TEST_F(ExperimentReport, TellsScoreAndBestTrial) {
  // 4 trials of 1000 · 3e6 + 100 · 1e6 operations in 60 s, and an error of 0.1.
  const double ops = 4 * 3.1e9 / 60;
  EXPECT_NEAR(view_.record.final.ops, ops, 1);
  const std::string cards = experiment::cards(view_).str();
  EXPECT_TRUE(has(cards, "475.9")) << "-ln(0.1) · 206.7e6: " << cards;
  EXPECT_TRUE(has(cards, "MOPS"));
  EXPECT_TRUE(has(cards, "trial 2: accuracy 90.00 %"));
}

TEST_F(ExperimentReport, ListsEveryTrialWithItsReason) {
  const std::string table = experiment::trial_table(view_).str();
  EXPECT_EQ(count(table, "<tr"), 6U) << "a heading and five trials";
  EXPECT_EQ(count(table, "class=\"best\""), 1U);
  EXPECT_EQ(count(table, "class=\"bad\""), 1U);
  EXPECT_TRUE(has(table, "start model"));
  EXPECT_TRUE(has(table, "(+16)"));
}

TEST_F(ExperimentReport, DrawsEveryModelAndTheLineToTheBest) {
  const std::string tree = experiment::family(view_).str();
  EXPECT_EQ(count(tree, "<g class=\"model"), 5U);
  EXPECT_EQ(count(tree, "class=\"edge"), 4U);
  EXPECT_EQ(count(tree, "class=\"edge [a-z-]+ line\""), 2U) << "0 → 1 → 2";
  EXPECT_EQ(count(tree, "class=\"model best\""), 1U);
  EXPECT_EQ(count(tree, "class=\"model failed\""), 1U);
}

TEST_F(ExperimentReport, FamilyOfManyModelsIsBoundedAndKeepsAncestors) {
  automl::ExperimentRecord& record = view_.record;
  record.trials.resize(1);
  for (std::int64_t id = 1; id < 5000; ++id) {
    automl::TrialRecord trial = record.trials[0];
    trial.id = id;
    trial.parent = id - 1;  // one line: the deepest tree there can be
    trial.accuracy = static_cast<double>(id) / 5000;
    record.trials.push_back(trial);
  }
  record.best = 4999;
  const std::string tree = experiment::family(view_).str();
  EXPECT_EQ(count(tree, "class=\"model best\""), 1U);
  EXPECT_LT(tree.size(), 4'000'000U);
}

TEST_F(ExperimentReport, DrawsTheBestNetworkWithItsSkips) {
  const std::string drawing = experiment::network(view_).str();
  EXPECT_TRUE(has(drawing, "lineage 0 → 1 → 2"));
  EXPECT_EQ(count(drawing, "class=\"skip l-add\""), 3U) << "a block's in each of three stages";
  EXPECT_EQ(count(drawing, "class=\"skip l-concat\""), 1U);
}

TEST_F(ExperimentReport, NetworkThatCannotBeMadeIsSaidSo) {
  view_.record.trials[1].operations = "nonsense";
  EXPECT_TRUE(has(experiment::network(view_).str(), "It cannot be drawn"));
}

TEST_F(ExperimentReport, ComparesPredictionsWithWhatWasMeasured) {
  const std::string plot = experiment::prediction(view_).str();
  EXPECT_EQ(count(plot, "<g class=\"miss\""), 1U) << "0.65 ± 0.04, measured 0.9";
  EXPECT_EQ(count(plot, "<g class=\"hit\""), 1U) << "0.8 ± 0.04, measured 0.85";
  EXPECT_TRUE(has(plot, "18.03 %")) << "√((0.25² + 0.05²) / 2)";
}

TEST_F(ExperimentReport, WorkersShowWhatTheyDid) {
  const std::string lines = experiment::worker_lines(view_).str();
  EXPECT_EQ(count(lines, "<rect class=\"t-train"), 4U);
  EXPECT_EQ(count(lines, "<rect class=\"t-failed"), 1U);
  EXPECT_EQ(count(lines, "<rect class=\"t-lost"), 1U);
  EXPECT_EQ(count(lines, "class=\"t-gone\""), 1U);
}

TEST_F(ExperimentReport, WorkersAreBoundedAndTheLostOnesAreShown) {
  automl::WorkerLine line = view_.workers[0];
  view_.workers.clear();
  for (int rank = 0; rank < 4096; ++rank) {
    line.rank = rank;
    line.departures = rank == 4000 ? std::vector<double>{5.0} : std::vector<double>{};
    view_.workers.push_back(line);
  }
  const std::string lines = experiment::worker_lines(view_).str();
  EXPECT_TRUE(has(lines, "rank 4000 was lost"));
  EXPECT_TRUE(has(lines, "64 of 4096 workers"));
}

TEST_F(ExperimentReport, NothingToShowIsNoError) {
  const automl::ExperimentRecord empty = automl::record_of({Json{{"event", "experiment"}}});
  const std::string page = render_experiments(run_, {{view_.result, view_.round, empty, {}}});
  EXPECT_TRUE(has(page, "No trial was measured"));
  testing::expect_sound_page(page);
}

TEST_F(ExperimentReport, FileSaysHowItEndedAndTheOtherOneGoes) {
  put_journal(events_.text());
  const auto succeeded = folder_.path() / layout::kSucceeded;
  const auto failed = folder_.path() / layout::kFailed;
  write_reports(run_, {}, folder_.path());
  EXPECT_TRUE(std::filesystem::exists(succeeded));
  EXPECT_FALSE(std::filesystem::exists(failed));
  const std::string first = read_file(succeeded);
  write_reports(run_, {}, folder_.path());
  EXPECT_EQ(read_file(succeeded), first);
  run_.cases[0].validity = judge::Validity::invalid;
  run_.cases[0].findings.push_back(
      {"automl-accuracy", judge::Severity::invalid, "too low", "", ""});
  write_reports(run_, {}, folder_.path());
  EXPECT_FALSE(std::filesystem::exists(succeeded));
  EXPECT_TRUE(has(read_file(failed), "too low"));
}

TEST_F(ExperimentReport, RunWithoutAnExperimentHasNone) {
  write_file_atomic(folder_.path() / layout::kFailed, "old");
  write_reports(run_, {}, folder_.path());
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / layout::kSucceeded));
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / layout::kFailed));
}

TEST_F(ExperimentReport, DamagedJournalDoesNotStopTheReports) {
  for (const char* text : {"", "{", "[]\n7\n",
                           "{\"event\":\"proposed\",\"trial\":0,\"operations\":3,"
                           "\"hyper\":[],\"parent\":9}\n"}) {
    put_journal(text);
    EXPECT_NO_THROW(write_reports(run_, {}, folder_.path())) << text;
  }
}

TEST_F(ExperimentReport, LogsArePackedWithGraphsTrialsAndTheBestWeights) {
  put_journal(events_.text());
  write_file_atomic(folder_.path() / "lock", "");
  const auto archive = pack_logs(run_, folder_.path());
  EXPECT_EQ(archive.filename(), run_.run_id + "-logs.tar.gz");
  const CommandResult listed = run_command({"tar", "-tzf", archive.string()});
  ASSERT_TRUE(listed.status.ok()) << listed.err;
  for (const char* name : {"search/round1/automl/journal.jsonl", "logs/search_round1/graphs/4.json",
                           "logs/search_round1/trials/0.json", "logs/search_round1/weights/2.pt"})
    EXPECT_TRUE(has(listed.out, run_.run_id + "/" + name + "\n")) << name << listed.out;
  EXPECT_FALSE(has(listed.out, "lock"));
  EXPECT_FALSE(has(listed.out, "1.pt"));
  const auto logs = folder_.path() / "logs" / "search_round1";
  const Json trial = parse_json(read_file(logs / "trials" / "2.json"), "trial");
  EXPECT_EQ(trial["accuracy"], 0.9);
  EXPECT_EQ(trial["epochs"].size(), 1U);
  const auto graph =
      automl::graph_from_json(parse_json(read_file(logs / "graphs" / "2.json"), "graph"), "graph");
  EXPECT_GT(graph.layers().size(), 30U);
}

TEST_F(ExperimentReport, LogsCanBePackedAgain) {
  put_journal(events_.text());
  (void)pack_logs(run_, folder_.path());
  const auto archive = pack_logs(run_, folder_.path());
  const CommandResult listed = run_command({"tar", "-tzf", archive.string()});
  EXPECT_FALSE(has(listed.out, "-logs.tar.gz")) << "it would grow with every call";
}

}  // namespace
}  // namespace assay::report
