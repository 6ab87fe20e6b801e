#include "importer/flagperf_launch.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/files.h"
#include "core/regular_file.h"
#include "core/text.h"

namespace assay::importer {

namespace {

namespace fs = std::filesystem;

/// Escapes text that would look like a placeholder to Assay: {name} becomes {{name}}.
std::string literal(std::string_view text) {
  static constexpr std::string_view kNameCharacters = "abcdefghijklmnopqrstuvwxyz_";
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::size_t end = std::min(text.find_first_not_of(kNameCharacters, i + 1), text.size());
    if (text[i] == '{' && end > i + 1 && text.substr(end).starts_with('}')) {
      out += fmt::format("{{{}}}", text.substr(i, end + 1 - i));
      i = end;
    } else {
      out += text[i];
    }
  }
  return out;
}

std::string literal_path(const fs::path& path) {
  return literal(path.native());
}

/// A word of a shell script that Assay expands beforehand.
std::string quoted(const fs::path& path) {
  return literal(shell_quote(path.native()));
}

std::string first_line(const fs::path& path) {
  const std::string content = read_plain_file_or_empty(path);
  return std::string(trim(std::string_view(content).substr(0, content.find_first_of("\r\n"))));
}

/// Whether a shell script contains any commands.
bool has_commands(const fs::path& path) {
  const std::string content = read_plain_file_or_empty(path);
  return std::ranges::any_of(split(content, '\n'), [](std::string_view line) {
    const std::string_view text = trim(line);
    return !text.empty() && text.front() != '#';
  });
}

std::string device_list(int procs) {
  std::string out;
  for (int i = 0; i < procs; ++i) out += (i == 0 ? "" : ",") + std::to_string(i);
  return out;
}

class Builder {
 public:
  Builder(const FlagPerfConfig& config, const FlagPerfCase& item, const Layout& here,
          const Layout& on_hosts, const std::string& python, bool local)
      : config_(config),
        item_(item),
        here_(here),
        hosts_(on_hosts),
        python_(python),
        local_(local) {}

  Launch run() {
    out_.workdir = hosts_.benchmark(item_).string();
    if (!config_.test.visible_devices_env.empty())
      add_env(config_.test.visible_devices_env, device_list(item_.procs));
    source_environment();
    switch (starter_of(item_.family)) {
      case Starter::pytorch:
      case Starter::flagai:
        pytorch();
        break;
      case Starter::paddle:
        paddle();
        break;
      case Starter::tensorflow:
        tensorflow();
        break;
      case Starter::mindspore:
        mindspore();
        break;
      case Starter::deepspeed:
      case Starter::deepspeed_torch:
        deepspeed();
        break;
      case Starter::megatron:
      case Starter::unknown:
        megatron();
        break;
      case Starter::flagscale:
        flagscale();
        break;
    }
    wrap_in_shell();
    preparations();
    return std::move(out_);
  }

 private:
  void add_env(std::string name, std::string value) {
    out_.env.emplace_back(std::move(name), std::move(value));
  }

  void add(std::initializer_list<std::string> arguments) {
    out_.command.insert(out_.command.end(), arguments);
  }

  [[nodiscard]] std::string config_path() const {
    return literal_path(hosts_.config_folder(item_) / item_.config_file);
  }
  [[nodiscard]] std::string script_path() const {
    return literal_path(hosts_.benchmark(item_) / here_.script(item_));
  }

  /// FlagPerf sources this file in the container before starting the task.
  void source_environment() {
    const fs::path relative = "environment_variables.sh";
    if (!has_commands(here_.config_folder(item_) / relative)) return;
    shell_.push_back(fmt::format(". {} || exit 3", quoted(hosts_.config_folder(item_) / relative)));
    out_.remarks.push_back("sources environment_variables.sh first, as FlagPerf does");
  }

  void data_and_config() {
    add({"--data_dir", "{data}", "--extern_config_dir", literal_path(hosts_.config_folder(item_)),
         "--extern_config_file", literal(item_.config_file)});
  }

  void extern_modules(bool always) {
    std::error_code ignored;
    const bool exists = fs::is_directory(here_.vendor_folder(item_) / "extern", ignored);
    if (always || exists) add({"--enable_extern_config"});
    if (exists) add({"--extern_module_dir", literal_path(hosts_.vendor_folder(item_) / "extern")});
  }

  void pytorch() {
    out_.mode = "per-rank";
    out_.workdir = hosts_.training.string();
    add({python_, "-u", script_path()});
    const bool flagai = starter_of(item_.family) == Starter::flagai;
    if (flagai) add({"-local_rank", "{local_rank}"});
    data_and_config();
    if (!flagai) add({"--vendor", literal(config_.test.vendor)});
    extern_modules(true);
    if (flagai) {
      add({"--not_call_launch"});
      add_env("N_DEVICE", "{procs}");
    }
  }

