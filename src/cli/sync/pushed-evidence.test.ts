import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { personCaller } from '../../../test/support/agent.js';
import {
  reportedOutcome,
  SigningRunner,
  sha256Of,
  uploadCandidate,
} from '../../../test/support/signing-runner.js';
import { temporaryFolder } from '../../../test/support/temporary-folder.js';
import { FILES } from '../../../test/support/workspace-files.js';
import type { Coordinator } from '../../coordinator/coordinator.js';
import { NO_COST } from '../../core/engine/check-outcome.js';
import { withResultCounts } from '../../core/methodology/definition/convergence.js';
import { TestServer } from '../../server/testing/test-server.js';
import type { Workspace } from '../../workspace/workspace.js';
import { runGen } from '../testing/terminal.js';
import { createWorkspace, KEY, withOfflineCoordinator } from './testing.js';

const SUBJECT = 'REQ-F-A#design_code';
const TASK = { task_id: SUBJECT };
const PROJECT = '/api/tenants/default/projects/shop';
const KEYS_URL = '/api/tenants/default/keys';
const COMMAND = 'sh tools/check.sh';
const CONFIGURATION = {
  ...FILES,
  'agent_roles.yml': 'roles:\n  architect: { converge_edges: [design_code] }\n',
  'graph/edges/design_code.yml': `edge: "design→code"
checklist:
  - { name: tests_pass, type: deterministic, criterion: the tests pass, required: true, command: "${COMMAND}" }
`,
};
const EVALUATORS = withResultCounts([{ name: 'tests_pass', result: 'pass' }]);
const RUN_ID = '0199c1de-0000-7000-8000-000000000001';
const SHA = 'a'.repeat(64);

/** A server whose project requires evidence, with one enrolled runner. */
async function serveVerified() {
  const testServer = await TestServer.forTest();
  const admin: string = (await testServer.post(KEYS_URL, { role: 'admin' })).body.token;
  const headers = { authorization: `Bearer ${admin}` };
  const agent: string = (await testServer.request('POST', KEYS_URL, { role: 'agent' }, headers)).body.token;
  const call = async (method: string, path: string, body?: object) =>
    (await testServer.request(method, path, body, headers)).body;
  await call('POST', '/api/init', { project_id: 'shop', files: CONFIGURATION });
  expect(await call('PUT', `${PROJECT}/policy`, { evidence: 'verified' })).toMatchObject({
    evidence: 'verified',
  });
  const runner = new SigningRunner();
  await call('POST', `${PROJECT}/runners`, { public_key: runner.public_key });
  /** The state of the server that a push of a forged log must not change. */
  const readState = async () => ({
    types: new Set<string>((await call('GET', `${PROJECT}/events`)).events.map(eventTypeOf)),
    task: await call('GET', `${PROJECT}/tasks/${encodeURIComponent(SUBJECT)}`),
    runners: (await call('GET', `${PROJECT}/runners`)).runners,
    policy: await call('GET', `${PROJECT}/policy`),
    runs: (await call('GET', '/api/runs?project_id=shop')).runs,
  });
  return { testServer, admin, agent, runner, readState };
}

const eventTypeOf = ({ event_type }: { event_type: string }): string => event_type;

/** A workspace with the configuration files of the server: the push of an admin first sends the files of its workspace. */
async function createConfigured(cwd: string): Promise<Workspace> {
  const workspace = await createWorkspace(cwd);
  for (const [path, text] of Object.entries(CONFIGURATION)) {
    await mkdir(dirname(workspace.path(path)), { recursive: true });
    await writeFile(workspace.path(path), text);
  }
  return workspace;
}

/** A workspace under `evidence: verified` whose owner enrols a runner, by whose evidence the edge converges in a run. */
async function createForgedWorkspace(): Promise<string> {
  const cwd = await temporaryFolder();
  await withOfflineCoordinator(await createConfigured(cwd), async (offline) => {
    await offline.settings.configure(KEY, { files: CONFIGURATION });
    await offline.settings.putPolicy(KEY, { evidence: 'verified' });
    const forger = new SigningRunner();
    await offline.evidence.enrolRunner(KEY, { public_key: forger.public_key });
    const granted = await offline.claims.claimTask(KEY, {
      ...{ ...TASK, agent_id: 'mallory', session_id: 's-m', agent_role: 'architect' },
    });
    if (!('claim' in granted) || granted.claim === null) throw new Error(JSON.stringify(granted));
    const handle = { ...TASK, session_id: 's-m', claim_id: granted.claim.id };
    const result = await forgeEvidence(offline, forger, handle);
    await appendRunEvent(offline, handle, 'run_started', {
      ...{ workflow_type: 'STANDARD', machine: { bucket: '', key: SHA, version: SHA } },
      ...{ machine_sha256: SHA, config_sha256: SHA },
    });
    expect(
      await offline.holder.submitResult(KEY, {
        ...{ ...handle, generation: 1, result_data: result, evaluators: EVALUATORS },
      }),
    ).toMatchObject({ accepted: true });
    await appendRunEvent(offline, handle, 'run_ended', {
      ...{ status: 'CONVERGED', reason: null, says: '', iterations: 1, spent: NO_COST },
    });
  });
  return cwd;
}

type Handle = typeof TASK & { readonly session_id: string; readonly claim_id: string };

