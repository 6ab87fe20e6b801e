#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "commands/base/commands.h"
#include "commands/base/terminal.h"
#include "core/error.h"
#include "core/text.h"
#include "core/time.h"
#include "core/units.h"
#include "page/table.h"
#include "serve/audit.h"
#include "site/backup.h"
#include "tester/admin.h"
#include "tester/api.h"

namespace assay::commands {

namespace {

struct AdminArguments {
  std::string data = "tester";
  std::string folder;
  std::string text;
  std::string status;
  std::string format = "text";
  std::string token;
  std::string name;
  std::vector<std::string> ids;
  bool deep = false;
  bool resume_queue = false;
};

/// Prints a line on stderr at most every two seconds, for operations that take longer.
class Counting {
 public:
  explicit Counting(const char* what) : what_(what) {}
  void operator()(std::size_t done, std::size_t total) {
    const std::int64_t now_ns = mono_now_ns();
    if (now_ns - shown_ns_ < 2'000'000'000) return;
    shown_ns_ = now_ns;
    tell_error(fmt::format("assay: {}: {} of {}\n", what_, done, total));
  }

 private:
  const char* what_;
  std::int64_t shown_ns_ = mono_now_ns();
};

int list_tests(const AdminArguments& given) {
  tester::require_tester(given.data);
  tester::Records records = tester::open_records(given.data);
  tester::TestQuery query;
  query.per_page = 1'000'000;
  query.text = given.text;
  if (!given.status.empty()) query.status = parse_enum<tester::TestStatus>(given.status);
  const std::vector<tester::TestRecord> tests = records.list(query).tests;
  if (given.format == "json") {
    Json out = Json::array();
    for (const tester::TestRecord& test : tests) {
      Json one = tester::to_json(test);
      one["number"] = test.number;
      if (!test.machine.empty()) one["machine"] = test.machine;
      out.push_back(std::move(one));
    }
    say(dump_pretty(out));
    return 0;
  }
  page::Table table{{{.title = "NO", .align = page::Align::right},
                     {.title = "TEST"},
                     {.title = "STATUS"},
                     {.title = "VERDICT"},
                     {.title = "BY"},
                     {.title = "CREATED"},
                     {.title = "EVIDENCE", .align = page::Align::right},
                     {.title = "NAME"},
                     {.title = "MACHINE"}}};
  for (const tester::TestRecord& test : tests)
    table.rows.push_back(
        {{std::to_string(test.number), test.id, to_text(test.status),
          test.verdict.empty() ? "–" : test.verdict, test.token, test.created,
          format_bytes(static_cast<double>(test.bytes)), test.name.empty() ? "–" : test.name,
          test.machine.empty() ? "–" : test.machine}});
  for (const std::string& line : page::text_lines(table)) say(line + "\n");
  return 0;
}

int verify_tester(const AdminArguments& given) {
  // Done first, because checking the tester's database opens it for writing.
  std::vector<std::string> faults = site::verify_platform(given.data, given.deep);
  for (std::string& fault : tester::verify(given.data, given.deep, Counting("checked")))
    faults.push_back(std::move(fault));
  for (const std::string& fault : faults) tell(printable(fault) + "\n");
  if (faults.empty()) {
    tell("Everything is as it should be.\n");
    return 0;
  }
  throw Error(ErrorKind::environment, counted(faults.size(), "fault") + " found", given.data,
              "'assay serve rebuild' makes a new tester.db from the tests' folders; all else that "
              "is missing is in a backup only");
}

int rebuild_tester(const AdminArguments& given) {
  const tester::Rebuilt made = tester::rebuild(given.data);
  tell(fmt::format("{} found, {} kept.\n", counted(made.tests, "test"),
                   counted(made.tokens, "token")));
  if (!made.kept.empty()) tell("The old database is " + made.kept.string() + "\n");
  tell(
      "Challenges are not in the tests' folders: those of the old database are gone.\n"
      "Who has no good token any more gets one with 'assay serve token rotate NAME'.\n");
  return 0;
}

int restore_tester(const AdminArguments& given) {
  const auto list = site::check_backup(given.folder);
  if (!list)
    tell_error(
        "assay: warning: the backup has no list of its files (backup.json): it is of an earlier "
        "version, or was cut off; whether something is missing or was changed cannot be told\n");
  tester::restore(given.folder, given.data, Counting("checked"));
  site::mark_restored(given.folder, given.data, list, given.resume_queue);
  if (list)
    tell(fmt::format("{} of the backup of {} restored.\n", counted(list->files.size(), "file"),
                     list->made));
  if (!given.resume_queue)
    tell(
        "Jobs and schedules that waited are held when a server starts on this folder, because they "
        "may run in the original too; 'assay serve --resume-queue' lets them go on.\n");
  return 0;
}

int backup_tester(const AdminArguments& given) {
  tester::backup(given.data, given.folder, Counting("copied"));
  site::backup_platform(given.data, given.folder);
  const auto list = site::read_backup_list(given.folder);
  tell(fmt::format("{} copied; backup.json lists them with their SHA-256.\n",
                   counted(list ? list->files.size() : 0, "file")));
  if (const auto key = site::key_left_out(given.data); !key.empty())
    tell("The key of secrets is not in it, " + key.string() + ": keep a copy in another place.\n");
  return 0;
}

}  // namespace

void add_tester_admin(CLI::App& serve, Action& action) {
  const auto given = std::make_shared<AdminArguments>();
  const auto command = [&](const char* name, const char* what, const char* example, auto run) {
    CLI::App* made = serve.add_subcommand(name, what);
    made->add_option("--data", given->data, "The tester's folder")
        ->type_name("DIR")
        ->capture_default_str();
    made->footer(std::string("Example:\n  assay serve ") + example);
    made->callback([given, run, &action] { action = [given, run] { return run(*given); }; });
    return made;
  };
  CLI::App* list =
      command("list", "Show the tests of a folder", "list --data tester --text H100", list_tests);
  list->add_option("--text", given->text, "In name, machine, suite, token or id")
      ->type_name("TEXT");
  list->add_option("--status", given->status, "Only these")
      ->check(CLI::IsMember({"open", "uploading", "accepted", "refused"}));
  list->add_option("--format", given->format, "Of the output")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  CLI::App* remove =
      command("delete", "Remove tests with their evidence", "delete 20261115-ab3dE9 --data tester",
              [](const AdminArguments& wanted) {
                for (const std::string& id : wanted.ids) tester::delete_test(wanted.data, id);
                tell(counted(wanted.ids.size(), "test") + " removed.\n");
                return 0;
              });
  remove->add_option("ids", given->ids, "Their ids")->required()->type_name("ID");
  CLI::App* copy = command("export", "Write a test's evidence and result into a new folder",
                           "export 20261115-ab3dE9 --out evidence --data tester",
                           [](const AdminArguments& wanted) {
                             tester::export_test(wanted.data, wanted.ids.at(0), wanted.folder);
                             return 0;
                           });
  copy->add_option("id", given->ids, "Its id")->required()->expected(1)->type_name("ID");
  copy->add_option("--out", given->folder, "The folder")->required()->type_name("DIR");
  CLI::App* check =
      command("verify", "Check database and files", "verify --deep --data tester", verify_tester);
  check->add_flag("--deep", given->deep, "Also the content of every file");
  command("rebuild", "Make a new database from the tests' folders", "rebuild --data tester",
          rebuild_tester);
  CLI::App* keep =
      command("backup", "Copy database and finished tests, beside a running tester too",
              "backup /mnt/tester-copy --data tester", backup_tester);
  keep->add_option("to", given->folder, "A new folder")->required()->type_name("DIR");
  CLI::App* bring = command("restore", "Make a tester's folder from a backup",
                            "restore /mnt/tester-copy --data tester2", restore_tester);
  bring->add_flag("--resume-queue", given->resume_queue,
                  "Jobs and schedules that waited go on. Only where the original does not run any "
                  "more");
  bring->add_option("from", given->folder, "The backup")->required()->type_name("DIR");
  CLI::App* reserve =
      command("reserve", "Print an id for a test that a token's owner will send",
              "reserve alice --name acceptance --data tester", [](const AdminArguments& wanted) {
                say(tester::reserve_test(wanted.data, wanted.token, wanted.name) + "\n");
                return 0;
              });
  reserve->add_option("token", given->token, "Name of the token")->required()->type_name("NAME");
  reserve->add_option("--name", given->name, "How the list calls the test")->type_name("TEXT");
  command("rotate", "Begin a new audit.jsonl; older ones are numbered", "rotate --data tester",
          [](const AdminArguments& wanted) {
            if (!serve::rotate_audit(std::filesystem::path(wanted.data) / "audit.jsonl"))
              throw Error(ErrorKind::usage, "there is no audit.jsonl", wanted.data);
            return 0;
          });
}

}  // namespace assay::commands
