#include "train/data/image_set.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/text.h"
#include "train/data/cifar.h"
#include "train/data/glyphs.h"
#include "train/data/image_folder.h"
#include "train/data/mnist.h"
#include "train/data/tfrecord.h"

namespace assay::train::data {

const std::vector<std::string>& image_set_names() {
  static const std::vector<std::string> names{"glyphs", "cifar10", "mnist", "folder", "tfrecord"};
  return names;
}

ImageSet open_image_set(const ImageSetOptions& options) {
  if (options.set == "glyphs") return open_glyphs(options);
  if (options.set == "cifar10") return open_cifar10(options);
  if (options.set == "mnist") return open_mnist(options);
  if (options.set == "folder" || options.set == "tfrecord") {
#if defined(ASSAY_TRAIN_JPEG)
    return options.set == "folder" ? open_image_folder(options) : open_tfrecord(options);
#else
    throw Error(ErrorKind::environment, "this assay-train was built without libjpeg-turbo",
                "data set " + options.set, "install libjpeg-dev and build it again");
#endif
  }
  throw Error(ErrorKind::config,
              fmt::format("unknown image set '{}'{}", printable(options.set),
                          did_you_mean(options.set, image_set_names())),
              "data set", "known sets: " + join(image_set_names(), ", "));
}

}  // namespace assay::train::data
