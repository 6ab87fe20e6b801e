#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/enum_names.h"
#include "core/mapped_file.h"

namespace assay::train::weights {

enum class TensorType : std::uint8_t {
  boolean,
  u8,
  i8,
  f8_e4m3,
  f8_e5m2,
  u16,
  i16,
  f16,
  bf16,
  u32,
  i32,
  f32,
  u64,
  i64,
  f64,
};

constexpr auto enum_names(TensorType) {
  using enum TensorType;
  return std::to_array<EnumName<TensorType>>({{boolean, "BOOL"},
                                              {u8, "U8"},
                                              {i8, "I8"},
                                              {f8_e4m3, "F8_E4M3"},
                                              {f8_e5m2, "F8_E5M2"},
                                              {u16, "U16"},
                                              {i16, "I16"},
                                              {f16, "F16"},
                                              {bf16, "BF16"},
                                              {u32, "U32"},
                                              {i32, "I32"},
                                              {f32, "F32"},
                                              {u64, "U64"},
                                              {i64, "I64"},
                                              {f64, "F64"}});
}

/// The size of one element.
[[nodiscard]] std::int64_t bytes_of(TensorType type) noexcept;

/// A tensor's name, type and shape.
struct TensorInfo {
  std::string name;
  TensorType type = TensorType::f32;
  std::vector<std::int64_t> shape;

  /// Throws Error of kind environment if it does not fit into 63 bits.
  [[nodiscard]] std::int64_t bytes() const;
  /// "[2, 3]"
  [[nodiscard]] std::string shape_text() const;
};

/// A safetensors file, mapped and verified: 8 bytes with the header's length, the header (JSON:
/// each tensor's type, shape and place, and metadata), and the tensors' bytes.
class SafetensorsFile {
 public:
  struct Tensor {
    TensorInfo info;
    std::int64_t begin = 0;  ///< offset in the file, in bytes
    std::int64_t end = 0;
  };

  /// Throws Error of kind environment with the place: a header longer than the file or 100 MB,
  /// invalid JSON, a repeated tensor, an unknown type, a place that does not match its shape or is
  /// outside the file; overlapping tensors or gaps; missing or extra bytes.
  explicit SafetensorsFile(const std::filesystem::path& path);

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return file_.path(); }
  /// In the order of their bytes.
  [[nodiscard]] const std::vector<Tensor>& tensors() const noexcept { return tensors_; }
  [[nodiscard]] const std::map<std::string, std::string>& metadata() const noexcept {
    return metadata_;
  }
  /// Its bytes in the mapped file, unaligned.
  [[nodiscard]] std::span<const std::byte> data(const Tensor& tensor) const noexcept {
    return file_.bytes().subspan(static_cast<std::size_t>(tensor.begin),
                                 static_cast<std::size_t>(tensor.end - tensor.begin));
  }

 private:
  friend class SafetensorsHeader;
  MappedFile file_;
  std::vector<Tensor> tensors_;
  std::map<std::string, std::string> metadata_;
};

/// Returns the bytes of tensor i of a list, valid until the next call.
using TensorBytes = std::function<std::span<const std::byte>(std::size_t index)>;

/// Writes `tensors` under a temporary name, syncs and renames. The data begins at a multiple of 64
/// bytes. Throws Error of kind internal if the number of bytes does not match the shape or a name
/// is repeated, of kind environment if the file cannot be written.
void write_safetensors(const std::filesystem::path& path, std::span<const TensorInfo> tensors,
                       const std::map<std::string, std::string>& metadata,
                       const TensorBytes& bytes);

}  // namespace assay::train::weights
