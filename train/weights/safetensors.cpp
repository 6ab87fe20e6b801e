#include "train/weights/safetensors.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <set>

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "core/error.h"
#include "core/files.h"
#include "core/json.h"
#include "core/json_skim.h"
#include "core/text.h"

namespace assay::train::weights {

namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMaxHeader = 100'000'000;  // the limit of other readers, too
constexpr std::size_t kAlignment = 64;
constexpr std::size_t kMaxDimensions = 16;
constexpr std::size_t kMaxEntry = 4096;
constexpr std::string_view kMetadata = "__metadata__";

// A file that is removed again unless completed, because a truncated one (a full disk) is useless.
struct UnfinishedFile {
  fs::path path;

  explicit UnfinishedFile(fs::path file) : path(std::move(file)) {}
  UnfinishedFile(const UnfinishedFile&) = delete;
  UnfinishedFile& operator=(const UnfinishedFile&) = delete;
  ~UnfinishedFile() {
    if (!path.empty()) ::unlink(path.c_str());
  }
};

}  // namespace

std::int64_t bytes_of(TensorType type) noexcept {
  using enum TensorType;
  switch (type) {
    case boolean:
    case u8:
    case i8:
    case f8_e4m3:
    case f8_e5m2:
      return 1;
    case u16:
    case i16:
    case f16:
    case bf16:
      return 2;
    case u32:
    case i32:
    case f32:
      return 4;
    case u64:
    case i64:
    case f64:
      return 8;
  }
  return 0;
}

std::int64_t TensorInfo::bytes() const {
  std::int64_t size = bytes_of(type);
  for (const std::int64_t dimension : shape)
    if (dimension < 0 || __builtin_mul_overflow(size, dimension, &size))
      throw Error(ErrorKind::environment, "a shape of " + shape_text() + " is not possible",
                  printable(name));
  return size;
}

std::string TensorInfo::shape_text() const {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

/// Reads a file's header.
class SafetensorsHeader {
 public:
  explicit SafetensorsHeader(SafetensorsFile& file)
      : file_(file), where_(file.path().string()), text_(file.file_.text()) {}

  void read() {
    if (text_.size() < 8) wrong("it is too short to be a safetensors file");
    std::uint64_t length = 0;
    std::memcpy(&length, text_.data(), 8);
    if (length > kMaxHeader)
      wrong(fmt::format("its header would have {} bytes: it is not a safetensors file", length));
    if (length > text_.size() - 8)
      wrong(fmt::format("its header has {} bytes, the file {}: it is cut", length, text_.size()));
    const std::string_view header = text_.substr(8, length);
    if (!header.starts_with('{')) wrong("its header is not JSON: it is not a safetensors file");
    base_ = 8 + static_cast<std::int64_t>(length);
    each_json_member(header, where_,
                     [this](std::string_view key, std::string_view value) { add(key, value); });
    check_places();
  }

 private:
  [[noreturn]] void wrong(const std::string& what, const std::string& name = {}) const {
    throw Error(ErrorKind::environment, what,
                name.empty() ? where_ : where_ + ": " + ellipsize(printable(name), 120),
                "copy the file again");
  }

  void add(std::string_view key, std::string_view value) {
    std::string quoted;
    quoted.append("\"").append(key).append("\"");
    const std::string name = parse_json(quoted, where_).get<std::string>();
    if (!names_.insert(name).second) wrong("it is there twice", name);
    if (name == kMetadata) return add_metadata(value);
    if (value.size() > kMaxEntry) wrong("its entry is longer than any", name);
    const Json json = parse_json(value, where_ + ": " + ellipsize(printable(name), 120));
    if (!json.is_object()) wrong("expected an object", name);
    add_tensor(name, json);
  }

  void add_metadata(std::string_view members) {
    each_json_member(
        members, where_ + ": " + std::string(kMetadata),
        [this](std::string_view key, std::string_view value) {
          if (!value.starts_with('"'))
            wrong(fmt::format("'{}' is not text", printable(key)), std::string(kMetadata));
          file_.metadata_[std::string(key)] = parse_json(value, where_).get<std::string>();
        });
  }

  [[nodiscard]] std::int64_t size_at(const Json& value, const std::string& name,
                                     const char* what) const {
    if (!value.is_number_unsigned() ||
        value.get<std::uint64_t>() > std::uint64_t{std::numeric_limits<std::int64_t>::max()})
      wrong(fmt::format("'{}' should be whole numbers from 0 on", what), name);
    return value.get<std::int64_t>();
  }

  void add_tensor(const std::string& name, const Json& json) {
    for (const char* const key : {"dtype", "shape", "data_offsets"})
      if (!json.contains(key)) wrong(fmt::format("it has no '{}'", key), name);
    SafetensorsFile::Tensor tensor;
    tensor.info.name = name;
    const Json& dtype = json["dtype"];
    const auto type =
        dtype.is_string() ? parse_enum<TensorType>(dtype.get<std::string>()) : std::nullopt;
    if (!type)
      wrong(fmt::format("the type {} is not known", ellipsize(printable(dtype.dump()), 40)), name);
    tensor.info.type = *type;
    const Json& shape = json["shape"];
    if (!shape.is_array() || shape.size() > kMaxDimensions)
      wrong(fmt::format("'shape' should be a list of up to {} numbers", kMaxDimensions), name);
    for (const Json& dimension : shape)
      tensor.info.shape.push_back(size_at(dimension, name, "shape"));
    const Json& offsets = json["data_offsets"];
    if (!offsets.is_array() || offsets.size() != 2)
      wrong("'data_offsets' should be two numbers", name);
    tensor.begin = size_at(offsets[0], name, "data_offsets");
    tensor.end = size_at(offsets[1], name, "data_offsets");
    check_size(tensor);
    tensor.begin += base_;
    tensor.end += base_;
    file_.tensors_.push_back(std::move(tensor));
  }

  void check_size(const SafetensorsFile::Tensor& tensor) const {
    const std::string& name = tensor.info.name;
    const auto room = static_cast<std::int64_t>(text_.size()) - base_;
    if (tensor.begin > tensor.end)
      wrong(fmt::format("it begins at byte {} and ends at {}", tensor.begin, tensor.end), name);
    if (tensor.end > room)
      wrong(fmt::format("it ends at byte {} of the data, of which the file has {}: it is cut",
                        tensor.end, room),
            name);
    const std::int64_t bytes = [&] {
      try {
        return tensor.info.bytes();
      } catch (const Error& error) {
        wrong(error.message(), name);
      }
    }();
    if (bytes != tensor.end - tensor.begin)
      wrong(fmt::format("{} {} is {} bytes; its place has {}", to_text(tensor.info.type),
                        tensor.info.shape_text(), bytes, tensor.end - tensor.begin),
            name);
  }

  void check_places() {
    std::ranges::sort(file_.tensors_, [](const auto& a, const auto& b) {
      return std::tie(a.begin, a.end, a.info.name) < std::tie(b.begin, b.end, b.info.name);
    });
    std::int64_t end = base_;
    for (const SafetensorsFile::Tensor& tensor : file_.tensors_) {
      if (tensor.begin < end) wrong("it overlaps the one before it", tensor.info.name);
      if (tensor.begin > end)
        wrong(fmt::format("{} bytes before it belong to no tensor", tensor.begin - end),
              tensor.info.name);
      end = tensor.end;
    }
    if (const auto size = static_cast<std::int64_t>(text_.size()); end != size)
      wrong(fmt::format("{} bytes at its end belong to no tensor", size - end));
  }

  SafetensorsFile& file_;
  std::string where_;
  std::string_view text_;
  std::int64_t base_ = 0;  // offset of the data in the file
  std::set<std::string> names_;
};

SafetensorsFile::SafetensorsFile(const fs::path& path) : file_(path) {
  try {
    SafetensorsHeader(*this).read();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::config) throw;
    throw Error(ErrorKind::environment, "its header is not sound: " + error.message(),
                error.where(), "copy the file again");
  }
}