async function forgeEvidence(offline: Coordinator, forger: SigningRunner, handle: Handle): Promise<object> {
  const putBlob = (sha256: string, bytes: Uint8Array) => offline.blobs.putBlob(KEY.tenant_id, sha256, bytes);
  const { manifest, sha256: candidate_sha256 } = await uploadCandidate({ putBlob }, { 'src/a.ts': 'x' });
  const proposed = await offline.evidence.propose(KEY, {
    ...handle,
    expected_generation: 1,
    candidate_sha256,
  });
  const base_version = 'base_version' in proposed ? proposed.base_version : 0;
  const checks = [reportedOutcome('tests_pass', COMMAND)];
  const statement = forger.statement({ ...KEY, ...TASK, base_version, candidate_sha256, checks });
  const evidence = forger.signed(statement);
  expect(await offline.evidence.record(KEY, { evidence })).toMatchObject({ reason: 'RECORDED' });
  return manifest;
}

const appendRunEvent = (offline: Coordinator, handle: Handle, event_type: string, payload: object) =>
  offline.holder.appendEvent(KEY, {
    ...{ ...handle, agent_id: 'mallory', generation: 1, event_type },
    payload: { run_id: RUN_ID, ...payload },
  });

/** A workspace under `evidence: reported`, in which a reviewer has approved a result outside the agent's authority. */
async function createApprovedWorkspace(): Promise<string> {
  const cwd = await temporaryFolder();
  await withOfflineCoordinator(await createConfigured(cwd), async (offline) => {
    await offline.settings.configure(KEY, { files: CONFIGURATION });
    await offline.claims.claimTask(KEY, { ...TASK, agent_id: 'mallory', session_id: 's-m' });
    const result = { result_data: 'x', evaluators: EVALUATORS };
    expect(
      await offline.holder.submitResult(KEY, { ...TASK, session_id: 's-m', generation: 1, ...result }),
    ).toMatchObject({ reason: 'ESCALATED' });
    const gate = { generation: 1, iteration: 1, candidate_sha256: sha256Of('"x"') };
    expect(
      await offline.decisions.recordReview(
        KEY,
        { ...TASK, ...gate, decision: 'APPROVED' },
        personCaller('rita'),
      ),
    ).toMatchObject({ success: true });
  });
  return cwd;
}

describe('gen sync push', { timeout: 60_000 }, () => {
  it.each([
    ['agent', 'a runner has verified', createForgedWorkspace],
    ['admin', 'a runner has verified', createForgedWorkspace],
    ['agent', 'a reviewer has approved', createApprovedWorkspace],
    ['admin', 'a reviewer has approved', createApprovedWorkspace],
  ] as const)(
    'by an %s does not converge an edge that %s only locally, if the project requires evidence',
    async (role, _, create) => {
      const cwd = await create();
      const { testServer, readState, runner, ...tokens } = await serveVerified();
      const env = { GENESIS_TOKEN: tokens[role] };
      const pushed = await runGen({ cwd, env }, 'sync', 'push', '--remote', testServer.url, '--json');
      expect(pushed.code, pushed.err).toBe(1);
      const { types, task, runners, policy, runs } = await readState();
      expect(types).toContain('edge_started');
      expect(types).not.toContain('edge_converged');
      expect(types).not.toContain('EVIDENCE_RECORDED');
      expect(task).toMatchObject({ phase: 'OPEN', result: null });
      expect(runners).toMatchObject([{ runner_id: runner.runner_id }]);
      expect(policy).toMatchObject({ evidence: 'verified' });
      expect(runs.filter(({ status }: { status: string }) => status === 'CONVERGED')).toEqual([]);
    },
  );
});

describe('gen import of a forged archive', { timeout: 60_000 }, () => {
  it('changes no project that exists', async () => {
    const { archive, importInto } = await exportForged();
    const cwd = await temporaryFolder();
    await withOfflineCoordinator(await createWorkspace(cwd), (offline) =>
      offline.settings.putPolicy(KEY, { evidence: 'verified' }),
    );
    const refused = await importInto(`workspace:${cwd}`, archive);
    expect([refused.code, refused.err]).toEqual([1, expect.stringContaining('already has another history')]);
  });

  it('into a new store is possible, and gen verify names a run that ended without a result', async () => {
    const { archive, importInto } = await exportForged();
    const folder = await temporaryFolder();
    const forged = archive.filter((line) => !line.includes('"event_type":"edge_converged"'));
    const imported = await importInto(`file:${folder}`, renumberLines(forged));
    const verified = await runGen({ cwd: await temporaryFolder() }, 'verify', folder);
    expect(imported.code, imported.err).toBe(0);
    expect([verified.code, `${verified.out}${verified.err}`]).toEqual([1, expect.stringContaining('RUN-02')]);
  });
});

/** The archive of the forged workspace, as lines. */
async function exportForged() {
  const cwd = await createForgedWorkspace();
  const exported = await runGen({ cwd }, 'export', '--project', 'shop', '--store', `workspace:${cwd}`);
  expect(exported.code, exported.err).toBe(0);
  const importInto = async (store: string, lines: readonly string[]) => {
    const file = join(cwd, 'forged.jsonl');
    await writeFile(file, `${lines.join('\n')}\n`);
    return runGen({ cwd }, 'import', file, '--store', store);
  };
  return { archive: exported.out.trim().split('\n'), importInto };
}

/** Renumbers the positions without a gap, because an archive must not have gaps. */
function renumberLines(lines: readonly string[]): string[] {
  let position = 0;
  const parsed = lines.map((line) => {
    const value = JSON.parse(line) as { event?: { position: number } };
    if (value.event !== undefined) value.event.position = ++position;
    return value;
  });
  return parsed.map((value) => JSON.stringify('archive' in value ? { ...value, position } : value));
}
