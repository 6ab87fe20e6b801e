#include "train/data/mnist.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "core/error.h"
#include "train/data/memory_images.h"
#include "train/data/set_files.h"
#include "train/data/statistics.h"

namespace assay::train::data {

namespace {

constexpr std::size_t most_bytes = std::size_t{1} << 36;
constexpr const char* kMnistAdvice =
    "give the folder that has train-images-idx3-ubyte and its siblings";

MemoryImages read_split(const std::filesystem::path& folder, const std::string& split) {
  const std::filesystem::path images_path = folder / (split + "-images-idx3-ubyte");
  const std::filesystem::path labels_path = folder / (split + "-labels-idx1-ubyte");
  const std::string images_file = read_set_file(images_path, kMnistAdvice);
  const std::string labels_file = read_set_file(labels_path, kMnistAdvice);
  const IdxArray images = parse_idx(as_bytes_view(images_file), 3, images_path.string());
  const IdxArray labels = parse_idx(as_bytes_view(labels_file), 1, labels_path.string());
  if (images.sizes[0] != labels.sizes[0])
    throw Error(ErrorKind::environment,
                fmt::format("{} labels for {} images", labels.sizes[0], images.sizes[0]),
                labels_path.string(), "the two files are not of the same set");
  return {{images.sizes[1], images.sizes[2], 1},
          {images.data.begin(), images.data.end()},
          {labels.data.begin(), labels.data.end()}};
}

std::int64_t highest(const MemoryImages& images) {
  return *std::max_element(images.labels.begin(), images.labels.end());
}

}  // namespace

IdxArray parse_idx(std::span<const std::uint8_t> file, std::size_t dimensions,
                   const std::string& where) {
  const auto wrong = [&](std::string what) {
    throw Error(ErrorKind::environment, std::move(what), where,
                "the file is cut off or of another kind; download it again");
  };
  const std::size_t header = 4 + 4 * dimensions;
  if (file.size() < header)
    wrong(fmt::format("{} bytes are too few for an idx header of {}", file.size(), header));
  if (file[0] != 0 || file[1] != 0 || file[2] != 8 || file[3] != dimensions)
    wrong(fmt::format(
        "the file begins with {:02x}{:02x}{:02x}{:02x}, not 000008{:02x} as an idx "
        "file of bytes with {} dimension{} does",
        file[0], file[1], file[2], file[3], dimensions, dimensions, dimensions == 1 ? "" : "s"));
  IdxArray array;
  std::size_t total = 1;
  for (std::size_t d = 0; d < dimensions; ++d) {
    const std::uint8_t* const bytes = file.data() + 4 + 4 * d;
    const std::size_t size = std::size_t{bytes[0]} << 24 | std::size_t{bytes[1]} << 16 |
                             std::size_t{bytes[2]} << 8 | std::size_t{bytes[3]};
    // Checked at every step, so that the product cannot overflow.
    if (size == 0 || size > most_bytes / total)
      wrong(fmt::format("the header's dimension {} is {}", d, size));
    total *= size;
    array.sizes.push_back(static_cast<std::int64_t>(size));
  }
  if (file.size() - header != total)
    wrong(fmt::format("the header promises {} bytes of data, there are {}", total,
                      file.size() - header));
  array.data = file.subspan(header);
  return array;
}

ImageSet open_mnist(const ImageSetOptions& options) {
  const std::filesystem::path folder = find_set_folder(
      options.path, "mnist", {"", "MNIST/raw", "raw"}, "train-images-idx3-ubyte", kMnistAdvice);
  MemoryImages train = read_split(folder, "train");
  MemoryImages eval = read_split(folder, "t10k");
  if (train.shape != eval.shape)
    throw Error(
        ErrorKind::environment,
        fmt::format("training images are {}×{}, evaluation images {}×{}", train.shape.height,
                    train.shape.width, eval.shape.height, eval.shape.width),
        folder.string());
  const std::int64_t classes = highest(train) + 1;
  require_classes(options, classes, folder.string());
  if (highest(eval) >= classes)
    throw Error(ErrorKind::environment,
                fmt::format("an evaluation label is {}, but training has 0 to {}", highest(eval),
                            classes - 1),
                folder.string(), "the files are damaged or not of the same set");
  ImageSet set;
  set.info = {"mnist",
              classes,
              train.shape.height,
              train.shape.width,
              1,
              {},
              {},
              static_cast<std::int64_t>(train.labels.size()),
              static_cast<std::int64_t>(eval.labels.size()),
              {}};
  const ShiftAndFlip augmentation{options.augment ? 2 : 0, false};
  const std::shared_ptr<const ImageSource> plain = memory_source(train, {});
  measure_channels(*plain, plain->size(), set.info.mean, set.info.std);
  set.train = memory_source(std::move(train), augmentation);
  set.eval = memory_source(std::move(eval), {});
  return set;
}

}  // namespace assay::train::data