void write_safetensors(const fs::path& path, std::span<const TensorInfo> tensors,
                       const std::map<std::string, std::string>& metadata,
                       const TensorBytes& bytes) {
  const auto broken = [&](const std::string& what, const TensorInfo& info) {
    throw Error(ErrorKind::internal, what, path.string() + ": " + info.name);
  };
  std::string header = "{";
  const auto add = [&](std::string_view name, const Json& value) {
    header +=
        (header.size() > 1 ? "," : "") + dump_line(std::string(name)) + ":" + dump_line(value);
  };
  if (!metadata.empty()) add(kMetadata, Json(metadata));
  std::int64_t at = 0;
  std::set<std::string_view> names;
  for (const TensorInfo& info : tensors) {
    if (!names.insert(info.name).second) broken("a tensor twice", info);
    const std::int64_t end = at + info.bytes();
    add(info.name,
        {{"dtype", to_text(info.type)}, {"shape", info.shape}, {"data_offsets", {at, end}}});
    at = end;
  }
  header += "}";
  while ((8 + header.size()) % kAlignment != 0) header += ' ';
  const std::uint64_t length = header.size();
  const fs::path part = path.string() + ".part";
  const UniqueFd fd(::open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  const auto failed = [&](const fs::path& which) {
    throw system_error(ErrorKind::environment, "cannot write the file", which.string(), errno);
  };
  if (!fd) failed(part);
  UnfinishedFile unfinished{part};
  write_all(fd.get(), {reinterpret_cast<const char*>(&length), 8}, part);
  write_all(fd.get(), header, part);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const std::span<const std::byte> data = bytes(i);
    if (static_cast<std::int64_t>(data.size()) != tensors[i].bytes())
      broken(fmt::format("{} bytes for {}", data.size(), tensors[i].shape_text()), tensors[i]);
    write_all(fd.get(), {reinterpret_cast<const char*>(data.data()), data.size()}, part);
  }
  if (::fsync(fd.get()) != 0) failed(part);
  if (::rename(part.c_str(), path.c_str()) != 0) failed(path);
  unfinished.path.clear();
}

}  // namespace assay::train::weights
