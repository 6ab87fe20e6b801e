#include "rest/open_streams.h"

#include <exception>
#include <utility>

#include <fmt/format.h>

#include "serve/log.h"
#include "serve/refusal.h"

namespace assay::rest {

OpenStreams::OpenStreams(Nanoseconds every) : every_(every) {
  thread_ = std::jthread([this](const std::stop_token& stop) { work(stop); });
}

OpenStreams::~OpenStreams() {
  thread_.request_stop();
  thread_.join();
}

OpenStreams::Place OpenStreams::take_place(const std::string& person) {
  forget_gone();
  {
    const std::scoped_lock lock(counts_->lock);
    std::size_t& count = counts_->of_person[person];
    if (count >= kMaxOfPerson) {
      serve::Refusal refusal(429, "too_many_streams",
                             fmt::format("you have {} streams open, and may not have more", count),
                             "close some pages or programs that follow jobs");
      refusal.retry_after_s = 30;
      throw refusal;
    }
    ++count;
  }
  // Without the lock: where there is no memory for the pointer, it calls its deleter.
  return {counts_.get(), [counts = counts_, person](void*) {
            const std::scoped_lock also(counts->lock);
            if (--counts->of_person[person] == 0) counts->of_person.erase(person);
          }};
}

void OpenStreams::add(std::shared_ptr<serve::HttpStream> stream, Place place, Holds holds) {
  auto open = std::make_shared<Open>(Open{std::move(stream), std::move(place), std::move(holds)});
  const std::scoped_lock lock(lock_);
  open_.push_back(std::move(open));
}

void OpenStreams::ask_now() {
  const std::scoped_lock lock(lock_);
  asked_ = true;
  changed_.notify_all();
}

std::size_t OpenStreams::size() {
  forget_gone();
  const std::scoped_lock lock(lock_);
  return open_.size();
}

void OpenStreams::forget_gone() {
  const std::scoped_lock lock(lock_);
  std::erase_if(open_, [](const auto& one) { return one->stream->gone(); });
}

// Without the lock: accounts and jobs are asked, which may take a while.
void OpenStreams::ask() {
  std::vector<std::shared_ptr<Open>> all;
  {
    const std::scoped_lock lock(lock_);
    all = open_;
  }
  for (const auto& one : all) {
    bool holds = false;
    try {
      holds = one->holds();
    } catch (const std::exception& error) {
      serve::log_error(fmt::format("a stream ends: {}", error.what()));
    }
    if (!holds) one->stream->end();
  }
  all.clear();
  forget_gone();
}

void OpenStreams::work(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    {
      std::unique_lock lock(lock_);
      changed_.wait_for(lock, stop, every_, [&] { return asked_; });
      asked_ = false;
    }
    if (!stop.stop_requested()) ask();
  }
}

}  // namespace assay::rest
