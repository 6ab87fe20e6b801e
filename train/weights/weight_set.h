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

/// The tensors of a model: one safetensors file, or several with model.safetensors.index.json.
class WeightSet {
 public:
  struct Entry {
    const SafetensorsFile* file = nullptr;
    const SafetensorsFile::Tensor* tensor = nullptr;

    [[nodiscard]] const TensorInfo& info() const noexcept { return tensor->info; }
    [[nodiscard]] std::span<const std::byte> data() const noexcept { return file->data(*tensor); }
  };

  /// `path` is a file, an index, or a folder that has model.safetensors.index.json or
  /// model.safetensors. Throws Error of kind environment with the place: as SafetensorsFile; an
  /// index that names a file outside of its folder or one that is not there, a tensor that its file
  /// does not have, a tensor in several files, one that the index does not name.
  explicit WeightSet(const std::filesystem::path& path);

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
  [[nodiscard]] const std::map<std::string, Entry>& entries() const noexcept { return entries_; }
  /// Of all tensors.
  [[nodiscard]] std::int64_t bytes() const noexcept;
  /// Of names, types, shapes and some bytes of each tensor: other weights of the same model have
  /// another one, and nothing is read whole for it.
  [[nodiscard]] std::uint32_t checksum() const;

  /// Throws Error of kind environment that names each difference from what a model expects (names
  /// and shapes; the types are the file's matter, but must be floating-point): missing, unknown, of
  /// another shape. The first ten, and how many more there are. Unknown ones for which `ignored`
  /// is true are no difference.
  void require(std::span<const TensorInfo> expected,
               const std::function<bool(const std::string&)>& ignored = {}) const;

 private:
  void add(const std::filesystem::path& file);
  void read_index(const std::filesystem::path& index);

  std::filesystem::path path_;
  std::vector<std::unique_ptr<SafetensorsFile>> files_;
  std::map<std::string, Entry> entries_;
};

/// Writes `tensors` into `folder`: model.safetensors, or, when they are more than `shard_bytes`,
/// model-00001-of-0000N.safetensors … and their index, which is written last. A tensor is never
/// cut. Throws Error of kind usage when weights are there already and not to be replaced; then as
/// write_safetensors.
void write_weights(const std::filesystem::path& folder, std::span<const TensorInfo> tensors,
                   const TensorBytes& bytes, std::int64_t shard_bytes, bool replace);

}  // namespace assay::train::weights
