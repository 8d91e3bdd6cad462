import { generateKeyPairSync } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { F, PROJECT_FILES } from '../../test/support/imported-project.js';
import { temporaryFolder } from '../../test/support/temporary-folder.js';
import { Genesis } from '../client/index.js';
import { newSigner } from '../core/audit/testing/primitives.js';
import { type RunningServer, startServer } from '../server/server.js';
import { openFileStore } from '../stores/file/file-store.js';
import { PLAN } from './testing/cli-harness.js';
import { runGen, type TerminalOptions } from './testing/terminal.js';

const TASK = 'A-001-schema';
const SIGNER = newSigner();

interface AuditedServer {
  readonly terminal: TerminalOptions & { readonly cwd: string };
  readonly server: RunningServer;
}

/** A server on a file store, with an audit key and a plan, and the terminal of an agent. */
async function openAudited(): Promise<AuditedServer> {
  const cwd = await temporaryFolder();
  await writeFile(join(cwd, 'plan.yaml'), PLAN);
  const store = await openFileStore({ root: join(cwd, 'log') });
  const signer = { ...SIGNER, sign: async (text: string) => SIGNER.sign(text) };
  const server = await startServer({ store, port: 0, audit: { signer } });
  onTestFinished(() => server.stop());
  const env = { GENESIS_URL: server.url, GENESIS_AGENT: 'agent-a', GENESIS_HOME: join(cwd, '.home') };
  const terminal = { cwd, env };
  expect((await runGen(terminal, 'plan', 'import', 'plan.yaml')).err).toBe('');
  return { terminal, server };
}

async function complete({ terminal }: AuditedServer): Promise<void> {
  expect((await runGen(terminal, 'task', 'claim', TASK)).code).toBe(0);
  expect((await runGen(terminal, 'task', 'submit', TASK, '--data', '{"tables":3}')).err).toBe('');
}

it('writes a proof of the result, which gen audit check accepts without a server', async () => {
  const audited = await openAudited();
  const { terminal, server } = audited;
  await complete(audited);
  await server.coordinator.audit.checkpoint();
  const written = await runGen(terminal, 'task', 'proof', TASK, '--out', 'proof.json');
  expect(written).toMatchObject({ code: 0, err: '' });
  expect(written.out).toContain('was accepted with SHA-256');
  const offline = { cwd: terminal.cwd };
  const checked = await runGen(offline, 'audit', 'check', 'proof.json', '--key', SIGNER.key_id);
  expect(checked.code).toBe(0);
  expect(checked.out).toMatch(
    /^Valid: 3 events prove the result of A-001-schema\.\nTask A-001-schema of default\/shop/,
  );
  expect(checked.out).toContain('generation 1 was granted to agent-a in session');

  const printed = await runGen(terminal, 'task', 'proof', TASK);
  expect(JSON.parse(printed.out)).toEqual(
    JSON.parse(await readFile(join(terminal.cwd, 'proof.json'), 'utf8')),
  );
});

it('refuses a file with more than 32 MiB, in bytes, without checking it as a proof', async () => {
  const cwd = await temporaryFolder();
  await writeFile(join(cwd, 'large.json'), 'é'.repeat(17 * 1024 * 1024));
  const { code, err } = await runGen({ cwd }, 'audit', 'check', 'large.json');
  expect(code).toBe(1);
  expect(err).toContain('is not a proof: it has more than 32 MiB. Pass a file that contains a proof.');
});

it('refuses a proof that was changed, or that another key signed', async () => {
  const audited = await openAudited();
  const { terminal, server } = audited;
  await complete(audited);
  await server.coordinator.audit.checkpoint();
  const { out } = await runGen(terminal, 'task', 'proof', TASK);
  const check = async (text: string, ...more: string[]) => {
    await writeFile(join(terminal.cwd, 'changed.json'), text);
    return runGen({ cwd: terminal.cwd }, 'audit', 'check', 'changed.json', ...more);
  };
  const changed = await check(out.replace('was granted to agent-a', 'was granted to agent-b'));
  expect(changed).toMatchObject({
    code: 1,
    out: expect.stringMatching(/^SUMMARY_MISMATCH: line \d: .*agent-a/),
  });
  expect((await check(out.replace('"grant"', '"earlier_grant"'))).out).toMatch(
    /^ROLE_MISMATCH: position \d+/,
  );
  const otherTask = await check(out.replace(`"task_id": "${TASK}"`, '"task_id": "A-002-index"'));
  expect(otherTask.out).toMatch(/^ROLE_MISMATCH: no event accepts a result of A-002-index/);
  expect((await check(out, '--key', newSigner().key_id)).out).toMatch(/^UNTRUSTED_KEY: event at position/);
  expect(JSON.parse((await check(`${out}x`, '--json')).out)).toMatchObject({ ok: false, code: 'MALFORMED' });
});