  void paddle() {
    out_.mode = "per-rank";
    out_.workdir = hosts_.training.string();
    add({python_, "-u", script_path()});
    data_and_config();
    add({"--vendor", literal(config_.test.vendor)});
    extern_modules(true);

    constexpr int kPaddlePort = 12532;  // the default of FlagPerf's paddle launcher
    const int port = config_.cluster.master_port.value_or(kPaddlePort);
    std::vector<std::string> endpoints;
    for (int node = 0; node < item_.nodes; ++node) {
      const std::string host =
          local_ ? "127.0.0.1" : config_.cluster.hosts[static_cast<std::size_t>(node)];
      for (int rank = 0; rank < item_.procs; ++rank)
        endpoints.push_back(fmt::format("{}:{}", host, port + rank));
    }
    add_env("PADDLE_TRAINERS_NUM", "{world_size}");
    add_env("PADDLE_TRAINER_ID", "{rank}");
    add_env("PADDLE_RANK_IN_NODE", "{local_rank}");
    add_env("PADDLE_WORLD_DEVICE_IDS", device_list(item_.procs));
    add_env("PADDLE_LOCAL_DEVICE_IDS", "{local_rank}");
    add_env("PADDLE_TRAINER_ENDPOINTS", literal(join(endpoints, ",")));
    add_env("FLAGS_selected_gpus", "{local_rank}");
    add_env("FLAGS_selected_accelerators", "{local_rank}");
    add_env("FLAGS_embedding_deterministic", "1");
    add_env("FLAGS_cudnn_deterministic", "1");
    add_env("NVIDIA_TF32_OVERRIDE", "0");
    add_env("NCCL_ALGO", "Tree");
    shell_.emplace_back(
        "export PADDLE_CURRENT_ENDPOINT=\"$(printf %s \"$PADDLE_TRAINER_ENDPOINTS\" | "
        "cut -d, -f\"$((PADDLE_TRAINER_ID + 1))\")\"");
    out_.remarks.push_back(
        "every rank has its own endpoint and global trainer id (FlagPerf gives all the same)");
  }

  void tensorflow() {
    out_.mode = "per-node";
    out_.workdir = hosts_.training.string();
    add({python_, "-u", script_path()});
    data_and_config();
    extern_modules(false);
    add_env("FLAGPERF_NNODES", "{nodes}");
    add_env("FLAGPERF_NPROC", "{procs}");
    add_env("FLAGPERF_BASE_PORT", "{master_port}");
    add_env("FLAGPERF_NODE_RANK", "{node_rank}");
    add_env("FLAGPERF_HOSTS", "{hosts}");
    const auto& ports = config_.cluster.hosts_ports;
    add_env("FLAGPERF_HOSTS_PORTS", ports.empty() ? "2222" : literal(join(ports, ",")));
  }

  void mindspore() {
    out_.mode = "per-node";
    out_.workdir = hosts_.training.string();
    add({"bash", "-x", script_path(), "--extern_config_dir",
         literal_path(hosts_.config_folder(item_)), "--extern_config_file",
         literal(item_.config_file), "--vendor", literal(config_.test.vendor), "--data_dir",
         "{data}"});
    extern_modules(true);
  }

  void deepspeed() {
    out_.mode = "per-node";
    out_.prints_tokens = true;
    merge_deepspeed_configs();
    const std::string network = first_line(here_.config_folder(item_) / "net.sh");
    if (!network.empty() && network.front() != '#') {
      shell_.push_back(literal(network));
      out_.remarks.push_back("the first line of net.sh is part of the command, as in FlagPerf");
    }
    const bool own_launcher = starter_of(item_.family) == Starter::deepspeed_torch;
    if (own_launcher) {
      add({python_, "run_pretraining.py"});
    } else {
      add({"torchrun", "--nproc_per_node={procs}", "--nnodes={nodes}", "--node_rank={node_rank}",
           "--master_addr={master_addr}", "--master_port={master_port}", "run_pretraining.py"});
    }
    add({"--flagperf_config", config_path(), "--node_rank", "{node_rank}", "--nproc_per_node",
         "{procs}", "--nnodes", "{nodes}", "--deepspeed"});
    if (!own_launcher) add({"--deepspeed_config"});
    add({deepspeed_config_, "--data_dir", "{data}"});
  }

