# SPDX-License-Identifier: MIT
"""Programs from npm beside the build, as a lock file names them, without scripts of their own."""
import os
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'integration'))
import harness


def left_out(reason):
    """Where npm is not, or the registry is not reached, a test is left out; never where CI says that it is one."""
    if os.environ.get('CI'):
        raise AssertionError(reason)
    raise unittest.SkipTest(reason)


def read(path):
    try:
        with open(path, 'rb') as file:
            return file.read()
    except FileNotFoundError:
        return None


def installed(here, program, *place):
    """The directory with what package-lock.json in `here` names, and a copy of `program`: `place` below the build's
    tests/interop."""
    if not (shutil.which('node') and shutil.which('npm')):
        left_out('no node and npm')
    directory = os.path.join(harness.build_dir(), 'tests', 'interop', *place)
    os.makedirs(directory, exist_ok=True)
    lock, done = read(os.path.join(here, 'package-lock.json')), os.path.join(directory, 'installed-lock.json')
    if read(done) != lock:
        for name in ('package.json', 'package-lock.json'):
            shutil.copy(os.path.join(here, name), directory)
        npm = subprocess.run(['npm', 'ci', '--ignore-scripts', '--no-audit', '--no-fund'], cwd=directory, check=False,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True)
        if npm.returncode != 0:
            left_out(f'npm cannot install for {program}: {npm.stdout[-300:]}')
        with open(done, 'wb') as file:
            file.write(lock)
    shutil.copy(os.path.join(here, program), directory)
    return directory
