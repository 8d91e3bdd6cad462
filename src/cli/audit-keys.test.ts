import { generateKeyPairSync } from 'node:crypto';
import { stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { temporaryFolder } from '../../test/support/temporary-folder.js';
import { Coordinator } from '../coordinator/coordinator.js';
import { AuditKeys } from '../core/audit/audit-keys.js';
import { openAuditKey } from '../server/audit/audit-key.js';
import { openFileStore } from '../stores/file/file-store.js';
import { PLAN } from './testing/cli-harness.js';
import { runGen, startCommand } from './testing/terminal.js';

/** A folder with a log and a key, which servers are started on one after the other. */
class KeyFolder {
  private constructor(readonly cwd: string) {}

  static async open(): Promise<KeyFolder> {
    const cwd = await temporaryFolder();
    await writeFile(join(cwd, 'plan.yaml'), PLAN);
    return new KeyFolder(cwd);
  }

  /** Runs command lines against a server with these keys. The server writes a checkpoint when it stops. */
  async serve(keys: Readonly<Record<string, string>>, ...lines: readonly (readonly string[])[]) {
    const { cwd } = this;
    const up = startCommand({ cwd, env: keys }, 'up', '--store', `file:${join(cwd, 'log')}`, '--port', '0');
    const [url = ''] = /http:\/\/[\w.:]+/.exec(await up.waitForOutput('is listening at')) ?? [];
    const env = { GENESIS_URL: url, GENESIS_AGENT: 'agent-a', GENESIS_PROJECT: 'shop' };
    const results = [];
    for (const line of lines) results.push(await runGen({ cwd, env }, ...line));
    up.stop('SIGTERM');
    const { code, err } = await up.ended;
    expect(code).toBe(0);
    return { results, err };
  }

  gen(keys: Readonly<Record<string, string>>, ...line: readonly string[]) {
    return runGen({ cwd: this.cwd, env: keys }, ...line);
  }

  verify() {
    return runGen({ cwd: this.cwd }, 'verify', 'log');
  }
}

const IMPORT = ['plan', 'import', 'plan.yaml'];
const claimCommand = (task: string) => ['task', 'claim', task];
const LIST = ['audit', 'keys', '--json'];
const FILE_KEY = { GENESIS_AUDIT_KEY: 'key.pem' };
const idsIn = (text: string): string[] => text.match(/\b[0-9a-f]{16}\b/g) ?? [];

it('gen audit rotate: the next server enrols the new key, signed by the old one, and the log verifies', async () => {
  const folder = await KeyFolder.open();
  await folder.serve(FILE_KEY, IMPORT);
  const rotated = await folder.gen(FILE_KEY, 'audit', 'rotate');
  expect(rotated).toMatchObject({
    code: 0,
    out: expect.stringContaining('Restart the coordinators that use this key'),
  });
  const [oldId, newId] = idsIn(rotated.out);
  const { results, err } = await folder.serve(FILE_KEY, claimCommand('A-001-schema'));
  expect(err).not.toContain('No checkpoint');
  expect(results[0]?.code).toBe(0);
  const { results: lists } = await folder.serve(FILE_KEY, LIST, ['audit', 'keys']);
  expect(JSON.parse(lists[0]!.out).keys).toMatchObject([
    { key_id: oldId, state: 'rotated', how: 'first' },
    { key_id: newId, state: 'active', how: 'rotated' },
  ]);
  expect(lists[1]?.out).toMatch(new RegExp(`${newId}\\s+active\\s+rotated`));
  expect(await folder.verify()).toMatchObject({
    code: 0,
    out: expect.stringContaining('2 signed checkpoints'),
  });
});

it('gen audit rotate refuses without a key, and explains how to rotate the key of a command', async () => {
  const folder = await KeyFolder.open();
  const missing = await folder.gen(FILE_KEY, 'audit', 'rotate');
  expect(missing).toMatchObject({ code: 1, err: expect.stringContaining('gen up creates it') });
  const ofCommand = await folder.gen({ GENESIS_AUDIT_KEY: 'command:./sign' }, 'audit', 'rotate');
  expect(ofCommand.code).toBe(1);
  expect(ofCommand.err).toMatch(
    /GENESIS_AUDIT_KEY to the command of the new key and\s+GENESIS_AUDIT_PREVIOUS_KEY to the command of the old key/,
  );
  await expect(stat(join(folder.cwd, 'key.pem'))).rejects.toThrow('ENOENT');
});

it('gen up signs with the key of a command after it has replaced the key of a file', async () => {
  const folder = await KeyFolder.open();
  await folder.serve(FILE_KEY, IMPORT);
  const command = await signingCommand(folder.cwd);
  const keys = { GENESIS_AUDIT_KEY: command, GENESIS_AUDIT_PREVIOUS_KEY: 'key.pem' };
  await folder.serve(keys, claimCommand('A-001-schema'));
  const { results } = await folder.serve(keys, LIST);
  expect(JSON.parse(results[0]!.out).keys).toMatchObject([
    { state: 'rotated', how: 'first' },
    { state: 'active', how: 'rotated' },
  ]);
  expect(await folder.verify()).toMatchObject({
    code: 0,
    out: expect.stringContaining('2 signed checkpoints'),
  });
});

it('gen up starts and warns if the signing command gives no public key', async () => {
  const folder = await KeyFolder.open();
  const { results, err } = await folder.serve({ GENESIS_AUDIT_KEY: 'command:./missing' }, IMPORT);
  expect(results[0]?.code).toBe(0);
  expect(err).toMatch(
    /No checkpoints of the log are signed: The signing command \.\/missing failed when it was called with the argument public-key/,
  );
});

it('gen up says at once that a checkpoint cannot be signed', async () => {
  const folder = await KeyFolder.open();
  const command = await signingCommand(folder.cwd, 'process.exit(1)');
  const { err } = await folder.serve({ GENESIS_AUDIT_KEY: command }, IMPORT);
  expect(err).toMatch(
    /No checkpoint of default\/shop was written. The audit key [0-9a-f]{16} cannot sign now/,
  );
});

it('gen audit replace and gen audit revoke end a key, once and with a reason', async () => {
  const folder = await KeyFolder.open();
  const lostKey = { GENESIS_AUDIT_KEY: 'lost.pem' };
  await folder.serve(lostKey, IMPORT);
  const { key_id: lostId } = (await openAuditKey(join(folder.cwd, 'lost.pem'))).signer;
  const { key_id: currentId } = (await openAuditKey(join(folder.cwd, 'key.pem'))).signer;
  const { results } = await folder.serve(
    FILE_KEY,
    ['audit', 'replace', lostId],
    ['audit', 'replace', '0'.repeat(16), '--reason', 'lost'],
    ['audit', 'replace', lostId, '--reason', 'the disk is lost'],
    ['audit', 'replace', lostId, '--reason', 'the disk is lost'],
    ['audit', 'revoke', currentId, '--reason', 'it was copied'],
    LIST,
  );
  const [noReason, unknown, replaced, again, revoked, list] = results;
  expect(noReason?.code).toBe(2);
  expect(unknown).toMatchObject({ code: 1, err: expect.stringContaining(`Known: ${lostId}.`) });
  expect(replaced).toMatchObject({ code: 0, out: expect.stringContaining(`Key ${lostId} is replaced.`) });
  expect(again).toMatchObject({ code: 1, err: expect.stringContaining('AUDIT_KEY_ENDED') });
  expect(revoked?.code).toBe(0);
  expect(revoked?.out).toMatch(
    /is revoked\. Every audit key of the project is revoked or rotated[\s\S]*gen audit replace/,
  );
  expect(JSON.parse(list!.out).keys).toMatchObject([
    { key_id: lostId, state: 'revoked', how: 'first' },
    { key_id: currentId, state: 'revoked', how: 'replaced' },
  ]);
  expect((await folder.verify()).code).toBe(0);
});

it('gen verify does not count a checkpoint that a revoked key signs', async () => {
  const folder = await KeyFolder.open();
  await folder.serve(FILE_KEY, IMPORT);
  const { signer } = await openAuditKey(join(folder.cwd, 'key.pem'));
  await folder.serve(
    FILE_KEY,
    ['audit', 'revoke', signer.key_id, '--reason', 'stolen'],
    claimCommand('A-001-schema'),
  );
  expect(await folder.verify()).toMatchObject({
    code: 0,
    out: expect.stringContaining('1 signed checkpoint'),
  });
  // A coordinator that ignores the revocation.
  const isActive = vi.spyOn(AuditKeys.prototype, 'isActive').mockReturnValue(true);
  const store = await openFileStore({ root: join(folder.cwd, 'log') });
  const coordinator = await Coordinator.open({ store, audit: { signer } });
  await coordinator.plans.get({ tenant_id: 'default', project_id: 'shop' });
  await coordinator.audit.stop();
  coordinator.close();
  await store.close();
  isActive.mockRestore();
  const { code, out } = await folder.verify();
  expect(code).toBe(1);
  expect(out).toContain('REVOKED_KEY');
});

/** The setting for a program that signs with its own key, after it has run `onSign`. */
async function signingCommand(cwd: string, onSign = ''): Promise<string> {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  await writeFile(join(cwd, 'command.pem'), privateKey.export({ type: 'pkcs8', format: 'pem' }));
  const publicText = JSON.stringify(publicKey.export({ type: 'spki', format: 'pem' }));
  await writeFile(
    join(cwd, 'sign.cjs'),
    `const { sign, createPrivateKey } = require('node:crypto');
     const { readFileSync } = require('node:fs');
     if (process.argv[2] === 'public-key') console.log(${publicText});
     else { ${onSign}; console.log(sign(null, readFileSync(0), createPrivateKey(readFileSync('command.pem'))).toString('base64')); }`,
  );
  return `command:"${process.execPath}" sign.cjs`;
}
