#include "train/data/image_folder.h"

#include <algorithm>
#include <filesystem>
#include <iterator>

#include <fmt/format.h>

#include "core/error.h"
#include "core/text.h"
#include "train/data/jpeg_source.h"
#include "train/data/read_at.h"
#include "train/data/set_files.h"
#include "train/tokens/folder_files.h"

namespace assay::train::data {

namespace fs = std::filesystem;

namespace {

// Stores millions of names as one string with the beginning of each.
struct FileList {
  std::string names;                  // relative to the split's folder
  std::vector<std::uint64_t> begins;  // one more than files
  std::vector<std::int32_t> labels;
  [[nodiscard]] std::string_view name(std::int64_t i) const {
    return std::string_view(names).substr(begins[i], begins[i + 1] - begins[i]);
  }
};

class FolderSource final : public JpegSource {
 public:
  FolderSource(std::string root, FileList files, const ImageSetOptions& options, bool train)
      : JpegSource(static_cast<std::int64_t>(files.labels.size()), options.image_size,
                   train && options.augment, options.max_damaged),
        root_(std::move(root)),
        files_(std::move(files)) {}

 protected:
  [[nodiscard]] Encoded load(std::int64_t index, Scratch& scratch) const override {
    scratch.path.assign(root_).append("/").append(files_.name(index));
    read_whole(scratch.path, scratch.bytes);
    return {scratch.bytes, files_.labels[index], {}};
  }
  [[nodiscard]] std::string name(std::int64_t index) const override {
    return fmt::format("{}/{}", root_, files_.name(index));
  }

 private:
  std::string root_;
  FileList files_;
};

bool is_jpeg(const fs::path& path) {
  const std::string extension = to_lower(path.extension().string());
  return extension == ".jpg" || extension == ".jpeg";
}

std::vector<std::string> class_names(const fs::path& folder) {
  std::error_code error;
  std::vector<std::string> names;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    if (it->is_directory(error) && !it->path().filename().string().starts_with('.'))
      names.push_back(it->path().filename().string());
  if (error)
    throw system_error(ErrorKind::environment, "cannot list the folder", folder.string(),
                       error.value());
  if (names.empty())
    throw Error(ErrorKind::environment, "there are no class folders in this folder",
                folder.string(), "there must be one folder of JPEG files for every class");
  std::sort(names.begin(), names.end());
  return names;
}

FileList list_files(const fs::path& folder, const std::vector<std::string>& classes,
                    const Progress& progress, std::int64_t done, std::int64_t total) {
  FileList list;
  list.begins.push_back(0);
  std::vector<std::string> files;
  for (std::size_t label = 0; label < classes.size(); ++label) {
    const fs::path class_folder = folder / classes[label];
    files.clear();
    tokens::each_file_below(class_folder, is_jpeg, [&](const fs::path& path) {
      files.push_back(path.string().substr(folder.string().size() + 1));
    });
    if (files.empty())
      throw Error(ErrorKind::environment, "there are no JPEG files in this class's folder",
                  class_folder.string(),
                  "only .jpg and .jpeg are read; remove the folder if the "
                  "class is not meant to be there");
    std::sort(files.begin(), files.end());
    for (const std::string& file : files) {
      list.names += file;
      list.begins.push_back(list.names.size());
      list.labels.push_back(static_cast<std::int32_t>(label));
    }
    if (progress) progress(done + static_cast<std::int64_t>(label) + 1, total);
  }
  return list;
}

void require_same_classes(const std::vector<std::string>& train,
                          const std::vector<std::string>& eval, const fs::path& eval_folder) {
  if (train == eval) return;
  std::vector<std::string> missing;
  std::vector<std::string> extra;
  std::set_difference(train.begin(), train.end(), eval.begin(), eval.end(),
                      std::back_inserter(missing));
  std::set_difference(eval.begin(), eval.end(), train.begin(), train.end(),
                      std::back_inserter(extra));
  std::string what =
      fmt::format("there are {} classes here, but {} for training", eval.size(), train.size());
  if (!missing.empty()) what += fmt::format("; missing: {}", printable(missing.front()));
  if (!extra.empty()) what += fmt::format("; unknown: {}", printable(extra.front()));
  throw Error(ErrorKind::environment, what, eval_folder.string(),
              "train/ and val/ must have the same class folders; ImageNet's validation files must "
              "be sorted into them first");
}

}  // namespace

void set_imagenet_statistics(ImageSetInfo& info) {
  info.mean = {0.485F, 0.456F, 0.406F};
  info.std = {0.229F, 0.224F, 0.225F};
}

ImageSet open_image_folder(const ImageSetOptions& options) {
  check_jpeg_options(options.image_size, options.max_damaged);
  require_folder(options.path, "folder");
  const fs::path train_folder = options.path / "train";
  const fs::path eval_folder = options.path / "val";
  require_folder(train_folder, "folder");
  require_folder(eval_folder, "folder");
  const std::vector<std::string> classes = class_names(train_folder);
  require_classes(options, static_cast<std::int64_t>(classes.size()), train_folder.string());
  require_same_classes(classes, class_names(eval_folder), eval_folder);

  const auto count = static_cast<std::int64_t>(classes.size());
  FileList train = list_files(train_folder, classes, options.progress, 0, 2 * count);
  FileList eval = list_files(eval_folder, classes, options.progress, count, 2 * count);
  ImageSet set;
  set.info = {"folder",
              count,
              options.image_size,
              options.image_size,
              3,
              {},
              {},
              static_cast<std::int64_t>(train.labels.size()),
              static_cast<std::int64_t>(eval.labels.size()),
              {}};
  set_imagenet_statistics(set.info);
  set.train =
      std::make_shared<const FolderSource>(train_folder.string(), std::move(train), options, true);
  set.eval =
      std::make_shared<const FolderSource>(eval_folder.string(), std::move(eval), options, false);
  return set;
}

}  // namespace assay::train::data
