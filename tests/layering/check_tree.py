#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Holds the source tree to what no compiler checks: the direction of includes, the traps of coroutines, the form of files.

Run it on the project (check_tree.py ROOT) or for the checks' own tests (check_tree.py --self-test).
"""
import os
import re
import sys
import tempfile
import unittest

# Module -> what it may include; to the left in base <- primitives <- {store, bus} <- chain <- {notify, query, source} <- daemon.
BELOW_CHAIN = {'base', 'primitives', 'store', 'bus'}
ALLOWED = {
    'base': {'base'},
    'primitives': {'base', 'primitives'},
    'store': {'base', 'primitives', 'store'},
    'bus': {'base', 'primitives', 'bus'},
    'chain': BELOW_CHAIN | {'chain'},
    'notify': BELOW_CHAIN | {'chain', 'notify'},
    'query': BELOW_CHAIN | {'chain', 'query'},
    'source': BELOW_CHAIN | {'chain', 'source'},
    'daemon': BELOW_CHAIN | {'chain', 'notify', 'query', 'source', 'daemon'},
}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^">]+)[">]', re.M)
# Each of them takes a long time to compile, or belongs behind one interface.
INCLUDED_BY_AT_MOST = {'boost/asio': 6, 'boost/beast': 6, 'spdlog/': 1}
SKIPPED_DIRECTORIES = {'.git', 'node_modules', '__pycache__', 'subprojects'}
TEXT_ENDINGS = ('.cpp', '.hpp', '.py', '.sh', '.js', '.build', '.md', '.txt', '.in', '.yml')
SOURCE_ENDINGS = ('.cpp', '.hpp', '.py', '.sh', '.js')
# Written apart so that this file does not hold what it looks for.
MACHINE_PATHS = re.compile('|'.join(['/wo' + 'rk/', '/fa' + 'rm/', '/tmp' + '/w/', 'registry' + r'\.npmjs', 'deb' + r'\.debian']))


def files_of(root):
    for directory, names, files in os.walk(root):
        names[:] = sorted(n for n in names if n not in SKIPPED_DIRECTORIES and not n.startswith('build'))
        for name in sorted(files):
            yield os.path.relpath(os.path.join(directory, name), root)


def read(root, path):
    with open(os.path.join(root, path), encoding='utf-8', errors='replace') as file:
        return file.read()


def is_text(path):
    return path.endswith(TEXT_ENDINGS) or os.path.basename(path) == 'run'


def include_faults(path, text):
    """Includes that point to the right, or from the public headers into the source tree."""
    parts = path.split(os.sep)
    public = parts[0] == 'include'
    if not path.endswith(('.cpp', '.hpp')) or not (public or parts[0] == 'src' and len(parts) > 2):
        return []
    faults = []
    for match in INCLUDE.finditer(text):
        quote, target = match.groups()
        module = target.split('/')[0]
        line = text.count('\n', 0, match.start()) + 1
        if public:
            if quote == '"' or module in ALLOWED:
                faults.append(f'{path}:{line}: a public header includes {target}')
        elif quote == '"' and '/' not in target:
            faults.append(f'{path}:{line}: write "{parts[1]}/{target}", not "{target}"')
        elif module in ALLOWED and module not in ALLOWED[parts[1]]:
            faults.append(f'{path}:{line}: {parts[1]} includes {target}')
    return faults


def statements_of_co_await(text):
    """Each expression from co_await to the end of its statement, comments and strings taken out."""
    bare = re.sub(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', ' ', text, flags=re.S)
    for match in re.finditer(r'\bco_await\b', bare):
        depth = 0
        for end in range(match.end(), len(bare)):
            depth += bare[end] in '([{'
            depth -= bare[end] in ')]}'
            if depth < 0 or (depth == 0 and bare[end] == ';'):
                break
        yield bare[match.end():end]


def coroutine_faults(path, text):
    """g++ 12 miscompiles a braced temporary or a capturing lambda within a co_await expression."""
    if not path.endswith(('.cpp', '.hpp')):
        return []
    return [f'{path}: braces or a capturing lambda in "co_await{" ".join(expression.split())[:60]}": name it first'
            for expression in statements_of_co_await(text)
            if '{' in expression or re.search(r'\[[^\]]+\]\s*[({]', expression)]


def form_faults(path, text):
    """Tabs, blanks at line ends, a missing last newline, no licence line, names of somebody's machine."""
    if not is_text(path):
        return []
    faults = []
    for number, line in enumerate(text.split('\n'), 1):
        if '\t' in line:
            faults.append(f'{path}:{number}: tab')
        if line.rstrip(' \r') != line:
            faults.append(f'{path}:{number}: blank or carriage return at the end of the line')
        if MACHINE_PATHS.search(line):
            faults.append(f'{path}:{number}: a path or host of some machine')
    if text and not text.endswith('\n') or text.endswith('\n\n'):
        faults.append(f'{path}: does not end in one newline')
    if path.endswith(SOURCE_ENDINGS) or os.path.basename(path) == 'run':
        if not any('SPDX-License-Identifier: MIT' in line for line in text.split('\n')[:2]):
            faults.append(f'{path}: no SPDX line')
    return faults


