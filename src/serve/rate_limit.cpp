#include "serve/rate_limit.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <arpa/inet.h>

namespace assay::serve {

RateLimiter::RateLimiter(double rate, double burst, std::size_t max_keys)
    : rate_(rate), burst_(burst), max_keys_(max_keys) {}

double RateLimiter::level_at(const Bucket& bucket, std::int64_t mono_ns) const {
  const auto passed_ns = static_cast<double>(std::max<std::int64_t>(0, mono_ns - bucket.at_ns));
  return std::min(burst_, bucket.level + passed_ns / 1e9 * rate_);
}

void RateLimiter::forget_full(std::int64_t mono_ns) {
  std::erase_if(buckets_,
                [&](const auto& entry) { return level_at(entry.second, mono_ns) >= burst_; });
}

int RateLimiter::take(const std::string& key, std::int64_t mono_ns, double cost) {
  const std::scoped_lock lock(lock_);
  if (buckets_.size() >= max_keys_ && !buckets_.contains(key)) forget_full(mono_ns);
  const bool room = buckets_.size() < max_keys_ || buckets_.contains(key);
  const auto [at, is_new] = buckets_.try_emplace(room ? key : std::string());
  Bucket& bucket = at->second;
  if (is_new) bucket = {burst_, mono_ns};
  bucket = {level_at(bucket, mono_ns), mono_ns};
  if (bucket.level >= cost) {
    bucket.level -= cost;
    return 0;
  }
  return std::max(1, static_cast<int>(std::ceil((cost - bucket.level) / rate_)));
}

void RateLimiter::give_back(const std::string& key, std::int64_t mono_ns, double cost) {
  const std::scoped_lock lock(lock_);
  auto at = buckets_.find(key);
  // It was taken from the one that is shared, or is full again and forgotten.
  if (at == buckets_.end()) at = buckets_.find(std::string());
  if (at == buckets_.end()) return;
  at->second = {std::min(burst_, level_at(at->second, mono_ns) + cost), mono_ns};
}

std::string rate_key(const std::string& address) {
  std::array<unsigned char, 16> bytes{};
  if (::inet_pton(AF_INET6, address.c_str(), bytes.data()) != 1) return address;
  return {reinterpret_cast<const char*>(bytes.data()), 8};
}

}  // namespace assay::serve
