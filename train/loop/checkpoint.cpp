#include "train/loop/checkpoint.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>

#include <ATen/CPUGeneratorImpl.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "core/files.h"
#include "core/json.h"
#include "core/json_error.h"
#include "core/text.h"
#include "train/loop/checkpoint_folder.h"

namespace assay::train {
namespace {

namespace fs = std::filesystem;

constexpr int kFormat = 1;

at::Generator generator(torch::Device device) {
  if (device.is_cpu()) return at::detail::getDefaultCPUGenerator();
  return at::globalContext().defaultGenerator(device);
}

// Names and shapes: models that agree in these can exchange parameters.
std::string shape_of(const std::vector<FlatParameters::Entry>& entries) {
  std::string text;
  for (const FlatParameters::Entry& entry : entries)
    text += fmt::format("{} {} {}\n", entry.name, entry.offset, entry.size);
  return text;
}

// The first option with another value in `theirs`: "'seed: 1', not 'seed: 5'"; empty: none. An
// older checkpoint, written before an option was recorded, does not count.
std::string other_option(const Json& theirs,
                         const std::vector<std::pair<std::string, std::string>>& ours) {
  for (const auto& [key, value] : ours)
    if (const std::string other = theirs.value(key, value); other != value)
      return fmt::format("'{}: {}', not '{}: {}'", key, printable(other), key, value);
  return {};
}

// Returns errno of the failure, or 0. libtorch's own writer ends the process when a disk is full:
// its destructor throws. So errors are hidden from it until the archive is complete.
int write_to(torch::serialize::OutputArchive& archive, const fs::path& path) {
  const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!fd) return errno;
  int failed = 0;
  archive.save_to([&](const void* data, std::size_t size) {
    const auto* const bytes = static_cast<const char*>(data);
    for (std::size_t done = 0; done < size && failed == 0;) {
      const ssize_t written = ::write(fd.get(), bytes + done, size - done);
      if (written > 0)
        done += static_cast<std::size_t>(written);
      else if (written == 0 || errno != EINTR)
        failed = written == 0 ? ENOSPC : errno;
    }
    return size;
  });
  if (failed == 0 && ::fsync(fd.get()) != 0 && errno != EINVAL && errno != EROFS) failed = errno;
  return failed;
}

void write_archive(torch::serialize::OutputArchive& archive, const fs::path& path) {
  const fs::path temporary = path.string() + ".new";
  const int failed = write_to(archive, temporary);
  std::error_code code(failed, std::generic_category());
  if (failed == 0) fs::rename(temporary, path, code);
  if (!code) return;
  std::error_code ignored;
  fs::remove(temporary, ignored);
  throw Error(ErrorKind::environment, "a checkpoint cannot be written: " + code.message(),
              path.string(), "check the free space and the permissions of the folder");
}

void read_archive(torch::serialize::InputArchive& archive, const fs::path& path) {
  if (!fs::exists(path))
    throw Error(ErrorKind::environment, "a file of the checkpoint is missing", path.string(),
                "remove the folder to start anew, or give the right one");
  try {
    archive.load_from(path.string(), torch::kCPU);
  } catch (const std::exception& error) {
    throw Error(ErrorKind::environment, "the checkpoint is damaged: " + first_line(error),
                path.string(), "remove this step's folder and name an older step in 'latest'");
  }
}

torch::Tensor read_tensor(torch::serialize::InputArchive& archive, const std::string& name,
                          const fs::path& path) {
  torch::Tensor tensor;
  if (!archive.try_read(name, tensor))
    throw Error(ErrorKind::environment, "the checkpoint holds no '" + name + "'", path.string(),
                "give the configuration that it was made with, the optimizer too");
  return tensor;
}

void copy_into(const torch::Tensor& to, const torch::Tensor& from, const fs::path& path) {
  torch::NoGradGuard no_grad;
  if (to.sizes() != from.sizes())
    throw Error(ErrorKind::config, "the checkpoint is of another model", path.string(),
                "give another folder, or the configuration that it was made with");
  to.copy_(from);
}

// The whole model's entries.
const std::vector<FlatParameters::Entry>& entries_of(const TrainingState& state) {
  return state.shared == nullptr ? state.parameters.entries() : state.shared->entries();
}

// Assembles what each rank has a part of, on the host.
torch::Tensor whole_of(const torch::Tensor& own, FlatRange part, const TrainingState& state) {
  torch::Tensor all = own;
  if (part.size != state.parameters.size()) {  // the ranks divide the optimizer's state
    all = torch::zeros_like(state.parameters.values());
    all.narrow(0, part.begin, part.size).copy_(own);
    state.data.all_gather(all);
  }
  // Not every reduction supports all types.
  return state.shared == nullptr ? all.cpu() : state.shared->gather(all.to(torch::kFloat));
}

// In some versions archive keys must not contain dots.
std::string buffer_key(const std::string& name) {
  std::string key = "buffer_" + name;
  std::replace(key.begin(), key.end(), '.', '_');
  return key;
}

}  // namespace