def heavy_include_faults(texts):
    """Libraries that must stay in few files."""
    faults = []
    for prefix, most in INCLUDED_BY_AT_MOST.items():
        users = [path for path, text in texts.items() if path.startswith(('src', 'include')) and
                 path.endswith(('.cpp', '.hpp')) and any(m.group(2).startswith(prefix) for m in INCLUDE.finditer(text))]
        if len(users) > most:
            faults.append(f'{prefix} is included by {len(users)} files, more than {most}: {", ".join(users)}')
    return faults


def check(root):
    texts = {path: read(root, path) for path in files_of(root) if is_text(path)}
    faults = heavy_include_faults(texts)
    for path, text in texts.items():
        faults += include_faults(path, text) + coroutine_faults(path, text) + form_faults(path, text)
    return faults, len(texts)


class SelfTest(unittest.TestCase):
    """Each check finds what it is for, and leaves the rest alone."""

    def test_include_direction(self):
        cases = [('src/store/a.cpp', '#include "chain/chain.hpp"\n', 1), ('src/query/a.cpp', '#include "notify/x.hpp"\n', 1),
                 ('src/base/a.hpp', '#include "primitives/x.hpp"\n', 1), ('src/bus/a.cpp', '#include <store/x.hpp>\n', 1),
                 ('src/chain/a.cpp', '#include "store/x.hpp"\n#include "bus/x.hpp"\n', 0),
                 ('src/daemon/a.cpp', '#include "query/x.hpp"\n', 0), ('src/store/a.cpp', '#include <vector>\n', 0),
                 ('src/store/a.cpp', '#include "a.hpp"\n', 1), ('include/blockpub/a.hpp', '#include "base/x.hpp"\n', 1),
                 ('include/blockpub/a.hpp', '#include <base/x.hpp>\n', 1),
                 ('include/blockpub/a.hpp', '#include <blockpub/x.hpp>\n', 0), ('tests/a.cpp', '#include "x.hpp"\n', 0)]
        for path, text, faults in cases:
            with self.subTest(path=path, text=text):
                self.assertEqual(len(include_faults(path.replace('/', os.sep), text)), faults)

    def test_coroutine_traps(self):
        cases = [('co_await f({a, b});', 1), ('co_await f(Opts{.x = 1});', 1), ('co_await f([p]{ g(p); });', 1),
                 ('co_await f([&p](int) { g(p); });', 1), ('co_await f(a[1]);', 0), ('co_await f(move(a));', 0),
                 ('x = co_await f(a); g({1});', 0), ('// co_await f({})\n', 0), ('if (co_await f()) { g(); }', 0)]
        for text, faults in cases:
            with self.subTest(text=text):
                self.assertEqual(len(coroutine_faults('a.cpp', text)), faults)

    def test_form(self):
        licence = '// SPDX-License-Identifier: MIT\n'
        cases = [(licence, 0), (licence + 'a\tb\n', 1), (licence + 'a \n', 1), (licence + 'a', 1), ('int x;\n', 1),
                 (licence + 'a\r\n', 1), (licence + '\n', 1), (licence + '// /wo' + 'rk/x\n', 1)]
        for text, faults in cases:
            with self.subTest(text=text):
                self.assertEqual(len(form_faults('a.cpp', text)), faults)

    def test_few_files_include_the_heavy_libraries(self):
        texts = {f'src/query/{i}.cpp': '#include <boost/beast/http.hpp>\n' for i in range(7)}
        self.assertEqual(len(heavy_include_faults(texts)), 1)
        del texts['src/query/0.cpp']
        self.assertEqual(heavy_include_faults(texts), [])

    def test_a_whole_tree(self):
        with tempfile.TemporaryDirectory() as root:
            os.makedirs(os.path.join(root, 'src', 'store'))
            os.makedirs(os.path.join(root, 'build-x'))
            with open(os.path.join(root, 'src', 'store', 'a.cpp'), 'w', encoding='utf-8') as file:
                file.write('// SPDX-License-Identifier: MIT\n#include "query/x.hpp"\n')
            with open(os.path.join(root, 'build-x', 'b.cpp'), 'w', encoding='utf-8') as file:
                file.write('\t')
            faults, seen = check(root)
            self.assertEqual((len(faults), seen), (1, 1))


def main():
    if sys.argv[1:] == ['--self-test']:
        unittest.main(argv=sys.argv[:1])
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    faults, seen = check(sys.argv[1])
    print('\n'.join(faults))
    if seen < 10:
        sys.exit(f'only {seen} files under {sys.argv[1]}: is that the project?')
    print(f'{seen} files, {len(faults)} faults')
    sys.exit(1 if faults else 0)


if __name__ == '__main__':
    main()