it('a task proof has the signed bodies that the agent kept', async () => {
  const { terminal, server } = await openAudited();
  const { privateKey: signing_key } = generateKeyPairSync('ed25519');
  const sent: string[] = [];
  const recordingFetch = async (request: Request) => {
    sent.push(await request.clone().text());
    return fetch(request);
  };
  const client = new Genesis({ url: server.url, project: 'shop', signing_key, fetch: recordingFetch });
  const { public_key } = client;
  const holder = { agent_id: 'agent-a', session_id: 's1' };
  await client.openSession({ session_id: 's1', ...(public_key === null ? {} : { public_key }) });
  const claimed = await client.claimTask({ task_id: TASK, ...holder });
  expect(claimed).toMatchObject({ success: true });
  const claim_id =
    'claim' in claimed && claimed.claim !== null && 'id' in claimed.claim ? claimed.claim.id : '';
  const handle = { task_id: TASK, session_id: 's1', generation: 1, claim_id };
  expect(await client.submitResult({ ...handle, result_data: { tables: 3 } })).toMatchObject({
    accepted: true,
  });
  await server.coordinator.audit.checkpoint();
  await writeFile(join(terminal.cwd, 'sent.jsonl'), sent.join('\n'));
  const { out } = await runGen(terminal, 'task', 'proof', TASK, '--bodies', 'sent.jsonl');
  expect((JSON.parse(out) as { signatures: unknown[] }).signatures).toHaveLength(2);
  await writeFile(join(terminal.cwd, 'proof.json'), out);
  const checked = await runGen({ cwd: terminal.cwd }, 'audit', 'check', 'proof.json');
  expect(checked.out).toContain(`with the session's key ${public_key}`);

  await writeFile(join(terminal.cwd, 'sent.jsonl'), '[]\n');
  const refused = await runGen(terminal, 'task', 'proof', TASK, '--bodies', 'sent.jsonl');
  expect(refused).toMatchObject({
    code: 2,
    err: expect.stringContaining('sent.jsonl:1: expected a JSON object'),
  });
});

it('gen task proof says why there is nothing to prove', async () => {
  const audited = await openAudited();
  const { terminal } = audited;
  const runTaskProof = (id: string) => runGen(terminal, 'task', 'proof', id);
  expect(await runTaskProof('Z-001-none')).toMatchObject({
    code: 1,
    err: expect.stringContaining('NOT_FOUND'),
  });
  const open = await runTaskProof(TASK);
  expect(open.code).toBe(1);
  expect(open.err).toContain('A-001-schema is open and has no accepted result');
  await complete(audited);
  const uncovered = await runTaskProof(TASK);
  expect(uncovered.code).toBe(1);
  expect(uncovered.err).toMatch(/NOT_FOUND: The log has no checkpoint yet/);
  const unwritable = await runGen(terminal, 'task', 'proof', TASK, '--out', 'no/such/folder.json');
  expect(unwritable.code).not.toBe(0);
});

it('proves that imported work was trusted, and names the imported event', async () => {
  const { terminal, server } = await openAudited();
  const projectKey = { tenant_id: 'default', project_id: 'shop' };
  const event = {
    event_id: '0d3e6a52-6d0b-8d5e-9a55-8c1f6b7d2c11',
    event_type: 'edge_converged',
    timestamp: '2025-12-01T10:00:00.000Z',
    agent_id: 'primary',
    feature_id: F,
    edge: 'design_code',
    payload: { imported: { source: 'old.jsonl', line: 1 } },
  };
  await server.coordinator.settings.configure(projectKey, { files: PROJECT_FILES });
  await server.coordinator.imports.importEvents(projectKey, { events: [event] });
  expect((await runGen(terminal, 'import', '--trust-imports', '--project', 'shop')).out).toContain(
    '1 edge trusted',
  );
  await server.coordinator.audit.checkpoint();
  const written = await runGen(terminal, 'task', 'proof', `${F}#design_code`, '--out', 'proof.json');
  expect(written).toMatchObject({ code: 0, err: '' });
  const checked = await runGen({ cwd: terminal.cwd }, 'audit', 'check', 'proof.json', '--key', SIGNER.key_id);
  expect(checked.code).toBe(0);
  expect(checked.out).toMatch(
    /the convergence that the imported event 0d3e6a52\S+ of "old\.jsonl" at position \d+ reports, was adopted by \S+ \("gen import --trust-imports"\) as generation 1/,
  );
});
