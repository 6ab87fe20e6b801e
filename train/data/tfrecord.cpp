#include "train/data/tfrecord.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/crc32c.h"
#include "core/error.h"
#include "core/files.h"
#include "train/data/image_folder.h"
#include "train/data/jpeg_source.h"
#include "train/data/read_at.h"
#include "train/data/set_files.h"
#include "train/data/tf_example.h"

namespace assay::train::data {

namespace fs = std::filesystem;

namespace {

// A record: length (8 bytes), its masked CRC (4), data, the data's masked CRC (4).
constexpr std::int64_t header_size = 12;
constexpr std::int64_t trailer_size = 4;

std::uint32_t little_endian(const std::uint8_t* bytes) {
  std::uint32_t value = 0;
  std::memcpy(&value, bytes, 4);
  return value;
}

struct Place {
  std::int32_t file = 0;
  std::int64_t number = 0;  // of the record in the file
  RecordPlace record;
};

class RecordSource final : public JpegSource {
 public:
  RecordSource(std::vector<std::string> files, std::vector<Place> places,
               const ImageSetOptions& options, std::int64_t classes, bool train)
      : JpegSource(static_cast<std::int64_t>(places.size()), options.image_size,
                   train && options.augment, options.max_damaged),
        files_(std::move(files)),
        places_(std::move(places)),
        classes_(classes),
        label_base_(options.label_base) {}

 protected:
  [[nodiscard]] Encoded load(std::int64_t index, Scratch& scratch) const override {
    std::vector<std::uint8_t>& bytes = scratch.bytes;
    const Place& place = places_[index];
    const std::int64_t size = place.record.size;
    read_at(files_[place.file], place.record.offset, size + trailer_size, bytes);
    const std::span<const std::uint8_t> data(bytes.data(), static_cast<std::size_t>(size));
    if (little_endian(bytes.data() + size) != masked_crc32c(crc32c(data)))
      return {{}, 0, "its checksum is wrong"};
    ImageExample example;
    Encoded encoded;
    if (!parse_image_example(data, example, encoded.damage)) return encoded;
    if (example.encoded.empty() || !example.label.has_value())
      throw Error(ErrorKind::environment,
                  fmt::format("the record has no {}",
                              example.encoded.empty() ? "image/encoded" : "image/class/label"),
                  name(index), "the files must have ImageNet's keys");
    // Unsigned, so that no label can overflow.
    const std::uint64_t label =
        static_cast<std::uint64_t>(*example.label) - static_cast<std::uint64_t>(label_base_);
    if (label >= static_cast<std::uint64_t>(classes_))
      throw Error(ErrorKind::environment,
                  fmt::format("the label {} is not one of {} to {}", *example.label, label_base_,
                              label_base_ + classes_ - 1),
                  name(index), "set 'classes', and 'label_base' to the label of the first one");
    encoded.jpeg = example.encoded;
    encoded.label = static_cast<std::int64_t>(label);
    return encoded;
  }
  [[nodiscard]] std::string name(std::int64_t index) const override {
    const Place& place = places_[index];
    return fmt::format("{}:record {}", files_[place.file], place.number);
  }

