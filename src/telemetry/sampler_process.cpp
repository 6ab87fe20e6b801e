#include "telemetry/sampler_process.h"

#include <algorithm>
#include <csignal>

#include "core/text.h"

namespace assay::telemetry {

namespace {

constexpr std::size_t kErrorTail = 512;

std::string last_words(std::string_view errors) {
  std::string text = printable(trim(errors));
  std::ranges::replace(text, '\n', ' ');
  text.erase(
      std::unique(text.begin(), text.end(), [](char a, char b) { return a == ' ' && b == ' '; }),
      text.end());
  return ellipsize(text, 200);
}

}  // namespace

void SamplerProcess::start(const std::vector<std::string>& argv, RunLimits limits,
                           AsyncProcess::Hooks hooks) {
  limits.max_errors = kErrorTail;
  hooks.on_end = [this, on_end = std::move(hooks.on_end)](CommandResult result) {
    current_.reset();
    result.err = last_words(result.err);
    on_end(std::move(result));
  };
  std::erase_if(all_, [](const auto& process) { return process->ended(); });
  current_ = AsyncProcess::start(loop_.get_executor(), {.argv = argv}, limits, std::move(hooks));
  all_.push_back(current_);
}

std::vector<int> SamplerProcess::pids() const {
  std::vector<int> out;
  for (const auto& process : all_)
    if (!process->ended()) out.push_back(process->pid());
  return out;
}

void SamplerProcess::terminate() {
  if (const auto process = std::exchange(current_, nullptr)) process->leave(SIGTERM);
}

void SamplerProcess::discard() {
  current_.reset();
  for (const auto& process : all_) process->discard();
}

void SamplerProcess::abandon() {
  discard();
  for (const auto& process : all_) process->abandon();
}

}  // namespace assay::telemetry
