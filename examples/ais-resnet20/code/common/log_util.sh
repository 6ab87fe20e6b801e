# Log lines in the form of ais-bench.
logger() {
    echo "$(date +%Y-%m-%dT%H:%M:%S) -Ais-Bench-Stubs- $1 ${FUNCNAME[2]}($(basename "${BASH_SOURCE[2]}"):${BASH_LINENO[1]}) - $2"
}
logger_Info() { logger INFO "$1"; }
logger_Error() { logger ERROR "$1" >&2; }
