#include "runtime.h"

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include <signal.h>
#include <time.h>

#include "core/error.h"
#include "core/text.h"
#include "core/time.h"

namespace assay::micro {
namespace {

volatile sig_atomic_t g_stop_signal = 0;

void on_stop(int signal) {
  g_stop_signal = signal;
}

int number_from_environment(const char* name, int fallback, int least) {
  const char* text = std::getenv(name);
  if (text == nullptr || *text == '\0') return fallback;
  const std::string_view view(text);
  int value = 0;
  const auto [end, error] = std::from_chars(view.data(), view.data() + view.size(), value);
  if (error != std::errc() || end != view.data() + view.size() || value < least)
    throw Error(ErrorKind::usage,
                std::string(name) + " is not a whole number from " + std::to_string(least) +
                    " on: '" + ellipsize(printable(view), 40) + "'",
                "environment");
  return value;
}

}  // namespace

Place place_from_environment() {
  Place place;
  place.rank = number_from_environment("RANK", 0, 0);
  place.world_size = number_from_environment("WORLD_SIZE", place.rank + 1, 1);
  if (place.rank >= place.world_size)
    throw Error(ErrorKind::usage,
                "RANK " + std::to_string(place.rank) + " is not below WORLD_SIZE " +
                    std::to_string(place.world_size),
                "environment");
  return place;
}

void handle_stop_signals() {
  struct sigaction action {};
  action.sa_handler = on_stop;  // without SA_RESTART: a sleep ends
  sigemptyset(&action.sa_mask);
  ::sigaction(SIGTERM, &action, nullptr);
  ::sigaction(SIGINT, &action, nullptr);
}

int stop_signal() noexcept {
  return g_stop_signal;
}

void sleep_until(std::int64_t mono_ns) noexcept {
  const timespec deadline{mono_ns / 1'000'000'000, mono_ns % 1'000'000'000};
  while (stop_signal() == 0 &&
         ::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &deadline, nullptr) == EINTR) {
  }
}

int exit_code(const perflog::Writer& writer) noexcept {
  if (writer.failed() > 0) {
    std::fprintf(stderr, "assay-micro: %llu log lines could not be written\n",
                 static_cast<unsigned long long>(writer.failed()));
    return 1;
  }
  return stop_signal() == 0 ? 0 : 128 + stop_signal();
}

}  // namespace assay::micro
