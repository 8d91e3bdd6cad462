import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { sha256Of, uploadCandidate } from '../../../test/support/signing-runner.js';
import { canonicalJson } from '../../core/canonical-json.js';
import type { WaitingCandidate } from '../../core/contract/runners.js';
import { evidenceBody } from '../../core/contract/runners.js';
import { unsandboxedExecutor } from '../checks/command-executor.js';
import { checkExecutor, DEFAULT_CHECK_LIMITS } from '../checks/execute-check.js';
import { attestCandidate } from './attest-candidate.js';
import { fetchFolderBase } from './runner-base.js';

const IDENTITY = { tenant_id: 'acme', project_id: 'shop', runner_id: `rnr_${'0'.repeat(24)}` };
const CHECK = {
  name: 'passes',
  type: 'deterministic',
  criterion: '',
  required: true,
  command: 'true',
} as const;

/** A runner whose base is a folder with these files, and a store of blobs that returns whatever was put into it. */
async function openRunner(baseFiles: Readonly<Record<string, string>>) {
  const root = await realpath(await mkdtemp(join(tmpdir(), 'attest-')));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  for (const [path, text] of Object.entries(baseFiles)) {
    await mkdir(join(root, path, '..'), { recursive: true });
    await writeFile(join(root, path), text);
  }
  const blobs = new Map<string, Uint8Array>();
  const readDigests: string[] = [];
  const putBlob = async (sha256: string, bytes: Uint8Array) => void blobs.set(sha256, bytes);
  const tools = {
    getBlob: async (sha256: string) => {
      readDigests.push(sha256);
      return blobs.get(sha256) ?? new Uint8Array();
    },
    putBlob,
    fetchBase: () => fetchFolderBase(root),
    runCheck: checkExecutor(unsandboxedExecutor(process.env.PATH)),
    limits: DEFAULT_CHECK_LIMITS,
    now: () => new Date(),
  };
  const attest = (candidate_sha256: string, count = 1) => {
    const checks = Array.from({ length: count }, (_, at) => ({ ...CHECK, name: `c${at}`, skipped: null }));
    const candidate: WaitingCandidate = {
      ...{ task_id: 'REQ-F-A#design_code', generation: 1, candidate_sha256, iteration: 1 },
      ...{ proposed_at: '2026-01-04T06:00:00.000Z', base_version: 1, checks, evidence_of: [] },
    };
    return attestCandidate(candidate, IDENTITY, tools, new AbortController().signal);
  };
  return { attest, putBlob, readDigests };
}

it('reads no more of a file than its manifest says, however often the manifest names a large blob', async () => {
  const { attest, putBlob, readDigests } = await openRunner({});
  const large = Buffer.alloc(1024);
  await putBlob(sha256Of(large), large);
  const file = { sha256: sha256Of(large), size_bytes: 0, executable: false, base_sha256: null };
  const files = Array.from({ length: 2000 }, (_, at) => ({ path: `src/${at}.txt`, ...file }));
  const manifest = Buffer.from(canonicalJson({ kind: 'files', files, total_bytes: 0 }));
  await putBlob(sha256Of(manifest), manifest);
  await expect(attest(sha256Of(manifest))).rejects.toThrow('has more than 0 bytes');
  expect(readDigests).toHaveLength(2);
});

it.each(['test/Cart.test.ts', 'TEST/cart.test.ts', 'test/cart.teſt.ts'])(
  'runs no check of a candidate that declares %s as new if test/cart.test.ts exists',
  async (path) => {
    const { attest, putBlob } = await openRunner({ 'test/cart.test.ts': 'real' });
    const { sha256 } = await uploadCandidate({ putBlob }, { [path]: 'empty' });
    const { checks } = await attest(sha256);
    expect(checks[0]).not.toHaveProperty('is_base_fault');
    expect(checks).toMatchObject([
      { result: 'error', says: expect.stringContaining('is spelled test/cart.test.ts') },
    ]);
  },
);

it('runs the checks of a candidate whose base has two spellings of a name', async () => {
  const { attest, putBlob } = await openRunner({ 'src/A.ts': 'before src/A.ts', 'src/a.ts': 'x' });
  const { sha256 } = await uploadCandidate({ putBlob }, { 'src/A.ts': 'y' }, ['src/A.ts']);
  expect((await attest(sha256)).checks).toMatchObject([{ result: 'pass' }]);
});

it('states why no check was run in a statement that is short enough to be recorded, despite a long path and many checks', async () => {
  const longPath = `src/${Array.from({ length: 5 }, () => 'é'.repeat(45)).join('/')}.txt`;
  const { attest, putBlob } = await openRunner({ [longPath]: 'real' });
  const { sha256 } = await uploadCandidate({ putBlob }, { [longPath]: 'other' });
  const statement = await attest(sha256, 50);
  expect(statement.checks).toHaveLength(50);
  expect(statement.checks[0]).toMatchObject({
    result: 'error',
    is_base_fault: true,
    says: expect.stringContaining('In the base'),
  });
  const evidence = { statement, signature: 'A'.repeat(86) };
  expect(evidenceBody.safeParse({ evidence }).error).toBeUndefined();
});
