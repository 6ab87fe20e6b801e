#include "train/weights/weight_set.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/crc32c.h"
#include "core/error.h"
#include "core/files.h"
#include "core/json.h"
#include "core/regular_file.h"
#include "core/text.h"

namespace assay::train::weights {

namespace {

namespace fs = std::filesystem;

constexpr const char* kOneFile = "model.safetensors";
constexpr const char* kIndex = "model.safetensors.index.json";
constexpr std::size_t kMaxNamed = 10;

bool is_floating(TensorType type) {
  using enum TensorType;
  return type == f32 || type == bf16 || type == f16 || type == f64;
}

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

}  // namespace

WeightSet::WeightSet(const fs::path& path) : path_(path) {
  std::error_code ignored;
  const bool folder = fs::is_directory(path, ignored);
  const fs::path file = !folder ? path : is_there(path / kIndex) ? path / kIndex : path / kOneFile;
  if (folder && !is_there(file))
    throw Error(ErrorKind::environment,
                fmt::format("there is neither {} nor {} in this folder", kOneFile, kIndex),
                path.string(), "give a folder with safetensors files");
  if (file.extension() == ".json")
    read_index(file);
  else
    add(file);
}

void WeightSet::add(const fs::path& path) {
  files_.push_back(std::make_unique<SafetensorsFile>(path));
  const SafetensorsFile& file = *files_.back();
  for (const SafetensorsFile::Tensor& tensor : file.tensors()) {
    const auto [it, added] = entries_.try_emplace(tensor.info.name, Entry{&file, &tensor});
    if (!added)
      throw Error(ErrorKind::environment,
                  fmt::format("the tensor '{}' is in {}, too", printable(tensor.info.name),
                              it->second.file->path().filename().string()),
                  path.string(), "remove the file that does not belong to the others");
  }
}

void WeightSet::read_index(const fs::path& index) {
  const auto wrong = [&](const std::string& what) {
    throw Error(ErrorKind::environment, what, index.string(), "copy the model's files again");
  };
  const nlohmann::json json = [&] {
    try {
      return nlohmann::json::parse(read_plain_file(index));
    } catch (const nlohmann::json::exception&) {
      throw Error(ErrorKind::environment, "it is not JSON", index.string(),
                  "copy the model's files again");
    }
  }();
  const auto map = json.is_object() ? json.find("weight_map") : json.end();
  if (map == json.end() || !map->is_object() || map->empty()) wrong("it has no 'weight_map'");
  std::map<std::string, std::vector<std::string>> tensors;  // by file
  for (const auto& [name, file] : map->items()) {
    if (!file.is_string()) wrong(fmt::format("the file of '{}' is not text", printable(name)));
    tensors[file.get<std::string>()].push_back(name);
  }
  for (const auto& [file, names] : tensors) {
    if (file.empty() || fs::path(file).filename() != file || file == "..")
      wrong(fmt::format("'{}' is not the name of a file in its folder", printable(file)));
    add(index.parent_path() / file);
    const SafetensorsFile* const added = files_.back().get();
    for (const std::string& name : names)
      if (const auto it = entries_.find(name); it == entries_.end() || it->second.file != added)
        wrong(fmt::format("the tensor '{}' is not in {}", printable(name), file));
    if (names.size() != added->tensors().size())
      for (const SafetensorsFile::Tensor& tensor : added->tensors())
        if (!map->contains(tensor.info.name))
          wrong(fmt::format("it does not name the tensor '{}' of {}", printable(tensor.info.name),
                            file));
  }
}

std::int64_t WeightSet::bytes() const noexcept {
  std::int64_t sum = 0;
  for (const auto& [name, entry] : entries_) sum += entry.tensor->end - entry.tensor->begin;
  return sum;
}

std::uint32_t WeightSet::checksum() const {
  constexpr std::size_t kSampled = 4096;  // bytes per tensor, from its middle
  std::string text;
  for (const auto& [name, entry] : entries_) {
    const auto data = entry.data();
    const std::size_t size = std::min(kSampled, data.size());
    const auto sample = std::as_bytes(data.subspan((data.size() - size) / 2, size));
    text +=
        fmt::format("{} {} {} {}\n", name, to_text(entry.info().type), entry.info().shape_text(),
                    crc32c({reinterpret_cast<const std::uint8_t*>(sample.data()), size}));
  }
  return crc32c({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
}

void WeightSet::require(std::span<const TensorInfo> expected,
                        const std::function<bool(const std::string&)>& ignored) const {
  std::vector<std::string> differences;
  std::map<std::string, bool> known;
  for (const TensorInfo& wanted : expected) {
    known[wanted.name] = true;
    const auto it = entries_.find(wanted.name);
    if (it == entries_.end()) {
      differences.push_back(fmt::format("{} is missing", wanted.name));
      continue;
    }
    const TensorInfo& found = it->second.info();
    if (found.shape != wanted.shape)
      differences.push_back(
          fmt::format("{} is {}, not {}", wanted.name, found.shape_text(), wanted.shape_text()));
    else if (!is_floating(found.type))
      differences.push_back(fmt::format("{} is of type {}, not F32, BF16, F16 or F64", wanted.name,
                                        to_text(found.type)));
  }
  for (const auto& [name, entry] : entries_)
    if (!known.contains(name) && !(ignored && ignored(name)))
      differences.push_back(fmt::format("{} is not of this model", printable(name)));
  if (differences.empty()) return;
  const std::size_t count = differences.size();
  if (count > kMaxNamed) {
    differences.resize(kMaxNamed);
    differences.push_back(fmt::format("and {} more", count - kMaxNamed));
  }
  throw Error(ErrorKind::environment,
              "these weights do not fit the model:\n  " + join(differences, "\n  "), path_.string(),
              "give the weights of this model, or the model of these weights");
}

void write_weights(const fs::path& folder, std::span<const TensorInfo> tensors,
                   const TensorBytes& bytes, std::int64_t shard_bytes, bool replace) {
  make_directories(folder);
  std::vector<fs::path> old;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("model") && (name.ends_with(".safetensors") || name == kIndex))
      old.push_back(entry.path());
  }
  if (!old.empty() && !replace)
    throw Error(ErrorKind::usage, "there are weights already", old.front().string(),
                "give another folder, or --force to replace them");
  std::vector<std::pair<std::size_t, std::size_t>> shards;  // each of tensors first…last-1
  std::int64_t in_shard = 0;
  std::int64_t total = 0;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const std::int64_t size = tensors[i].bytes();
    total += size;
    if (shards.empty() || (in_shard > 0 && in_shard + size > shard_bytes)) {
      shards.emplace_back(i, i);
      in_shard = 0;
    }
    in_shard += size;
    shards.back().second = i + 1;
  }
  if (shards.empty()) shards.emplace_back(0, 0);
  // Without an index, the old files are no longer a model; none of them is left among the new ones.
  for (const fs::path& path : old) fs::remove(path);
  Json map = Json::object();
  for (std::size_t s = 0; s < shards.size(); ++s) {
    const auto [first, last] = shards[s];
    const std::string name =
        shards.size() == 1 ? kOneFile
                           : fmt::format("model-{:05}-of-{:05}.safetensors", s + 1, shards.size());
    write_safetensors(folder / name, tensors.subspan(first, last - first), {{"format", "pt"}},
                      [&, first = first](std::size_t i) { return bytes(first + i); });
    for (std::size_t i = first; i < last; ++i) map[tensors[i].name] = name;
  }
  if (shards.size() > 1)
    write_file_atomic(folder / kIndex,
                      dump_pretty({{"metadata", {{"total_size", total}}}, {"weight_map", map}}));
}

}  // namespace assay::train::weights
