#include "train/data/image_set.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/text.h"
#include "train/data/glyphs.h"

namespace assay::train::data {

const std::vector<std::string>& image_set_names() {
  static const std::vector<std::string> names{"glyphs"};
  return names;
}

ImageSet open_image_set(const ImageSetOptions& options) {
  if (options.set == "glyphs") return open_glyphs(options);
  throw Error(ErrorKind::config,
              fmt::format("unknown image set '{}'{}", printable(options.set),
                          did_you_mean(options.set, image_set_names())),
              "data set", "known sets: " + join(image_set_names(), ", "));
}

}  // namespace assay::train::data