Checkpoints::Checkpoints(fs::path folder, Communicator& communicator)
    : folder_(std::move(folder)), communicator_(communicator) {
  make_directories(folder_);
  const fs::path trial = folder_ / fmt::format("rank{}.trial", communicator_.rank());
  write_file_atomic(trial, "");
  std::error_code ignored;
  fs::remove(trial, ignored);
  if (communicator_.rank() == 0) lock_ = lock_checkpoints(folder_);
}

void Checkpoints::say(const std::string& note) const {
  if (communicator_.rank() == 0 && !note.empty())
    std::fprintf(stderr, "assay-train: %s\n", note.c_str());
}

void Checkpoints::leave_earlier() const {
  const std::vector<std::int64_t> steps = steps_in(folder_);
  if (!steps.empty())
    say(
        fmt::format("{} has {} of an earlier training, up to step {}: they are left until a step "
                    "of the same number replaces them; 'resume: true' would go on",
                    folder_.string(), counted(steps.size(), "checkpoint"), steps.back()));
}

// Removes all but the newest two. Leaves another training's files in the folder alone.
void Checkpoints::remove_older() {
  const auto newest_two = steps_.size() > 2 ? steps_.end() - 2 : steps_.begin();
  std::error_code ignored;
  for (auto step = steps_.begin(); step != newest_two; ++step)
    fs::remove_all(step_folder(folder_, *step), ignored);
  steps_.erase(steps_.begin(), newest_two);
}

// The steps of the resumed training, oldest first; those of a training that was interrupted while
// writing count as the oldest.
void Checkpoints::find_steps(std::int64_t newest) {
  steps_ = steps_in(folder_);
  std::erase(steps_, newest);
  std::stable_partition(steps_.begin(), steps_.end(), [&](auto step) { return step > newest; });
  steps_.push_back(newest);
}

void Checkpoints::withdraw(std::int64_t step) noexcept {
  if (steps_.empty() || steps_.back() != step) return;
  steps_.pop_back();
  // Leaves out a step that was never completed, see find_steps().
  if (!steps_.empty() && steps_.back() > step) steps_.clear();
  if (steps_.empty()) return;
  try {
    write_file_atomic(folder_ / "latest", std::to_string(steps_.back()) + "\n");
  } catch (const std::exception&) {
    // The message names the right one anyway.
  }
}

std::string Checkpoints::last() const {
  return steps_.empty() ? "none" : fmt::format("step {} in {}", steps_.back(), folder_.string());
}

