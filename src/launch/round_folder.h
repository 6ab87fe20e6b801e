#pragma once

#include "store/run_dir.h"

namespace assay::launch {

/// Keeps what a round that was cut off left behind under another name (….interrupted-1, …), and
/// gives how often that has happened to the round. Throws Error of kind environment.
int set_aside(const store::RunDir& run, const plan::CasePlan& plan_case, int round);

/// Brings an experiment that was set aside with its round back: it goes on where it was, while the
/// logs of its earlier workers stay aside. Throws Error of kind environment.
void take_up_experiment(const store::RunDir& run, const plan::CasePlan& plan_case, int round);

}  // namespace assay::launch