 private:
  std::vector<std::string> files_;
  std::vector<Place> places_;
  std::int64_t classes_;
  std::int64_t label_base_;
};

std::vector<std::string> files_in(const fs::path& folder, const std::string& prefix) {
  std::vector<std::string> files;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (name.starts_with(prefix) && !name.starts_with('.') && it->is_regular_file(error))
      files.push_back(it->path().string());
  }
  if (error)
    throw system_error(ErrorKind::environment, "cannot list the folder", folder.string(),
                       error.value());
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<std::string> split_files(const fs::path& folder,
                                     std::initializer_list<const char*> names) {
  std::error_code ignored;
  std::vector<std::string> files;
  for (const char* name : names) {
    files = fs::is_directory(folder / name, ignored) ? files_in(folder / name, "")
                                                     : files_in(folder, name);
    if (!files.empty()) return files;
  }
  throw Error(ErrorKind::environment,
              fmt::format("there are no files that begin with {} here", *names.begin()),
              folder.string(),
              "give the folder of train-00000-of-01024 … and validation-00000-of-00128 …");
}

std::int64_t bytes_of(const std::vector<std::string>& files) {
  std::int64_t total = 0;
  for (const std::string& file : files) {
    std::error_code error;
    total += static_cast<std::int64_t>(fs::file_size(file, error));
    if (error)
      throw system_error(ErrorKind::environment, "cannot read the file", file, error.value());
  }
  return total;
}

std::vector<Place> index_files(const std::vector<std::string>& files, const Progress& progress,
                               std::int64_t& done, std::int64_t total) {
  std::vector<Place> places;
  for (std::size_t f = 0; f < files.size(); ++f) {
    std::int64_t number = 0;
    for (const RecordPlace& record : index_tfrecord(files[f]))
      places.push_back({static_cast<std::int32_t>(f), number++, record});
    done += bytes_of({files[f]});
    if (progress) progress(done, total);
  }
  if (places.empty())
    throw Error(ErrorKind::environment, "there are no records in this file and its siblings",
                files.front());
  return places;
}

}  // namespace

std::vector<RecordPlace> index_tfrecord(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status {};
  if (!fd || ::fstat(fd.get(), &status) != 0)
    throw system_error(ErrorKind::environment, "cannot read the file", path, errno);
  // One small read per record; read-ahead would fetch the data too.
  static_cast<void>(::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_RANDOM));
  const auto wrong = [&](std::int64_t offset, std::string what) {
    throw Error(ErrorKind::environment,
                fmt::format("at byte {} of {}: {}", offset, status.st_size, what), path,
                "the file is cut off, damaged, compressed, or no TFRecord file");
  };
  std::vector<RecordPlace> records;
  std::int64_t at = 0;
  while (at < status.st_size) {
    std::uint8_t header[header_size];
    ssize_t got = 0;
    do {
      got = ::pread(fd.get(), header, header_size, at);
    } while (got < 0 && errno == EINTR);
    if (got < 0) throw system_error(ErrorKind::environment, "cannot read the file", path, errno);
    if (got < header_size) wrong(at, "the file ends within a record's header");
    if (little_endian(header + 8) != masked_crc32c(crc32c({header, 8})))
      wrong(at, "the checksum of a record's length is wrong");
    std::uint64_t size = 0;
    std::memcpy(&size, header, 8);
    const auto left = static_cast<std::uint64_t>(status.st_size - at - header_size);
    if (left < trailer_size || size > left - trailer_size)
      wrong(at, fmt::format("a record of {} bytes goes beyond the end of the file", size));
    records.push_back({at + header_size, static_cast<std::int64_t>(size)});
    at += header_size + static_cast<std::int64_t>(size) + trailer_size;
  }
  return records;
}

ImageSet open_tfrecord(const ImageSetOptions& options) {
  check_jpeg_options(options.image_size, options.max_damaged);
  if (options.classes < 0)
    throw Error(ErrorKind::config, fmt::format("{} classes", options.classes), "data set");
  require_folder(options.path, "tfrecord");
  const std::int64_t classes = options.classes == 0 ? 1000 : options.classes;
  std::vector<std::string> train_files = split_files(options.path, {"train", "train_tfrecord"});
  std::vector<std::string> eval_files =
      split_files(options.path, {"validation", "val", "validation_tfrecord", "val_tfrecord"});
  const std::int64_t total = bytes_of(train_files) + bytes_of(eval_files);
  std::int64_t done = 0;
  std::vector<Place> train = index_files(train_files, options.progress, done, total);
  std::vector<Place> eval = index_files(eval_files, options.progress, done, total);
  ImageSet set;
  set.info = {"tfrecord",
              classes,
              options.image_size,
              options.image_size,
              3,
              {},
              {},
              static_cast<std::int64_t>(train.size()),
              static_cast<std::int64_t>(eval.size()),
              {}};
  set_imagenet_statistics(set.info);
  set.train = std::make_shared<const RecordSource>(std::move(train_files), std::move(train),
                                                   options, classes, true);
  set.eval = std::make_shared<const RecordSource>(std::move(eval_files), std::move(eval), options,
                                                  classes, false);
  return set;
}

}  // namespace assay::train::data