  /// FlagPerf merges the vendor's ds_config.json over the benchmark's on node 0 while the others
  /// sleep; here every node does it itself, in its own folder.
  void merge_deepspeed_configs() {
    std::error_code ignored;
    const bool base = fs::is_regular_file(here_.benchmark(item_) / "ds_config.json", ignored);
    const bool vendor = fs::is_regular_file(here_.config_folder(item_) / "ds_config.json", ignored);
    const fs::path base_path = hosts_.benchmark(item_) / "ds_config.json";
    const fs::path vendor_path = hosts_.config_folder(item_) / "ds_config.json";
    if (!base || !vendor) {
      deepspeed_config_ = literal_path(vendor ? vendor_path : base_path);
      if (!base && !vendor)
        out_.remarks.push_back("there is no ds_config.json, neither general nor the vendor's");
      return;
    }
    shell_.push_back(fmt::format(
        "{} -c 'import json, sys; d = json.load(open(sys.argv[1])); "
        "d.update(json.load(open(sys.argv[2]))); json.dump(d, open(sys.argv[3], \"w\"))' "
        "{} {} \"$ASSAY_DS_CONFIG\" || exit 3",
        literal(shell_quote(python_)), quoted(base_path), quoted(vendor_path)));
    deepspeed_config_ = "{outdir}/ds_config.json";
    add_env("ASSAY_DS_CONFIG", deepspeed_config_);
    out_.remarks.push_back("merges the two ds_config.json into the node's folder");
  }

  void megatron() {
    out_.mode = "per-node";
    out_.prints_tokens = true;
    add({python_, "run_pretraining.py", "--nproc_per_node={procs}", "--nnodes={nodes}",
         "--node_rank={node_rank}", "--master_addr={master_addr}", "--master_port={master_port}",
         "--vendor=" + literal(here_.vendor), "--data_dir={data}", "--log_dir={outdir}",
         "--flagperf_config_file=" + config_path()});
  }

  void flagscale() {
    out_.mode = item_.nodes > 1 ? "head" : "per-node";
    out_.prints_tokens = true;
    add({python_, "run_pretraining.py", "--world_size={world_size}", "--hosts={hosts}",
         "--host_addr={host}", "--vendor=" + literal(here_.vendor), "--data_dir={data}",
         "--log_dir={outdir}", "--flagperf_config_file=" + config_path()});
  }

  void wrap_in_shell() {
    if (shell_.empty()) return;
    std::string script = join(shell_, "\n") + "\nexec \"$@\"";
    std::vector<std::string> command{"bash", "-c", std::move(script), "flagperf"};
    command.insert(command.end(), out_.command.begin(), out_.command.end());
    out_.command = std::move(command);
  }

  /// Steps in FlagPerf's container before a round that Assay leaves to the user.
  void preparations() {
    std::error_code ignored;
    if (has_commands(here_.config_folder(item_) / "requirements.txt"))
      out_.remarks.push_back(
          fmt::format("needs: pip3 install -r {}",
                      (hosts_.config_folder(item_) / "requirements.txt").string()));
    if (fs::is_regular_file(here_.vendor_folder(item_) / "csrc" / "setup.py", ignored))
      out_.remarks.push_back(fmt::format("needs the custom operators of {} built and installed",
                                         (hosts_.vendor_folder(item_) / "csrc").string()));
  }

  const FlagPerfConfig& config_;
  const FlagPerfCase& item_;
  const Layout& here_;
  const Layout& hosts_;
  const std::string& python_;
  bool local_;
  std::vector<std::string> shell_;  // lines that precede the command
  std::string deepspeed_config_;
  Launch out_;
};

}  // namespace

Starter starter_of(const std::string& family) noexcept {
  if (family == "pytorch") return Starter::pytorch;
  if (family == "flagaipytorch") return Starter::flagai;
  if (family == "paddle") return Starter::paddle;
  if (family == "tensorflow2") return Starter::tensorflow;
  if (family == "mindspore") return Starter::mindspore;
  if (family == "deepspeed-torch") return Starter::deepspeed_torch;
  if (family.starts_with("deepspeed")) return Starter::deepspeed;
  if (family.starts_with("megatron") || family == "MindSpeed") return Starter::megatron;
  if (family.starts_with("flagscale")) return Starter::flagscale;
  return Starter::unknown;
}

std::string Layout::script(const FlagPerfCase& item) const {
  switch (starter_of(item.family)) {
    case Starter::unknown:
      return {};
    case Starter::mindspore: {
      std::error_code ignored;
      const char* const older = "run_pretraining.sh";
      const char* const newer = "cluster_offline_run.sh";
      const bool has_older = fs::is_regular_file(benchmark(item) / older, ignored);
      return has_older && !fs::is_regular_file(benchmark(item) / newer, ignored) ? older : newer;
    }
    default:
      return "run_pretraining.py";
  }
}

Launch plan_launch(const FlagPerfConfig& config, const FlagPerfCase& item, const Layout& here,
                   const Layout& on_hosts, const std::string& python, bool local) {
  return Builder(config, item, here, on_hosts, python, local).run();
}

}  // namespace assay::importer
