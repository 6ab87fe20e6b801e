#include "serve/log.h"

#include <memory>

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include "core/text.h"

namespace assay::serve {

void log_error(std::string_view text) {
  static const std::shared_ptr<spdlog::logger> kLog = [] {
    auto log = std::make_shared<spdlog::logger>("assay serve",
                                                std::make_shared<spdlog::sinks::stderr_sink_mt>());
    log->set_formatter(std::make_unique<spdlog::pattern_formatter>(
        "%Y-%m-%dT%H:%M:%S.%eZ %l: %n: %v", spdlog::pattern_time_type::utc));
    return log;
  }();
  kLog->error("{}", printable(text));
}

}  // namespace assay::serve
