import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { selfCommand } from '../../src/cli/self.js';
import { startHarness } from '../../src/cli/testing/cli-harness.js';
import { runGen } from '../../src/cli/testing/terminal.js';
import { Genesis } from '../../src/client/index.js';
import { uploadCandidate } from '../support/signing-runner.js';
import { temporaryFolder } from '../support/temporary-folder.js';
import { FILES } from '../support/workspace-files.js';

const EDGE = 'REQ-F-A#design_code';
const [PROGRAM, ...ARGUMENTS] = selfCommand();
/** Subtests so deeply nested that parsing takes longer than the runner allows: each level parses all lines below it again. */
const NESTED_TAP = Array.from({ length: 1500 }, (_, depth) => `${' '.repeat(4 * depth)}ok 1\n`)
  .reverse()
  .join('');

/** A runner process over a base with these files, and a candidate that waits for it. */
async function startRunner(check: string, files: Readonly<Record<string, string>>) {
  const { terminal } = await startHarness();
  const client = new Genesis({ url: terminal.env.GENESIS_URL, project: 'shop' });
  const edgeFile = `edge: "design→code"\nchecklist:\n  - ${check}\n`;
  const configured = { ...FILES, 'graph/edges/design_code.yml': edgeFile };
  expect(await client.methodology.init({ files: configured })).toMatchObject({ success: true });
  await client.putPolicy({ evidence: 'verified' });
  const granted = await client.claimTask({ task_id: EDGE, agent_id: 'a', session_id: 's1' });
  const claim_id = 'claim' in granted ? (granted.claim?.id ?? '') : '';
  const { sha256 } = await uploadCandidate(client, { 'src/a.ts': 'x' });
  const handle = { task_id: EDGE, session_id: 's1', claim_id, expected_generation: 1 };
  expect(await client.proposeCandidate({ ...handle, candidate_sha256: sha256 })).toMatchObject({
    success: true,
  });
  const [base, temporary] = [await temporaryFolder(), await temporaryFolder()];
  for (const [path, text] of Object.entries(files)) await writeFile(join(base, path), text);
  const key = join(terminal.cwd, 'runner.pem');
  const env = { ...terminal.env, GENESIS_PROJECT: 'shop', PATH: process.env.PATH ?? '' };
  await runGen({ ...terminal, env }, 'runner', 'enrol', '--key', key);
  const argv = ['runner', 'run', '--root', base, '--key', key, '--unsandboxed'];
  const child = spawn(PROGRAM, [...ARGUMENTS, ...argv], {
    ...{ cwd: terminal.cwd, env: { ...env, TMPDIR: temporary }, stdio: 'ignore' },
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  return { client, child, temporary };
}

const foldersIn = async (temporary: string): Promise<string[]> =>
  (await readdir(temporary)).filter((name) => name.startsWith('genesis-'));

describe.skipIf(process.platform === 'win32')('a process of gen runner', { timeout: 120_000 }, () => {
  it('that is told to end while it reads a hostile report ends, records nothing and leaves no copy', async () => {
    const marker = join(await temporaryFolder(), 'written');
    const check = `{ name: compiles, type: deterministic, criterion: x, required: true, shell: true, command: "cp nested.tap report.tap && mkdir ${marker}", report: { format: tap, path: report.tap } }`;
    const { client, child, temporary } = await startRunner(check, { 'nested.tap': NESTED_TAP });
    const ended = once(child, 'exit');
    // The folder of the command is removed once its report is in memory; the copy is still there.
    const isReading = async () => {
      const hasRun = await stat(marker).catch(() => null);
      return hasRun !== null && (await foldersIn(temporary)).length === 1;
    };
    await vi.waitUntil(isReading, { timeout: 60_000, interval: 20 });
    child.kill('SIGTERM');
    const [code] = await ended;
    expect(code).toBe(130);
    const recorded = await client.events({ type: 'EVIDENCE_RECORDED' });
    expect('events' in recorded && recorded.events).toEqual([]);
    expect(await foldersIn(temporary)).toEqual([]);
  });
});
