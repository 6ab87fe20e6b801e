#include <array>

#include "explain/topic_kinds.h"

namespace assay::explain {

namespace {

// Findings that do not come from a rule in conf/: how a round ended, and flaws of the run as a
// whole.
struct FindingText {
  std::string_view name;
  std::string_view title;
  std::string_view meaning;
  std::string_view advice;
};

constexpr std::string_view kSealAdvice =
    "the files of a run must stay as they were: restore them from a copy, or run the suite again";

constexpr std::array kFindings{
    FindingText{"round-failed", "the round failed",
                "A rank ended with an error. The finding names the one that ended first, because "
                "the others usually follow it, and quotes the end of its log.",
                "the last lines of its log usually name the cause"},
    FindingText{"round-timed-out", "the round took longer than limits.time",
                "The ranks were ended when the time was over. The finding names the rank that was "
                "least far.",
                "raise limits.time in the suite and start a new run if a round is meant to take "
                "longer"},
    FindingText{
        "round-stalled", "nothing moved for longer than limits.stall",
        "No rank took a step and none printed anything, so the round was ended. The usual "
        "cause is ranks that wait for each other.",
        "look for a rank that died, a blocked port or a wrong interface; raise limits.stall "
        "if a step may take that long"},
    FindingText{"round-lost", "an agent was lost",
                "The connection to a node ended, and with it nobody saw how its ranks ended.",
                "check that the node is up and reachable, then run again with --resume"},
    FindingText{"round-interrupted", "the run was interrupted before the round ended",
                "Somebody stopped the run, the controller was killed, or the run still goes on.",
                "go on with 'assay run --resume'"},
    FindingText{"round-unrecorded", "the evidence of the round could not be written",
                "The machine failed, not the training: a disk was full or could not be written.",
                "free space on its disk, then run the round again"},
    FindingText{"launch-failed", "no rank could be started",
                "Agents or ranks could not be started; the finding quotes what the machine said.",
                "'assay check' shows what the machines lack for this suite; then go on with 'assay "
                "run --resume'"},
    FindingText{"not-run", "the round was not run", "The run ended before this round was its turn.",
                "go on with 'assay run --resume'"},
    FindingText{"run-ended", "the run has not ended: it still goes on, or it was killed",
                "There is no record of the run's end, so more may come.",
                "'assay report' again when it has ended; a run that was killed goes on with 'assay "
                "run --resume'"},
    FindingText{"journal-readable", "lines of the journal cannot be read",
                "What they said is not known, and it may have mattered.",
                "restore the file from a copy, or run the suite again"},
    FindingText{"journal-torn", "a line of the journal was cut off while it was written",
                "The run was killed there, or the machine lost power. What came before it counts.",
                ""},
    FindingText{"case-skipped", "a case was passed over",
                "What it depends on did not hold; the finding says which.",
                "nothing, unless it was meant to run"},
    FindingText{"case-left-out", "a case that this machine cannot run",
                "The suite says what the case needs, and it is not here.",
                "a machine that has it runs the case"},
    FindingText{"skip-founded",
                "a case was skipped, and nothing in the evidence is a reason for it",
                "The journal says that it was skipped, but what it depends on held.",
                "run it: 'assay run --resume'"},
    FindingText{"hook-failed", "a hook failed or ran out of time",
                "What was to be done before or after the cases was not done.",
                "its output in the run directory says why"},
    FindingText{"hook-evidence", "what a hook wrote is not as it was recorded",
                "The output of a hook is evidence like any other, and was changed or is missing.",
                kSealAdvice},
    FindingText{"hook-run", "a required hook has no result, though cases were run",
                "What the cases depend on may not have been done.", "run the suite again"},
    FindingText{
        "system-known", "nothing says on which machines it was measured",
        "system.json is missing, damaged or cannot be read, and a number without its machine "
        "is worth little.",
        "restore the file from a copy, or run the suite again"},
    FindingText{"run-sealed", "the run is not sealed",
                "There is no seal.json: nothing can show whether the evidence was changed after it "
                "was measured.",
                "run the suite again for evidence that can be checked"},
    FindingText{"rounds-listed", "rounds were measured by a version that listed no files",
                "Nothing can show whether their files were changed before the run was sealed.",
                "run the suite again for evidence that can be checked"},
    FindingText{"resumed-unproven", "the run was resumed without a seal that proves its first part",
                "No later seal can show what was not sealed then.", "run the suite again"},
    FindingText{"seal-readable", "seal.json is damaged, or of another run",
                "The seal cannot be read, so it proves nothing.", kSealAdvice},
    FindingText{"seal-signed", "the seal is not signed", "Anybody can have written it.",
                "'assay key' shows the key that runs are signed with, and makes one"},
    FindingText{"seal-signature", "the signature does not fit what the seal lists",
                "The seal, or the list in it, was changed after it was signed.", kSealAdvice},
    FindingText{"seal-fits", "plan, journal or system.json is not what was sealed",
                "A file that the seal covers was changed after the run.", kSealAdvice},
    FindingText{"seal-lists", "the seal does not cover plan, journal or system.json",
                "What it leaves out may have been changed.", kSealAdvice},
    FindingText{"run-files-fit", "plan.json or system.json is not what the journal recorded",
                "It was changed while the run was under way or after it.", kSealAdvice},
    FindingText{"evidence-unasked",
                "evidence was changed or is missing, and the suite switched off the rule that asks",
                "A suite may change the verdict of a rule, but not hide that evidence was changed.",
                "leave the rules about evidence on"},
    FindingText{"device-errors", "during the run, devices had errors",
                "Between the state before and after the run there are uncorrected memory errors, "
                "remapped rows, or devices that are gone.",
                "take these devices out of service and have them checked; measure again without"},
    FindingText{
        "device-settings", "during the run, devices were changed",
        "Power limit, clocks, ECC, MIG, persistence mode or driver differ before and after.",
        "rounds before and after do not compare: leave the devices alone, and run again"},
    FindingText{"device-links", "during the run, devices lost links",
                "A device has fewer PCIe lanes or links to others than before.",
                "look at slots, cables and switches, and run again"},
    FindingText{"device-drivers", "the nodes have different drivers",
                "The slowest node sets the pace of all, and drivers differ in speed.",
                "install one version everywhere"},
    FindingText{"device-corrected", "during the run, memory errors of devices were corrected",
                "A few do no harm; many announce a device that fails.", "watch these devices"},
    FindingText{"device-state-known", "the state of devices is not known",
                "Errors and changes during the run would go unseen.",
                "'assay check' says what can be looked at"},
    FindingText{"hardware-named", "a case names other hardware than there is",
                "Peaks, MFU and comparisons go by the name in the suite, so all of them would be "
                "wrong. Where no device can be seen on a node, nothing says that it is right.",
                "name the hardware that is there in the suite's cases"},
    FindingText{"nodes-apart", "hosts of different names are one machine",
                "What several nodes reach on one machine is not what they reach on several.",
                "list every machine once"},
    FindingText{"hosts-left-out", "hosts of the suite could not be had at some time",
                "Others took their place, or rounds ran with fewer nodes.",
                "repair them, or take them out of cluster.hosts"},
};

}  // namespace

std::vector<Explanation> finding_topics() {
  std::vector<Explanation> out;
  for (const FindingText& one : kFindings) {
    Explanation made{std::string(one.name), "finding", std::string(one.title), {}, "docs/rules.md"};
    made.paragraphs.push_back({"What it means", std::string(one.meaning)});
    if (!one.advice.empty()) made.paragraphs.push_back({"What to do", std::string(one.advice)});
    out.push_back(std::move(made));
  }
  return out;
}

}  // namespace assay::explain
