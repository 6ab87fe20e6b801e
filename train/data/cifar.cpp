#include "train/data/cifar.h"

#include <fmt/format.h>

#include "core/error.h"
#include "train/data/set_files.h"

namespace assay::train::data {

namespace {

constexpr std::int64_t cifar_side = 32;
constexpr std::size_t plane = cifar_side * cifar_side;
constexpr std::size_t cifar_record = 1 + 3 * plane;
constexpr std::int64_t cifar_classes = 10;

void read_into(const std::filesystem::path& path, MemoryImages& images) {
  const std::string file = read_set_file(
      path,
      "this is not CIFAR-10's binary version: unpack cifar-10-binary.tar.gz (not the Python "
      "version) and give its folder");
  append_cifar10(as_bytes_view(file), path.string(), images);
}

}  // namespace

void append_cifar10(std::span<const std::uint8_t> file, const std::string& where,
                    MemoryImages& images) {
  if (file.empty() || file.size() % cifar_record != 0)
    throw Error(ErrorKind::environment,
                fmt::format("{} bytes is not a whole number of CIFAR-10 records of {} bytes",
                            file.size(), cifar_record),
                where,
                "the file is cut off or of another kind; unpack cifar-10-binary.tar.gz again");
  const std::size_t count = file.size() / cifar_record;
  images.shape = {cifar_side, cifar_side, 3};
  images.pixels.reserve(images.pixels.size() + count * 3 * plane);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint8_t* const bytes = file.data() + i * cifar_record;
    if (bytes[0] >= cifar_classes)
      throw Error(ErrorKind::environment,
                  fmt::format("record {} has the label {}; CIFAR-10 has 0 to 9", i, bytes[0]),
                  where, "the file is damaged or of another kind (CIFAR-100?)");
    images.labels.push_back(bytes[0]);
    const std::uint8_t* const red = bytes + 1;
    for (std::size_t p = 0; p < plane; ++p)
      images.pixels.insert(images.pixels.end(), {red[p], red[plane + p], red[2 * plane + p]});
  }
}

ImageSet open_cifar10(const ImageSetOptions& options) {
  require_classes(options, cifar_classes, "cifar10");
  const std::filesystem::path folder = find_set_folder(
      options.path, "cifar10", {"", "cifar-10-batches-bin"}, "data_batch_1.bin",
      "unpack cifar-10-binary.tar.gz and give the folder that has data_batch_1.bin");
  MemoryImages train;
  for (int i = 1; i <= 5; ++i) read_into(folder / fmt::format("data_batch_{}.bin", i), train);
  MemoryImages eval;
  read_into(folder / "test_batch.bin", eval);
  ImageSet set;
  set.info = {"cifar10",
              cifar_classes,
              cifar_side,
              cifar_side,
              3,
              {0.4914F, 0.4822F, 0.4465F},
              {0.2470F, 0.2435F, 0.2616F},
              static_cast<std::int64_t>(train.labels.size()),
              static_cast<std::int64_t>(eval.labels.size()),
              {}};
  set.train =
      memory_source(std::move(train), options.augment ? ShiftAndFlip{4, true} : ShiftAndFlip{});
  set.eval = memory_source(std::move(eval), {});
  return set;
}

}  // namespace assay::train::data
