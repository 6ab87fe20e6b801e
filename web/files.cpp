#include "web/files.h"

#include "web/web_assets.h"

namespace assay::web {

std::span<const page::Asset> files() {
  return assets::kAll;
}

std::string_view media_type(std::string_view name) {
  if (name.ends_with(".js")) return "text/javascript; charset=utf-8";
  if (name.ends_with(".css")) return "text/css; charset=utf-8";
  if (name.ends_with(".svg")) return "image/svg+xml";
  if (name.ends_with(".json")) return "application/json";
  return "text/html; charset=utf-8";
}

std::string run_page(std::string_view api) {
  std::string page(assets::kIndex.text);
  const auto set = [&](std::string_view from, std::string_view to) {
    page.replace(page.find(from), from.size(), to);
  };
  set("data-mode=\"platform\"", "data-mode=\"run\"");
  set("data-api=\"/api/v1\"", "data-api=\"" + std::string(api) + "\"");
  return page;
}

}  // namespace assay::web
