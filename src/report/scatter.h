#pragma once

#include <string>
#include <vector>

#include "page/markup.h"

namespace assay::report {

/// Points of two quantities, as an HTML figure with an inline SVG that stretches with the page.
struct Scatter {
  struct Quantity {
    std::string title;  ///< "Throughput"
    std::string unit;   ///< "samples/s"
  };
  struct Point {
    double x = 0;
    double y = 0;
    std::string label = {};  ///< shown under the pointer
    std::string link = {};   ///< an address; empty: none
    bool front = false;      ///< marked, and joined to the others that are
    std::string name = {};   ///< written beside it; empty: nothing
  };
  std::string title;
  Quantity x;
  Quantity y;
  std::vector<Point> points;
  std::string front = {};  ///< meaning of the marked points, for the legend
  std::string other = {};  ///< meaning of the others
};

/// Points that are not finite are left out; empty when there is none left.
[[nodiscard]] page::Html render_scatter(const Scatter& scatter);

}  // namespace assay::report
