#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "train/weights/safetensors.h"

namespace assay::train::weights {

/// A model's tensors: one safetensors file, or several with model.safetensors.index.json.
class WeightSet {
 public:
  struct Entry {
    const SafetensorsFile* file = nullptr;
    const SafetensorsFile::Tensor* tensor = nullptr;

    [[nodiscard]] const TensorInfo& info() const noexcept { return tensor->info; }
    [[nodiscard]] std::span<const std::byte> data() const noexcept { return file->data(*tensor); }
  };

  /// `path` is a file, an index, or a folder with model.safetensors.index.json or
  /// model.safetensors. Throws Error of kind environment with the place: as SafetensorsFile; an
  /// index that names a missing file or one outside its folder, a tensor missing from its file, a
  /// tensor in several files or absent from the index.
  explicit WeightSet(const std::filesystem::path& path);

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
  [[nodiscard]] const std::map<std::string, Entry>& entries() const noexcept { return entries_; }
  /// Total size of the tensors.
  [[nodiscard]] std::int64_t bytes() const noexcept;
  /// Covers names, types, shapes and some bytes of each tensor: other weights of the same model
  /// have a different one, and no tensor is read completely.
  [[nodiscard]] std::uint32_t checksum() const;

  /// Throws Error of kind environment that names each difference from a model's expectation (names
  /// and shapes; any floating-point type is accepted): missing tensors, unknown ones, other shapes.
  /// Lists the first ten, and the number of further ones. Unknown ones for which `ignored` is true
  /// do not count.
  void require(std::span<const TensorInfo> expected,
               const std::function<bool(const std::string&)>& ignored = {}) const;

 private:
  void add(const std::filesystem::path& file);
  void read_index(const std::filesystem::path& index);

  std::filesystem::path path_;
  std::vector<std::unique_ptr<SafetensorsFile>> files_;
  std::map<std::string, Entry> entries_;
};

/// Writes `tensors` to `folder`: model.safetensors, or, if they exceed `shard_bytes`,
/// model-00001-of-0000N.safetensors … and their index, which is written last. Tensors are never
/// divided. Throws Error of kind usage if weights exist and must not be replaced; otherwise like
/// write_safetensors.
void write_weights(const std::filesystem::path& folder, std::span<const TensorInfo> tensors,
                   const TensorBytes& bytes, std::int64_t shard_bytes, bool replace);

}  // namespace assay::train::weights
