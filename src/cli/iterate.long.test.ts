import { spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { findSandbox } from '../engine/checks/sandbox.js';
import { onProgram } from '../stores/testing/on-database.js';
import { selfCommand } from './self.js';

const SCRIPT = fileURLToPath(new URL('../../examples/iterate/run.sh', import.meta.url));
const GEN = selfCommand().join(' ');

async function missingSandbox(): Promise<string | null> {
  const sandbox = await findSandbox(process.env.PATH);
  return sandbox.kind === 'none' ? sandbox.says : null;
}

await onProgram('bwrap', await missingSandbox(), () => {
  test('the example goes from a failing test to converged code', async () => {
    const root = await mkdtemp(join(tmpdir(), 'iterate-'));
    onTestFinished(() => rm(root, { recursive: true, force: true }));
    const folder = join(root, 'project');
    const ended = spawnSync('bash', [SCRIPT, folder], {
      env: { PATH: process.env.PATH, HOME: root, GEN },
      encoding: 'utf8',
    });
    expect(ended.status, ended.stderr).toBe(0);
    expect(await readFile(join(folder, 'sum.js'), 'utf8')).toBe('exports.sum = (a, b) => a + b;\n');
    expect(ended.stdout).toMatch(/1 +run_check tests_pass +FAIL/);
    expect(ended.stdout).toMatch(/2 +run_check tests_pass +PASS/);
    expect(ended.stdout).toContain('APPROVED. The edge has converged with this candidate.');
    const log = await readFile(join(folder, '.ai-workspace/events/events.jsonl'), 'utf8');
    const types = [...log.matchAll(/"event_type":"(\w+)"/g)].map(([, type]) => type);
    expect(types.filter((type) => type === 'edge_converged')).toHaveLength(1);
    expect(types.filter((type) => type === 'run_ended')).toHaveLength(1);
  }, 120_000);

  test('the example uses the gen on the PATH if GEN is not set', async () => {
    const root = await mkdtemp(join(tmpdir(), 'iterate-'));
    onTestFinished(() => rm(root, { recursive: true, force: true }));
    const program = `#!/bin/sh\nexec ${GEN} "$@"\n`;
    await mkdir(join(root, 'bin'));
    await writeFile(join(root, 'bin/gen'), program, { mode: 0o755 });
    const ended = spawnSync('bash', [SCRIPT, join(root, 'project')], {
      env: { PATH: `${join(root, 'bin')}:${process.env.PATH}`, HOME: root },
      encoding: 'utf8',
    });
    expect(ended.status, ended.stderr).toBe(0);
    expect(ended.stdout).toContain('APPROVED. The edge has converged with this candidate.');
  }, 120_000);
});
