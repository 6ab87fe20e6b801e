#include <filesystem>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "commands/base/byte_progress.h"
#include "commands/base/commands.h"
#include "commands/base/known_commands.h"
#include "commands/base/outcome.h"
#include "commands/base/output_file.h"
#include "commands/base/terminal.h"
#include "core/error.h"
#include "core/scratch_folder.h"
#include "core/text.h"
#include "core/units.h"
#include "evidence/key_store.h"
#include "judge/judge.h"
#include "lang/language.h"
#include "pack/open_run.h"
#include "pack/packed_run.h"
#include "page/table.h"
#include "push/sent_files.h"
#include "store/run_dir.h"

namespace assay::commands {

namespace fs = std::filesystem;

namespace {

constexpr std::int64_t kSilence_ns = 1'000'000'000;
constexpr int kIncompleteExit = 5;
constexpr std::size_t kShownFaults = 50;

std::string size_text(std::uint64_t bytes) {
  return format_bytes(static_cast<double>(bytes));
}

// Says who signed the run, and whether that means anything here.
void say_signer(const judge::EvidenceCheck& check) {
  const judge::RunSeal& seal = check.seal;
  const evidence::Trust trust = evidence::trust_of(seal.public_key);
  tell(fmt::format("Seal: {}\n", printable(seal.text)));
  tell(fmt::format("Signed by: {}{}\n", evidence::signer_text(seal.fingerprint, trust),
                   seal.signed_at.empty() ? "" : ", " + seal.signed_at));
  if (!seal.fingerprint.empty() && trust.name.empty())
    tell(
        fmt::format("  when you know whose key it is: assay key trust NAME {}\n", seal.public_key));
  std::size_t left = kShownFaults;
  for (const std::string& fault : check.faults) {
    if (left-- == 0) {
      tell(fmt::format("  and {} more\n", check.faults.size() - kShownFaults));
      break;
    }
    tell("  " + printable(fault) + "\n");
  }
}

struct PackArguments {
  std::string run;
  std::string out;
  bool replace = false;
  bool with_secrets = false;
};

int run_pack(const PackArguments& given) {
  const store::RunDir run = store::RunDir::open(given.run);
  if (!given.with_secrets) push::check_for_secrets(run.plan());
  const fs::path out = output_place(
      given.out.empty() ? run.plan().run_id + std::string(pack::kExtension) : given.out);
  if (!given.replace && fs::exists(out))
    throw Error(ErrorKind::usage, "it exists already", out.string(), "'--replace' writes over it");
  ByteProgress progress("Packed", kSilence_ns);
  const pack::Written written = pack::write(
      run.path(), out, {0, [&](std::uint64_t done, std::uint64_t of) { progress.show(done, of); }});
  tell(fmt::format("{}: {}, {} packed into {}\n", out.string(),
                   counted(written.contents.files.size(), "file"),
                   size_text(written.contents.bytes()), size_text(written.packed_bytes)));
  for (const std::string& path : written.left_out)
    if (fs::is_symlink(run.path() / path))
      tell("  left out, because it is a link: " + printable(path) + "\n");
  return 0;
}

struct UnpackArguments {
  std::string file;
  std::string folder;
  bool list = false;
  bool verify = false;
  bool flawed_too = false;
  bool trusted = false;
};

int list_files(const UnpackArguments& given) {
  const pack::Contents contents = pack::list(given.file);
  page::Table table;
  table.columns = {{"BYTES", page::Align::right}, {"FILE"}};
  for (const pack::PackedFile& file : contents.files)
    table.rows.push_back({{std::to_string(file.bytes), printable(file.path)}});
  for (const std::string& line : page::text_lines(table)) say(line + "\n");
  tell(fmt::format("{}: {}, {}; nothing was verified\n", printable(contents.run_id),
                   counted(contents.files.size(), "file"), size_text(contents.bytes())));
  return 0;
}

std::string flaw_text(pack::Flaw flaw) {
  switch (flaw) {
    case pack::Flaw::changed:
      return "has another content than when it was packed";
    case pack::Flaw::damaged:
      return "is damaged: a part of it, or its hash, cannot be read";
    case pack::Flaw::cut:
      return "is cut: the packed run ends inside it";
    case pack::Flaw::missing:
      break;
  }
  return "is missing: the packed run ends before it";
}

[[noreturn]] void refuse(const std::string& file, const pack::Check& check) {
  for (const std::string& fault : check.whole) tell(fault + "\n");
  for (const pack::FlawedFile& flawed : check.files)
    tell(lang::name(printable(flawed.path)) + " " + flaw_text(flawed.flaw) + "\n");
  throw Error(ErrorKind::invalid,
              fmt::format("it is not what was packed: {} of {} cannot be used", check.files.size(),
                          counted(check.contents.files.size(), "file")),
              file, "nothing was unpacked; take another copy, or pack the run again");
}

// Whether the unpacked run is what was sealed; sets `code` to the exit code.
bool accept_run(const fs::path& folder, const pack::Contents& contents,
                const UnpackArguments& given, int& code) {
  const store::RunDir run = store::RunDir::open(folder);
  if (run.plan().run_id != contents.run_id)
    throw Error(ErrorKind::invalid,
                "it says that it holds " + printable(contents.run_id) + ", and holds " +
                    printable(run.plan().run_id),
                given.file, "nothing was unpacked");
  const judge::EvidenceCheck check = judge::check_evidence(run);
  say_signer(check);
  if (given.trusted && evidence::trust_of(check.seal.public_key).name.empty())
    throw Error(ErrorKind::invalid, "no key that is trusted here has signed it", given.file,
                "nothing was unpacked");
  if (check.validity == judge::Validity::incomplete) code = kIncompleteExit;
  if (check.validity == judge::Validity::invalid) code = exit_code(ErrorKind::invalid);
  return code != exit_code(ErrorKind::invalid) || given.flawed_too;
}

int run_unpack(const UnpackArguments& given) {
  if (given.list) return list_files(given);
  const pack::Contents contents = pack::list(given.file);
  std::unique_ptr<ScratchFolder> scratch;
  fs::path folder = given.folder.empty() ? fs::path(contents.run_id) : fs::path(given.folder);
  if (given.verify) {
    scratch = std::make_unique<ScratchFolder>("assay-unpack");
    folder = scratch->path() / "run";
  }
  ByteProgress progress(given.verify ? "Verified" : "Unpacked", kSilence_ns);
  int code = 0;
  bool accepted = false;
  const pack::Check check = pack::extract(
      given.file, folder,
      {0, [&](std::uint64_t done, std::uint64_t of) { progress.show(done, of); }},
      [&](const fs::path& unpacked) {
        tell(fmt::format("{}: {}, {}, each as it was packed\n", printable(contents.run_id),
                         counted(contents.files.size(), "file"), size_text(contents.bytes())));
        accepted = accept_run(unpacked, contents, given, code);
        return accepted;
      });
  if (!check.ok()) refuse(given.file, check);
  if (!accepted)
    throw Error(ErrorKind::invalid, "it is not what was sealed when it was measured", given.file,
                "nothing was unpacked; '--flawed-too' unpacks it all the same");
  if (!given.verify)
    tell(fmt::format("Unpacked: {}\n  assay report {}\n", folder.string(),
                     shell_quote(folder.string())));
  return code;
}

}  // namespace

void add_pack(CLI::App& app, Action& action) {
  const auto given = std::make_shared<PackArguments>();
  CLI::App* command = add_known(app, "pack");
  command->add_option("run", given->run, "Folder of a run")->required()->type_name("RUN");
  command->add_option("-o,--out", given->out, "The file to write; default: RUN-ID.assay here")
      ->type_name("FILE");
  command->add_flag("--replace", given->replace, "Write over a file that exists");
  command->add_flag("--with-secrets", given->with_secrets,
                    "Also a run whose plan gives a value to what is named like a secret");
  command->footer(
      "Examples:\n"
      "  assay pack results/latest\n"
      "  assay pack results/latest -o /mnt/stick/h200.assay\n"
      "\n"
      "The file holds everything but locks and notes of the controller; links are left out and "
      "named.\nThe same run gives the same bytes. docs/travel.md has the format.");
  command->callback([given, &action] { action = [given] { return run_pack(*given); }; });
}

void add_unpack(CLI::App& app, Action& action) {
  const auto given = std::make_shared<UnpackArguments>();
  CLI::App* command = add_known(app, "unpack");
  command->add_option("file", given->file, "A file of 'assay pack'")->required()->type_name("FILE");
  command->add_option("-o,--out", given->folder, "The new folder; default: the run's id, here")
      ->type_name("FOLDER");
  CLI::Option* list =
      command->add_flag("--list", given->list, "List its files, and verify nothing");
  command->add_flag("--verify", given->verify, "Verify everything, and leave nothing behind")
      ->excludes(list);
  command->add_flag("--trusted", given->trusted, "Only a run that a trusted key has signed");
  command->add_flag("--flawed-too", given->flawed_too,
                    "Also a run that was changed after it was sealed");
  command->footer(
      "Examples:\n"
      "  assay unpack h200.assay                    into a folder with the run's id\n"
      "  assay unpack h200.assay -o runs/h200 && assay report runs/h200\n"
      "  assay unpack h200.assay --verify --trusted\n"
      "\n"
      "Every file is compared with its hash, and the run with its seal, before the folder "
      "appears.\nExit codes: 0 as it was sealed and signed; 5 nobody signed it; 6 it was changed, "
      "cut or damaged; 2 it is not a packed run.");
  command->callback([given, &action] { action = [given] { return run_unpack(*given); }; });
}

}  // namespace assay::commands