void Checkpoints::save(const TrainingState& state, const Progress& progress) {
  const fs::path folder = step_folder(folder_, progress.step);
  make_directories(folder);
  std::error_code ignored;
  // Left by an earlier training: the checkpoint is complete once there is a new one.
  if (communicator_.rank() == 0) fs::remove(folder / "info.json", ignored);
  torch::serialize::OutputArchive own;
  own.write("random", generator(state.device).get_state(), true);
  for (const auto& item : state.model.named_buffers())
    own.write(buffer_key(item.key()), item.value().cpu(), true);
  const auto own_name = [](std::size_t rank) { return fmt::format("rank{}.pt", rank); };
  const fs::path own_path = folder / own_name(static_cast<std::size_t>(communicator_.rank()));
  write_archive(own, own_path);
  const std::vector<std::string> marks = communicator_.gather(mark_of(own_path).dump());

  // Ranks that share the model or the optimizer's state assemble it.
  const FlatRange all{0, state.parameters.size()};
  std::vector<std::pair<std::string, torch::Tensor>> tensors;
  tensors.emplace_back("parameters", whole_of(state.parameters.values(), all, state));
  for (const auto& [name, tensor] : state.optimizer.state())
    tensors.emplace_back("optimizer_" + name, whole_of(tensor, state.optimizer.part(), state));
  if (state.average != nullptr)
    tensors.emplace_back("average", whole_of(state.average->average(), all, state));

  if (communicator_.rank() == 0) {
    torch::serialize::OutputArchive archive;
    Json info{{"format", kFormat},
              {"workload", state.workload},
              {"model", shape_of(entries_of(state))},
              {"world_size", communicator_.world_size()},
              {"rows", state.rows},
              {"accumulation", state.accumulation},
              {"step", progress.step},
              {"epoch", progress.position.epoch},
              {"batch", progress.position.batch},
              {"optimizer_steps", state.optimizer.steps()},
              {"scale", progress.scale},
              {"good_steps", progress.good_steps},
              {"skipped", progress.skipped},
              {"average", state.average != nullptr},
              {"train_samples", state.train_samples},
              {"data_checksum", state.data_checksum}};
    if (state.average != nullptr) info["ema_decay"] = state.ema_decay;
    for (const auto& [key, value] : state.kept) info["kept"][key] = value;
    for (const auto& [key, value] : state.shaping) info["shaping"][key] = value;
    for (const auto& [name, tensor] : tensors) archive.write(name, tensor, true);
    write_archive(archive, folder / "model.pt");
    Json& files = info["files"];
    files["model.pt"] = mark_of(folder / "model.pt");
    for (std::size_t rank = 0; rank < marks.size(); ++rank)
      files[own_name(rank)] = parse_json(marks[rank], "mark");
    seal(info);
    write_file_atomic(folder / "info.json", dump_pretty(info));
  }
  communicator_.barrier();  // every file exists
  if (communicator_.rank() == 0)
    write_file_atomic(folder_ / "latest", std::to_string(progress.step) + "\n");
  communicator_.barrier();
  std::erase(steps_, progress.step);
  steps_.push_back(progress.step);
  if (communicator_.rank() == 0) remove_older();
}

Progress Checkpoints::read_info(const Json& info, std::int64_t step, const fs::path& path,
                                const TrainingState& state) const {
  const auto refuse = [&](const std::string& what) {
    throw Error(ErrorKind::config, "the checkpoint is " + what, path.string(),
                "give another folder, or the configuration that it was made with");
  };
  const auto damaged = [&](const std::string& what) {
    throw Error(ErrorKind::environment, "the checkpoint is damaged: " + what, path.string(),
                "remove this step's folder and name an older step in 'latest'");
  };
  const auto count = [&](const char* name, std::int64_t least) {
    const auto value = info.at(name).get<std::int64_t>();
    if (value < least) damaged(fmt::format("'{}' is {}", name, value));
    return value;
  };
  const std::string own_shape = shape_of(entries_of(state));
  Progress progress;
  try {
    if (info.at("format").get<int>() != kFormat) refuse("of another version of assay-train");
    if (!sealed(info)) damaged("info.json is not as it was written");
    if (info.at("workload").get<std::string>() != state.workload)
      refuse("of the workload " + printable(info.at("workload").get<std::string>()) + ", not " +
             state.workload);
    if (const auto theirs = info.at("model").get<std::string>(); theirs != own_shape) {
      const std::string option = other_option(info.value("shaping", Json::object()), state.shaping);
      refuse("of another model: " +
             (option.empty()
                  ? fmt::format("it has {} tensors, this one {}", std::ranges::count(theirs, '\n'),
                                std::ranges::count(own_shape, '\n'))
                  : option));
    }
    const std::int64_t saved_ranks = count("world_size", 1);
    if (saved_ranks != communicator_.world_size() && !info.contains("rows"))
      refuse(fmt::format("of {} ranks, not {}", saved_ranks, communicator_.world_size()));
    const std::int64_t rows = info.contains("rows") ? count("rows", 1) : state.rows;
    const std::int64_t accumulation =
        info.contains("accumulation") ? count("accumulation", 1) : state.accumulation;
    if (rows * accumulation != state.rows * state.accumulation)
      refuse(fmt::format("of a training with {} samples a step, not {}", rows * accumulation,
                         state.rows * state.accumulation));
    if (info.at("average").get<bool>() != (state.average != nullptr))
      refuse(fmt::format("of a training with 'ema_decay: {}', not 'ema_decay: {}'",
                         info.contains("ema_decay")       ? info.at("ema_decay").dump()
                         : info.at("average").get<bool>() ? "above 0"
                                                          : "0",
                         Json(state.ema_decay).dump()));
    if (const std::string option = other_option(info.value("kept", Json::object()), state.kept);
        !option.empty())
      refuse("of a training with " + option);
    const std::int64_t samples = info.value("train_samples", state.train_samples);
    if (samples != state.train_samples)
      refuse(fmt::format("of a training on data with {} samples, not {} ('train_size', 'path')",
                         samples, state.train_samples));
    if (const auto data = info.value("data_checksum", std::uint32_t{0});
        data != 0 && state.data_checksum != 0 && data != state.data_checksum)
      refuse(fmt::format(
          "of a training on other data: some of their samples have the checksum {}, not {}", data,
          state.data_checksum));
    progress.step = count("step", 0);
    progress.checksum = seal_of(info);
    if (progress.step != step) damaged(fmt::format("'step' is {}", progress.step));
    const std::int64_t seen = count("batch", 0) * rows;
    if (seen % state.rows != 0)
      refuse(fmt::format("after {} samples of an epoch, which batches of {} do not divide", seen,
                         state.rows));
    progress.position = {count("epoch", 0), seen / state.rows};
    progress.scale = info.at("scale").get<double>();
    if (!std::isfinite(progress.scale) || progress.scale < 0) damaged("'scale' is no scale");
    progress.good_steps = count("good_steps", 0);
    progress.skipped = count("skipped", 0);
    const std::int64_t updates = count("optimizer_steps", 0);
    if (updates > step) damaged(fmt::format("'optimizer_steps' is {}", updates));
    state.optimizer.set_steps(updates);
  } catch (const nlohmann::json::exception& error) {
    damaged(plain_error(error));
  }
  return progress;
}

