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
    std::string link = {};   ///< an address; empty: no link
    bool front = false;      ///< marked, and joined to the other marked points
    std::string name = {};   ///< text beside it; empty: none
  };
  std::string title;
  Quantity x;
  Quantity y;
  std::vector<Point> points;
  std::string front = {};  ///< names the marked points in the legend
  std::string other = {};  ///< names the others
};

/// Non-finite points are left out; empty if none is left.
[[nodiscard]] page::Html render_scatter(const Scatter& scatter);

}  // namespace assay::report
