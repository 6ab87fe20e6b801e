#include <memory>
#include <string>

#include <fmt/format.h>

#include "commands.h"
#include "core/error.h"
#include "core/text.h"
#include "evidence/key_store.h"
#include "page/table.h"

namespace assay::app {

namespace {

using evidence::KeyStore;

struct KeyArguments {
  std::string name;
  std::string key;
};

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
  table.columns = {{"NAME"}, {"FINGERPRINT"}, {"PUBLIC KEY"}};
  if (const auto own = store.own())
    table.rows.push_back({{"(own)", evidence::fingerprint(own->public_key()), own->public_key()}});
  for (const auto& [name, key] : store.trusted())
    table.rows.push_back({{name, evidence::fingerprint(key), key}});
  for (const std::string& line : page::text_lines(table)) fmt::print("{}\n", line);
  return 0;
}

int distrust(const std::string& name) {
  const KeyStore store = KeyStore::of_user();
  if (store.distrust(name)) return 0;
  std::vector<std::string> names;
  for (const auto& [known, key] : store.trusted()) names.push_back(known);
  throw Error(ErrorKind::usage, "no key is trusted as '" + name + "'" + did_you_mean(name, names),
              {}, "'assay key list' shows all");
}

}  // namespace

void add_key(CLI::App& app, Action& action) {
  const auto given = std::make_shared<KeyArguments>();
  CLI::App* command =
      app.add_subcommand("key", "The key that signs your runs, and the keys that you trust");
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
  add("new", "Make a new key; the old one is kept beside it", [] {
    print_key(KeyStore::of_user().replace_own().public_key());
    return 0;
  });
  add("list", "List your key and the trusted ones", list_keys);
  CLI::App* trust = add("trust", "Show runs with this key's signature under a name", [given] {
    KeyStore::of_user().trust(given->name, given->key);
    return 0;
  });
  take_name(trust, "Whose key it is");
  trust->add_option("key", given->key, "The public key, ed25519:…")
      ->required()
      ->type_name("PUBLIC-KEY");
  take_name(add("distrust", "Forget a trusted key", [given] { return distrust(given->name); }),
            "Its name");
  command->footer(
      "Examples:\n"
      "  assay key show                          what others need to recognize your runs\n"
      "  assay key trust lab ed25519:…           recognize theirs\n"
      "  assay key list\n"
      "\n"
      "Keys are in $XDG_CONFIG_HOME/assay/keys (~/.config/assay/keys), or in $ASSAY_KEYS.\n"
      "The first run makes yours. What a signature proves is in docs/evidence.md.");
}

}  // namespace assay::app
