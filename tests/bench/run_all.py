#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Runs the benchmarks of an optimised tree and shows their figures together; scripts/bench.sh builds and calls it.

  run_all.py BUILD [--coins=N] [--json=FILE] [BENCH ...]

Each bench prints lines of JSON; the table has one row for each, and FILE (BUILD/bench.json) all of them with the
machine and the date. Ends with status 1 when a bench failed; figures that miss their goal are marked, no failure.
"""
import argparse
import datetime
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
BESIDE_DBCACHE_MIB = 150 + 512  # what an import and a flush may take: docs/operations.md, "Memory"
QUERY_LINE = re.compile(r'(?P<what>.+?)  +blockpub +(?P<rate>[\d.]+)/s p99 (?P<p99>[\d.]+)ms \S+(?: +nginx +(?P<nginx>[\d.]+)/s)?')
# Requests a second of bitcoind 28.1, 1.03 MB blocks, on a machine of this kind, and how many times as many are the goal.
BITCOIND = {
    'rest .json (prevouts)': (4.1, 15), 'rest notxdetails': (117, 20), 'getblock 1': (156, 20), 'getblock 2': (6.2, 15),
    'getblock 3': (5.4, 15), 'getblockstats 2 stats': (164, 50), 'getblockstats all': (132, 50), 'gettxoutproof': (176, 25),
    'getblockheader': (14_000, 2.5), 'getblockcount': (20_000, 2.5),
}
NGINX_GOALS = {'rest .bin': 1.0, 'rest .hex': 0.9}
LOOP_RUNS = (1, 3)  # callgrind: what a start costs is in both, and drops out of the difference


class Row:
    """How a line of JSON becomes a row: what is measured, the figure, its goal."""

    def __init__(self, label, figure, goal='', met=None):
        self.label, self.figure, self.goal, self.met = label, figure, goal, met


def times(value, digits=2):
    return f'{value:.{digits}f} x'


def query_row(line):
    what, rate = line['what'], line['rate']
    figure = f'{rate:,.0f}/s, p99 {line["p99_ms"]:.1f} ms'
    if what in NGINX_GOALS and line['nginx']:
        ratio, goal = rate / line['nginx'], NGINX_GOALS[what]
        return Row(what, f'{figure}, {times(ratio)} nginx', f'{goal} x', ratio >= goal)
    if what in BITCOIND:
        other, goal = BITCOIND[what]
        return Row(what, f'{figure}, {times(rate / other, 1)} bitcoind 28.1', f'{goal} x', rate >= goal * other)
    return Row(what, figure)


def row_of(line):
    bench = line['bench']
    if bench == 'submit':
        store = f'{line["coins"]:,} coins' if line.get('coins') else 'few coins'
        return Row(f'submitblock sent to rawblock received, 1 MB, {store}',
                   f'median {line["median_ms"]:.1f} ms, p99 {line["p99_ms"]:.1f} ms '
                   f'({times(line["ratio"], 1)} write and fdatasync)', 'median 10 ms', line['median_ms'] <= 10)
    if bench == 'queries':
        return query_row(line)
    if bench == 'growth':
        return Row(f'submitblock sent to rawblock received, {line["bytes"] / 1e6:.2f} MB', f'median {line["median_ms"]:.1f} ms')
    if bench == 'import':
        return Row('import of vectors/big', f'{line["import_mb_s"]:.0f} MB/s, {times(line["ratio"])} a copy with fsync')
    if bench == 'p2p_download':
        return Row(f'{line["blocks"]:,} blocks, {line["bytes"] / 1e6:.0f} MB, from a second blockpubd',
                   f'{line["blocks_s"]:.0f} blocks/s, {line["mb_s"]:.0f} MB/s, {times(line["ratio_import"])} from a file, '
                   f'{times(line["ratio"])} loopback alone, {line["in_flight"]} in flight, {line["memory_mb"]} MB')
    if bench == 'p2p_latency':
        how = 'sent as a compact block' if line['compact'] else 'announced by its header'
        return Row(f'a block of {line["bytes"] / 1e6:.1f} MB, {how}, to rawblock',
                   f'median {line["median_ms"]:.1f} ms, longest {line["longest_ms"]:.1f} ms')
    if bench == 'headers':
        return Row(f'start with {line["headers"]:,} headers, killed before', f'{line["first_s"]:.2f} s', '10 s',
                   line['first_s'] <= 10)
    if bench == 'fanout':
        return Row(f'rawblock of 1 MB to {line["subscribers"]} subscribers',
                   f'{line["publisher_gb_s"]:.2f} GB/s, {times(line["ratio"])} libzmq alone', '0.9 x', line['ratio'] >= 0.9)
    if bench == 'readers':
        goal = 0.9 * min(line['cores'], line['threads'])
        return Row(f'{line["threads"]} readers, without the lock over with it held', times(line['ratio']),
                   times(goal) if line['threads'] > 1 else '', line['ratio'] >= goal if line['threads'] > 1 else None)
    if bench == 'cache_hits':
        return Row(f'{line["threads"]} threads, cache hits of {line["what"]}, over a mutex and a list',
                   f'{times(line["ratio_lru"])} ({times(line["ratio_locked"])} a lock each time), '
                   f'{line["acquisitions"][0]} exclusive acquisitions', '0 acquisitions', line['acquisitions'][0] == 0)
    if bench == 'cache_scan':
        return Row(f'hits of hot blocks while {line["scanned"]:,} others are read once',
                   f'{line["hit_rate"]:.2%} ({line["lru_hit_rate"]:.2%} in a list of the last used)', '99 %',
                   line['hit_rate'] >= 0.99)
    if bench == 'cache_tip':
        return Row('a new tip into a full cache', f'median {line["median_us"]:.1f} us, p99 {line["p99_us"]:.1f} us')
    if bench == 'rest':
        return Row(f'REST .bin to {line["clients"]} clients, without the lock over with it held',
                   f'{times(line["ratio"])}, from the map {times(line["mapped_ratio"])}; on 8 cores {times(line["ratio_8_cores"])}')
    if bench == 'coins_reads':
        return Row('a coin read during a flush, p99 over idle', times(line['p99_ratio']), '1.2 x', line['p99_ratio'] <= 1.2)
    if bench == 'coins_ingest':
        return Row('import with coins, flushes overlapped over waited for', times(line['ratio']), '1.18 x', line['ratio'] >= 1.18)
    if bench == 'coins_size':
        most = line['dbcache_mib'] + BESIDE_DBCACHE_MIB
        return Row('import of a synthetic chain',
                   f'{line["coins_s"]:,.0f} coins/s, {line["bytes_a_coin"]:.0f} bytes a coin, {line["rss_anon_mib"]} MiB',
                   f'{most} MiB', line['rss_anon_mib'] <= most)
    if bench == 'loops':
        counted = f', {line["instructions"]:,.1f} instructions' if 'instructions' in line else ''
        return Row(f'{line["loop"]}, each {line["unit"]}', f'{line["ns"]:.2f} ns{counted}')
    return Row(bench, json.dumps({key: value for key, value in line.items() if key != 'bench'}))


def json_lines(text):
    return [json.loads(line) for line in text.splitlines() if line.startswith('{"bench"')]


def run(command, failures):
    """The lines of JSON that a bench printed; all of its output goes on to the terminal."""
    print(f'\n$ {" ".join(map(str, command))}', flush=True)
    done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, text=True, check=False)
    print(done.stdout, end='', flush=True)
    if done.returncode != 0:
        failures.append(f'{command[0]} ended with {done.returncode}')
    return json_lines(done.stdout)


def query_lines(command, failures):
    """Runs the comparison that lies beside the recorded blocks."""
    print(f'\n$ {" ".join(map(str, command))}', flush=True)
    done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, text=True, check=False)
    print(done.stdout, end='', flush=True)
    found = [found for line in done.stdout.splitlines() if (found := QUERY_LINE.match(line))]
    if done.returncode != 0 or not found:
        failures.append(f'{command[1]} ended with {done.returncode}')
    return [{'bench': 'queries', 'what': one['what'], 'rate': float(one['rate']), 'p99_ms': float(one['p99']),
             'nginx': float(one['nginx'] or 0)} for one in found]


def count_instructions(program, file, loop):
    """Instructions of one run of a loop, or None where valgrind is not installed."""
    counts = []
    with tempfile.TemporaryDirectory() as directory:
        for runs in LOOP_RUNS:
            done = subprocess.run(
                ['valgrind', '--tool=callgrind', f'--callgrind-out-file={directory}/out', str(program), str(file), loop,
                 str(runs)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
            counted = re.search(r'Collected : (\d+)', done.stderr)
            if done.returncode != 0 or not counted:
                return None
            counts.append(int(counted.group(1)))
    return (counts[1] - counts[0]) / (LOOP_RUNS[1] - LOOP_RUNS[0])


def add_instructions(lines, program, file):
    if not shutil.which('valgrind'):
        print('valgrind is not installed: no instructions are counted')
        return
    print('counting instructions under callgrind (whose processor has no SHA instructions)', flush=True)
    for line in lines:
        counted = count_instructions(program, file, line['loop'])
        if counted is not None:
            line['instructions'] = round(counted / line['units'], 2)


def machine():
    model = next((line.split(':', 1)[1].strip() for line in Path('/proc/cpuinfo').read_text().splitlines()
                  if line.startswith('model name')), platform.machine())
    return {'cpu': model, 'cores': os.cpu_count(), 'kernel': platform.release(),
            'load_before': round(os.getloadavg()[0], 2),
            'date': datetime.datetime.now(datetime.timezone.utc).strftime('%Y-%m-%d %H:%M UTC')}


def print_table(lines):
    rows = [(line['bench'], row_of(line)) for line in lines]
    cells = [('bench', 'what', 'figure', 'goal', '')]
    for bench, row in rows:
        verdict = '' if row.met is None else 'met' if row.met else 'MISSED'
        cells.append((bench, row.label, row.figure, row.goal, verdict))
    widths = [max(len(cell[column]) for cell in cells) for column in range(5)]
    print()
    for number, cell in enumerate(cells):
        print('  '.join(text.ljust(width) for text, width in zip(cell, widths)).rstrip())
        if number == 0:
            print('  '.join('-' * width for width in widths).rstrip())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('build', type=Path)
    parser.add_argument('benches', nargs='*', metavar='BENCH')
    parser.add_argument('--coins', type=int, default=1_000_000)
    parser.add_argument('--json', type=Path)
    options = parser.parse_args()
    programs = options.build / 'tests' / 'bench'
    shared = Path(os.environ['BLOCKPUB_SHARED'])
    file = shared / 'vectors' / 'big' / 'bootstrap.dat'
    submit = ['/usr/bin/python3', HERE / 'submit_bench.py', options.build / 'blockpubd']
    commands = {
        'loops': [[programs / 'bench_loops', file]],
        'submit': [submit, [*submit, f'--coins={options.coins}'], [*submit, '--growth']],
        'import': [[programs / 'bench_import', file]],
        'headers': [[programs / 'bench_headers']],
        'p2p': [['/usr/bin/python3', HERE / 'p2p_bench.py', options.build / 'blockpubd']],
        'fanout': [[programs / 'bench_fanout']],
        'cache': [[programs / 'bench_cache']],
        'readers': [[programs / 'bench_readers', file]],
        'rest': [[programs / 'bench_rest', file]],
        # The size has a process of its own: what others left in memory is none of it.
        'coins': [[programs / 'bench_coins', f'--coins={options.coins}', *parts] for parts in (['reads', 'ingest'], ['size'])],
    }
    queries = shared / 'tools' / 'sidebyside.py'
    if queries.exists():
        commands['queries'] = [['/usr/bin/python3', queries, '--daemon', f'blockpub={options.build / "blockpubd"}', '--blocks',
                                shared / 'vectors' / 'big', *(['--nginx'] if shutil.which('nginx') else [])]]
    unknown = [name for name in options.benches if name not in commands]
    if unknown:
        parser.error(f'no bench {", ".join(unknown)}; there are {", ".join(commands)}')

    about, lines, failures = machine(), [], []
    for name in options.benches or commands:
        for command in commands[name]:
            found = query_lines(command, failures) if name == 'queries' else run(command, failures)
            if name == 'loops':
                add_instructions(found, command[0], file)
            lines += found
    print_table(lines)
    print(f'\n{about["cpu"]}, {about["cores"]} cores, Linux {about["kernel"]}, {about["date"]}, '
          f'load before {about["load_before"]}')
    output = options.json or options.build / 'bench.json'
    output.write_text(json.dumps({'machine': about, 'results': lines}, indent=1) + '\n')
    print(f'All figures: {output}')
    for failure in failures:
        print(failure, file=sys.stderr)
    sys.exit(1 if failures else 0)


if __name__ == '__main__':
    main()
