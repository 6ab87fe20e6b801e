#include "rest/sign_in_limits.h"

namespace assay::rest {

namespace {

std::string by_way_and_address(const SignInTry& one) {
  return std::to_string(static_cast<int>(one.way)) + '\n' + serve::rate_key(one.address);
}

std::string by_name_and_address(const SignInTry& one) {
  return one.name + '\n' + serve::rate_key(one.address);
}

// A sign-in by a provider has four steps, one by a password has one, which hashes.
double cost_of(SignInWay way) {
  return way == SignInWay::password ? 4 : 1;
}

}  // namespace

int SignInLimits::ask(const SignInTry& one, std::int64_t now_ns) {
  return requests_.take(by_way_and_address(one), now_ns, cost_of(one.way));
}

int SignInLimits::begin(const SignInTry& one, std::int64_t now_ns) {
  if (const int wait = failed_by_address_.take(by_way_and_address(one), now_ns); wait > 0)
    return wait;
  if (one.way != SignInWay::password) return 0;
  int wait = failed_by_name_.take(by_name_and_address(one), now_ns);
  if (wait == 0) {
    wait = failed_by_account_.take(one.name, now_ns);
    if (wait == 0) return 0;
    failed_by_name_.give_back(by_name_and_address(one), now_ns);
  }
  failed_by_address_.give_back(by_way_and_address(one), now_ns);
  return wait;
}

void SignInLimits::succeeded(const SignInTry& one, std::int64_t now_ns) {
  failed_by_address_.give_back(by_way_and_address(one), now_ns);
  if (one.way != SignInWay::password) return;
  failed_by_name_.give_back(by_name_and_address(one), now_ns);
  failed_by_account_.give_back(one.name, now_ns);
}

}  // namespace assay::rest