std::optional<Progress> Checkpoints::load(const TrainingState& state) {
  const NewestStep newest = newest_step(folder_);
  say(newest.note);
  if (!newest.step) return std::nullopt;
  const fs::path folder = step_folder(folder_, *newest.step);
  const fs::path info_path = folder / "info.json";
  Json info;
  try {
    info = parse_json(read_file(info_path), info_path.string());
  } catch (const Error& error) {
    throw Error(ErrorKind::environment, "the checkpoint is damaged: " + error.message(),
                info_path.string(), "remove this step's folder and name an older step in 'latest'");
  }
  const Progress progress = read_info(info, *newest.step, info_path, state);
  const auto saved_ranks = info.at("world_size").get<int>();
  const fs::path model_path = folder / "model.pt";
  torch::serialize::InputArchive archive;
  require_unchanged(info, model_path);
  read_archive(archive, model_path);
  // Data that was divided differently has other padding at its end.
  const auto end_of = [](const std::vector<FlatParameters::Entry>& entries) {
    return entries.back().offset + entries.back().size;
  };
  const std::int64_t used = end_of(state.parameters.entries());
  const auto read_flat = [&](const std::string& name, const torch::Tensor& to, FlatRange part) {
    torch::Tensor from = read_tensor(archive, name, model_path);
    const std::int64_t end = std::min(used, part.begin + part.size);
    if (from.dim() != 1 || from.numel() < end_of(entries_of(state)))
      throw Error(ErrorKind::environment, "the checkpoint's '" + name + "' is too short",
                  model_path.string());
    if (state.shared != nullptr) {
      torch::Tensor own = torch::zeros({state.parameters.size()}, torch::kFloat);
      state.shared->scatter(from, own);
      from = own;
    }
    if (end > part.begin)
      copy_into(to.narrow(0, 0, end - part.begin), from.narrow(0, part.begin, end - part.begin),
                model_path);
  };
  const FlatRange all{0, state.parameters.size()};
  read_flat("parameters", state.parameters.values(), all);
  for (const auto& [name, tensor] : state.optimizer.state())
    read_flat("optimizer_" + name, tensor, state.optimizer.part());
  if (state.average != nullptr) read_flat("average", state.average->average(), all);
  state.parameters.round();

  // A new rank uses the statistics of an existing one.
  const bool is_new = communicator_.rank() >= saved_ranks;
  const fs::path own_path = folder / fmt::format("rank{}.pt", is_new ? 0 : communicator_.rank());
  torch::serialize::InputArchive own;
  require_unchanged(info, own_path);
  read_archive(own, own_path);
  for (const auto& item : state.model.named_buffers())
    copy_into(item.value(), read_tensor(own, buffer_key(item.key()), own_path), own_path);
  at::Generator random = generator(state.device);
  if (!is_new) random.set_state(read_tensor(own, "random", own_path));
  find_steps(progress.step);
  return progress;
}

}  // namespace assay::train
