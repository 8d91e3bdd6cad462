import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, it } from 'vitest';
import { childrenOf, parseStat, startUsageMeter, treeOf, usageOf } from '../bench/process-usage.js';

it('reads a process whose name looks like fields, and counts the children that have ended', () => {
  const line = '42 (a) S 9 (b) R 7 42 42 0 -1 4194560 1 2 3 4 100 20 3 1 20 0 1 0 12345';
  expect(parseStat(line)).toEqual({ pid: 42, parent: 7, ticks: 124 });
});

it('finds the descendants of a process in any order, and no other process', () => {
  const processes = [
    { pid: 5, parent: 4, ticks: 1 },
    { pid: 4, parent: 2, ticks: 1 },
    { pid: 2, parent: 1, ticks: 1 },
    { pid: 3, parent: 1, ticks: 1 },
  ];
  expect(treeOf([2], processes).map(({ pid }) => pid)).toEqual([5, 4, 2]);
});

it.runIf(process.platform === 'linux')(
  'counts the work of a child of a child, even after it has ended',
  async () => {
    const busy = `${process.execPath} -e "const end = Date.now() + 300; while (Date.now() < end);"`;
    const shell = spawn('sh', ['-c', `read start; ${busy}; echo done; read end`], {
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    expect(childrenOf(process.pid)).toContain(shell.pid);
    const usageSince = startUsageMeter([shell.pid ?? 0]);
    shell.stdin.write('\n');
    await once(shell.stdout, 'data');
    expect(usageSince()?.cpu_seconds).toBeGreaterThan(0.02);
    shell.stdin.write('\n');
    await once(shell, 'exit');
    expect(usageOf([shell.pid ?? 0])).toBeNull();
  },
);
