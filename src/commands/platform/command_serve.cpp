#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include <fmt/format.h>
#include <sys/stat.h>

#include "commands/base/commands.h"
#include "commands/base/known_commands.h"
#include "commands/base/terminal.h"
#include "commands/platform/job_engine.h"
#include "core/address.h"
#include "core/error.h"
#include "core/host.h"
#include "core/regular_file.h"
#include "core/text.h"
#include "core/time.h"
#include "core/units.h"
#include "http/url.h"
#include "site/server.h"
#include "tester/admin.h"
#include "tester/judge_process.h"
#include "web/files.h"

namespace assay::commands {

namespace {

struct ServeArguments {
  std::string listen = "127.0.0.1:8480";
  std::string data = "tester";
  std::string certificate;
  std::string key;
  std::string keys;
  std::string config;
  bool public_read = false;
  std::size_t connections = serve::ConnectionLimits{}.total;
  std::size_t connections_per_address = serve::ConnectionLimits{}.per_address;
  std::string audit_size = "64M";
  std::string read_timeout = "60s";
  double rate = 500;
  std::string test_limit = "4G";
  std::string quota = "100G";
  std::string judge_time = "120s";
  std::string judge_memory = "4G";
  std::string token_name;
  bool no_jobs = false;
  std::string nodes;
  bool slurm = false;
  engine::SlurmTarget slurm_target;
  std::string job_user;
  std::vector<std::string> names;
  std::string endpoint_domain;
  std::string oidc;
  std::vector<std::string> webhooks;
  std::string webhook_secret;
  bool resume_queue = false;
  std::string upkeep_every = "1h";
};

std::uint64_t size_of(const std::string& text, const char* option) {
  const auto size = parse_size(text);
  if (!size || *size == 0)
    throw Error(ErrorKind::usage, "not a valid size: '" + text + "'", option,
                "such as 512M or 100G");
  return *size;
}

Nanoseconds duration_of(const std::string& text, const char* option) {
  const auto duration = parse_duration(text);
  if (!duration || *duration < std::chrono::milliseconds(1))
    throw Error(ErrorKind::usage, "not a valid duration: '" + text + "'", option,
                "such as 30s or 2m");
  return *duration;
}

// "127.0.0.1:8480", "[::1]:8480", "8480".
void parse_listen(const std::string& text, site::ServeOptions& options) {
  const bool port_alone = text.find(':') == std::string::npos;
  const auto endpoint = parse_endpoint(port_alone ? "127.0.0.1:" + text : text);
  if (!endpoint)
    throw Error(ErrorKind::usage, "not a valid address to listen on: '" + text + "'", "--listen",
                "ADDRESS:PORT with a numeric address, such as 127.0.0.1:8480 or [::1]:8480");
  options.address = endpoint->address;
  options.port = static_cast<std::uint16_t>(endpoint->port);
}

std::string webhook_secret(const std::string& file, bool useless) {
  if (useless)
    throw Error(ErrorKind::usage, "there is nobody to sign for: --webhook-secret needs --webhook");
  std::string secret(trim(read_regular_file(file)));
  if (secret.empty())
    throw Error(ErrorKind::usage, "the secret is empty, and anybody could sign with it", file,
                "'openssl rand -hex 32 > FILE' makes one");
  struct stat about {};
  if (::stat(file.c_str(), &about) == 0 && (about.st_mode & (S_IRGRP | S_IROTH)) != 0)
    tell_error(
        fmt::format("assay: warning: other users of this machine can read {}: 'chmod 600' "
                    "keeps the secret from them\n",
                    file));
  return secret;
}

int serve_until_stopped(const ServeArguments& given) {
  site::ServeOptions options;
  parse_listen(given.listen, options);
  if (given.certificate.empty() != given.key.empty())
    throw Error(ErrorKind::usage, "TLS needs both --tls-certificate and --tls-key");
  if (given.rate <= 0) throw Error(ErrorKind::usage, "the rate must be above 0", "--rate");
  if (given.connections == 0 || given.connections_per_address == 0)
    throw Error(ErrorKind::usage, "at least one connection must be allowed", "--connections");
  options.data = given.data;
  options.pages.assign(web::files().begin(), web::files().end());
  options.certificate = given.certificate;
  options.key = given.key;
  options.keys = given.keys;
  options.config = given.config;
  options.public_read = given.public_read;
  options.connections.total = given.connections;
  options.connections.per_address = given.connections_per_address;
  options.audit_bytes = size_of(given.audit_size, "--audit-size");
  options.read_timeout = std::chrono::duration_cast<std::chrono::milliseconds>(
      duration_of(given.read_timeout, "--read-timeout"));
  options.upkeep_every = std::chrono::duration_cast<std::chrono::milliseconds>(
      duration_of(given.upkeep_every, "--upkeep-every"));
  options.limits.token_rate = given.rate;
  options.limits.address_rate = 2 * given.rate;
  options.limits.manifest.bytes = size_of(given.test_limit, "--test-limit");
  options.limits.quota = size_of(given.quota, "--quota");
  options.judge.command = {(program_folder() / "assay").string(), "judge-evidence"};
  options.judge.time =
      std::chrono::ceil<std::chrono::seconds>(duration_of(given.judge_time, "--judge-time"));
  options.judge.memory = size_of(given.judge_memory, "--judge-memory");
  options.names = given.names;
  options.endpoint_domain = given.endpoint_domain;
  if (!given.oidc.empty()) options.oidc = oidc::read_oidc_settings(given.oidc);
  for (const std::string& url : given.webhooks) (void)http::parse_url(url, "--webhook");
  if (!given.webhooks.empty() && given.webhook_secret.empty())
    throw Error(ErrorKind::usage, "webhooks are signed: --webhook needs --webhook-secret FILE");
  options.webhooks = given.webhooks;
  if (!given.webhook_secret.empty())
    options.webhook_secret = webhook_secret(given.webhook_secret, given.webhooks.empty());
  if (!given.no_jobs) {
    JobEngineChoice choice{.nodes = given.nodes, .job_user = given.job_user, .data = given.data};
    if (given.slurm) choice.slurm = given.slurm_target;
    options.resume_queue = given.resume_queue;
    options.engine = [choice] { return make_job_engine(choice); };
  }
  site::run_server(options, [](const std::string& line) { tell(line + "\n"); });
  return 0;
}

void add_token_commands(CLI::App& serve, const std::shared_ptr<ServeArguments>& given,
                        Action& action) {
  CLI::App* token =
      serve.add_subcommand("token", "Make, show or revoke the tokens that may send and read");
  token->require_subcommand(1);
  const auto command = [&](const char* name, const char* what) {
    CLI::App* made = token->add_subcommand(name, what);
    made->add_option("--data", given->data, "The tester's folder")
        ->type_name("DIR")
        ->capture_default_str();
    return made;
  };
  CLI::App* add = command("add", "Make a token and print it, this once");
  add->add_option("name", given->token_name, "Who it is for; tests show it")->required();
  add->callback([given, &action] {
    action = [given] {
      say(tester::open_records(given->data).add_token(given->token_name) + "\n");
      return 0;
    };
  });
  CLI::App* list = command("list", "Show the names of all tokens");
  list->callback([given, &action] {
    action = [given] {
      for (const tester::TokenRecord& record : tester::open_records(given->data).tokens())
        tell(fmt::format("{}  made {}{}\n", record.name, record.created,
                         record.revoked.empty() ? "" : "  revoked " + record.revoked));
      return 0;
    };
  });
  CLI::App* rotate = command("rotate", "Give a token a new secret and print it, this once");
  rotate->add_option("name", given->token_name, "Its name")->required();
  rotate->callback([given, &action] {
    action = [given] {
      say(tester::open_records(given->data).rotate_token(given->token_name) + "\n");
      return 0;
    };
  });
  CLI::App* revoke = command("revoke", "Revoke a token; it stops working at once");
  revoke->add_option("name", given->token_name, "Its name")->required();
  revoke->callback([given, &action] {
    action = [given] {
      tester::open_records(given->data).revoke_token(given->token_name);
      return 0;
    };
  });
}

}  // namespace

void add_serve(CLI::App& app, Action& action) {
  const auto given = std::make_shared<ServeArguments>();
  CLI::App* command = add_known(app, "serve");
  command->require_subcommand(0, 1);
  const auto option = [&](const char* name, auto& value, const char* type, const char* what) {
    command->add_option(name, value, what)->type_name(type)->capture_default_str();
  };
  option("--listen", given->listen, "ADDRESS:PORT", "Where to listen; port 0 is a free one");
  option("--data", given->data, "DIR", "Folder for jobs, tests, accounts and the audit log");
  option("--tls-certificate", given->certificate, "FILE", "Certificate with its chain, PEM");
  option("--tls-key", given->key, "FILE", "Its private key, PEM");
  option("--keys", given->keys, "DIR",
         "Folder of keys that the tester knows by name; else 'keys' in its folder");
  option("--config", given->config, "FILE",
         "Prices of hardware, YAML; else 'tester.yaml' in its folder, if it is there");
  command->add_flag("--no-jobs", given->no_jobs, "Be a tester only: run no jobs");
  CLI::Option* nodes =
      command
          ->add_option("--nodes", given->nodes, "Machines on which jobs run, YAML; else this one")
          ->type_name("FILE");
  CLI::Option* slurm =
      command
          ->add_flag("--slurm", given->slurm,
                     "Jobs are Slurm's. --data must be on a file system that its nodes share")
          ->excludes(nodes);
  const auto of_slurm = [&](const char* name, std::string& value, const char* what) {
    command->add_option(name, value, what)->type_name("NAME")->needs(slurm);
  };
  of_slurm("--slurm-partition", given->slurm_target.partition,
           "Partition of jobs whose queue names none; else Slurm's default");
  of_slurm("--slurm-account", given->slurm_target.account, "The same for the account");
  of_slurm("--slurm-qos", given->slurm_target.qos, "The same for the QOS");
  option("--job-user", given->job_user, "NAME",
         "As root: jobs run as this user, or as '{owner}': the user with the name of the account");
  command
      ->add_option("--endpoint-domain", given->endpoint_domain,
                   "Endpoints of jobs are at job7-jupyter.DOMAIN: all such names must lead to the "
                   "server. Not the server's own domain. Default on this machine alone: localhost")
      ->type_name("DOMAIN");
  command->add_option("--name", given->names, "A host name of the server; more than one is fine")
      ->type_name("HOST");
  option("--oidc", given->oidc, "FILE",
         "YAML: people may also sign in by an OpenID provider (docs/platform.md)");
  command->add_option("--webhook", given->webhooks, "URL that is told of jobs that have ended")
      ->type_name("URL");
  option("--webhook-secret", given->webhook_secret, "FILE",
         "With what webhooks are signed (HMAC-SHA256)");
  command->add_flag("--resume-queue", given->resume_queue,
                    "Of a copied or restored folder: jobs and schedules that are held go on. Only "
                    "where the original does not run any more");
  command->add_flag("--public-read", given->public_read, "Let anyone read, without a token");
  option("--connections", given->connections, "N", "At the same time");
  option("--connections-per-address", given->connections_per_address, "N",
         "Of them from one address; more behind a proxy");
  option("--read-timeout", given->read_timeout, "DURATION", "For a request to arrive as a whole");
  option("--rate", given->rate, "N", "Requests a second of a token; an address has twice that");
  option("--audit-size", given->audit_size, "SIZE", "Of audit.jsonl before it is rotated");
  option("--test-limit", given->test_limit, "SIZE", "Evidence of one test");
  option("--quota", given->quota, "SIZE", "Evidence of all tests");
  option("--judge-time", given->judge_time, "DURATION", "For judging one test");
  option("--judge-memory", given->judge_memory, "SIZE", "For judging one test");
  // For tests, which cannot wait an hour.
  command->add_option("--upkeep-every", given->upkeep_every)->type_name("DURATION")->group("");
  add_token_commands(*command, given, action);
  add_tester_admin(*command, action);
  add_serve_users(*command, action);
  command->footer(
      "Examples:\n"
      "  assay serve token add alice --data tester      make a token; it is shown this once\n"
      "  assay serve                                    prints where to sign in, and runs jobs\n"
      "  assay serve link                               another address that signs in, once\n"
      "  assay serve user add ann --role member         also list, password, disable, enable\n"
      "  assay serve --slurm --data /shared/assay       jobs are Slurm's; partitions are queues\n"
      "  assay serve --no-jobs --data tester            a tester only, on http://127.0.0.1:8480\n"
      "  assay serve --listen 0.0.0.0:8480 --tls-certificate tester.crt --tls-key tester.key\n"
      "  assay push results/latest --to http://127.0.0.1:8480\n"
      "  assay serve list --text H100                   the tests of this folder; also delete, "
      "export,\n"
      "  assay serve verify --deep                      rebuild, backup, restore, reserve, rotate\n"
      "\n"
      "SIGTERM and Ctrl-C end it; requests that are being answered are finished. docs/tester.md "
      "and docs/platform-api.md have the API.");
  command->callback([command, given, &action] {
    if (command->get_subcommands().empty())
      action = [given] { return serve_until_stopped(*given); };
  });
}

void add_judge_evidence(CLI::App& app, Action& action) {
  const auto folder = std::make_shared<std::string>();
  const auto time = std::make_shared<std::int64_t>(120);
  const auto memory = std::make_shared<std::uint64_t>(std::uint64_t{4} << 30);
  const auto parent = std::make_shared<std::int64_t>(0);
  CLI::App* command = add_known(app, "judge-evidence");
  command->add_option("folder", *folder)->required();
  command->add_option("--time", *time, "Seconds of processor time")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{86400}));
  command->add_option("--memory", *memory, "Bytes of address space");
  command->add_option("--parent", *parent, "Process with which it ends");
  command->callback([=, &action] {
    action = [=] {
      tester::judge_evidence(*folder, std::chrono::seconds(*time), *memory, *parent);
      return 0;
    };
  });
}

}  // namespace assay::commands
