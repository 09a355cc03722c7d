# SPDX-License-Identifier: MIT
# To be sourced: runs meson's tests and adds up how many passed and failed over several runs.

tests_passed=0
tests_failed=0

# count_results PASSED FAILED
count_results() {
    tests_passed=$((tests_passed + $1))
    tests_failed=$((tests_failed + $2))
}

# run_meson_tests BUILD [arguments of meson test...]: fails when a test fails.
run_meson_tests() {
    local build="$1" results
    shift
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
    return $status
}

print_counts() {
    echo "$tests_passed passed, $tests_failed failed"
}
