#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "commands/base/commands.h"
#include "commands/base/known_commands.h"
#include "commands/base/terminal.h"
#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "evidence/key_store.h"
#include "page/table.h"

namespace assay::commands {

namespace {

using evidence::KeyStore;

struct KeyArguments {
  std::string name;
  std::string key;
  bool site = false;

  [[nodiscard]] KeyStore store() const { return site ? KeyStore::of_site() : KeyStore::of_user(); }
};

// The key itself, or the file that contains it.
std::string public_key_of(const std::string& given) {
  if (evidence::is_public_key(given) || !std::filesystem::is_regular_file(given)) return given;
  return std::string(trim(read_file(given)));
}

void print_key(const std::string& public_key) {
  fmt::print("{}\n{}\n", public_key, evidence::fingerprint(public_key));
}

int show_key() {
  const KeyStore store = KeyStore::of_user();
  const auto own = store.own();
  if (!own)
    throw Error(ErrorKind::environment, "there is no key yet", store.folder().string(),
                "the first run makes one, or 'assay key new'");
  print_key(own->public_key());
  return 0;
}

int list_keys() {
  const KeyStore store = KeyStore::of_user();
  page::Table table;
  table.columns = {{"NAME"}, {"WHOSE"}, {"FINGERPRINT"}, {"PUBLIC KEY"}};
  const auto add = [&](const std::string& name, const char* whose, const std::string& key) {
    table.rows.push_back({{name, whose, evidence::fingerprint(key), key}});
  };
  if (const auto own = store.own())
    add(store.own_name().empty() ? "(own)" : store.own_name(), "yours", own->public_key());
  for (const auto& [name, key] : store.trusted()) add(name, "trusted by you", key);
  for (const auto& [name, key] : KeyStore::of_site().trusted())
    add(name, "trusted by this site", key);
  for (const std::string& line : page::text_lines(table)) fmt::print("{}\n", line);
  return 0;
}

int untrust(const KeyArguments& given) {
  const std::string& name = given.name;
  const KeyStore store = given.store();
  if (store.distrust(name)) return 0;
  std::vector<std::string> names;
  for (const auto& [known, key] : store.trusted()) names.push_back(known);
  throw Error(ErrorKind::usage, "no key is trusted as '" + name + "'" + did_you_mean(name, names),
              {}, "'assay key list' shows all");
}

}  // namespace

void add_key(CLI::App& app, Action& action) {
  const auto given = std::make_shared<KeyArguments>();
  CLI::App* command = add_known(app, "key");
  command->require_subcommand(1);
  const auto add = [&](const char* name, const char* what, std::function<int()> run) {
    CLI::App* made = command->add_subcommand(name, what);
    made->callback([run = std::move(run), &action] { action = run; });
    return made;
  };
  const auto take_name = [given](CLI::App* to, const char* what) {
    to->add_option("name", given->name, what)->required()->type_name("NAME");
  };
  add("show", "Print your public key and its fingerprint", show_key);
  CLI::App* made = add("new", "Make a new key; the old one is kept beside it", [given] {
    const KeyStore store = KeyStore::of_user();
    if (!given->name.empty()) store.name_own(given->name);
    print_key(store.replace_own().public_key());
    return 0;
  });
  made->add_option("name", given->name, "What you call it")->type_name("NAME");
  add("list", "List your key and the trusted ones", list_keys);
  CLI::App* trust = add("trust", "Show runs with this key's signature under a name", [given] {
    const std::string key = public_key_of(given->key);
    const std::map<std::string, std::string> known = given->store().trusted();
    if (const auto other = known.find(given->name); other != known.end() && other->second != key)
      throw Error(ErrorKind::usage,
                  "another key is trusted as '" + given->name +
                      "': " + evidence::fingerprint(other->second),
                  {}, "ask its owner; 'assay key untrust " + given->name + "' forgets it");
    given->store().trust(given->name, key);
    tell(fmt::format("{} is trusted as {}; compare this fingerprint with its owner's\n",
                     evidence::fingerprint(key), given->name));
    return 0;
  });
  const auto take_site = [given](CLI::App* to) {
    to->add_flag("--site", given->site, "For all users: in /etc/assay/keys or $ASSAY_SITE_KEYS");
  };
  take_site(trust);
  take_name(trust, "Whose key it is");
  trust->add_option("key", given->key, "The public key, ed25519:…, or a file that holds it")
      ->required()
      ->type_name("PUBLIC-KEY");
  CLI::App* forget = add("untrust", "Forget a trusted key", [given] { return untrust(*given); });
  forget->alias("distrust");
  take_site(forget);
  take_name(forget, "Its name");
  command->footer(
      "Examples:\n"
      "  assay key show                          what others need to recognize your runs\n"
      "  assay key trust lab ed25519:…           recognize theirs\n"
      "  assay key trust lab lab.pub --site      for all users of this machine\n"
      "  assay key list\n"
      "\n"
      "Keys are in $XDG_CONFIG_HOME/assay/keys (~/.config/assay/keys), or in $ASSAY_KEYS.\n"
      "The first run makes yours. What a signature proves is in docs/evidence.md.");
}

}  // namespace assay::commands
