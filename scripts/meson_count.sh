# SPDX-License-Identifier: MIT
# To be sourced: runs meson's tests and adds up how many passed and failed over several runs.

tests_passed=0
tests_failed=0
failures=''

# count_results PASSED FAILED
count_results() {
    tests_passed=$((tests_passed + $1))
    tests_failed=$((tests_failed + $2))
}

# run_meson_tests BUILD [arguments of meson test...]: fails when a test fails.
run_meson_tests() {
    local build="$1" results
    shift
    # An old log must not be read as this run's.
    rm -f "$build/meson-logs/testlog.json"
    meson test -C "$build" --no-rebuild --print-errorlogs "$@"
    local status=$?
    results="$(python3 - "$build/meson-logs/testlog.json" <<'PYTHON'
import json, sys
passed = failed = 0
for line in open(sys.argv[1], encoding='utf-8'):
    result = json.loads(line)['result']
    passed += result in ('OK', 'EXPECTEDFAIL')
    failed += result not in ('OK', 'EXPECTEDFAIL', 'SKIP')
print(passed, failed)
PYTHON
)" || results="0 1"
    # shellcheck disable=SC2086 # two words
    count_results $results
    failures+="$(failures_of "$build")"
    return $status
}

# failures_of BUILD: how each failed test of the last run ended, in few lines: a build's output may scroll the rest away.
failures_of() {
    python3 - "$1" <<'PYTHON'
import json, sys
try:
    lines = open(f'{sys.argv[1]}/meson-logs/testlog.json', encoding='utf-8').readlines()
except OSError:
    lines = []
for test in map(json.loads, lines):
    if test['result'] not in ('OK', 'EXPECTEDFAIL', 'SKIP'):
        print(f"\n== {sys.argv[1]}: {test['name']}: {test['result']} after {test['duration']:.0f} s")
        for stream in ('stdout', 'stderr'):
            print(*[line[:300] for line in test.get(stream, '').splitlines()[-40:]], sep='\n')
PYTHON
}

print_counts() {
    [ -z "$failures" ] || printf '%s\n' "$failures"
    echo "$tests_passed passed, $tests_failed failed"
}
