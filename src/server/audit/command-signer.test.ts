import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { sha256 } from '../../coordinator/audit/audit-hash.js';
import { verifySignatureSync } from '../../coordinator/audit/verify-signature.js';
import { keyIdOf } from '../../core/audit/audit-values.js';
import { openCommandSigner } from './command-signer.js';
import { openSigner } from './open-signer.js';

const { privateKey, publicKey } = generateKeyPairSync('ed25519');
const otherKeys = generateKeyPairSync('ed25519');
const { x: RAW_PUBLIC_KEY = '' } = publicKey.export({ format: 'jwk' });
const PUBLIC_PEM = publicKey.export({ type: 'spki', format: 'pem' }).toString();

let cwd: string;
beforeEach(async () => {
  cwd = await mkdtemp(join(tmpdir(), 'command signer-'));
  onTestFinished(() => rm(cwd, { recursive: true, force: true }));
});

const SIGN_FUNCTION = `
const { createPrivateKey, sign } = require('node:crypto');
const { readFileSync } = require('node:fs');
const signed = (file, encoding) => sign(null, readFileSync(0), createPrivateKey(readFileSync(file))).toString(encoding);
`;

/** A command that runs a script: it prints the public key, and for `sign` it runs `onSign`. */
async function commandOf(onSign: string, publicKeyText = PUBLIC_PEM): Promise<string> {
  const pemOf = (key: typeof privateKey) => key.export({ type: 'pkcs8', format: 'pem' });
  await writeFile(join(cwd, 'key.pem'), pemOf(privateKey));
  await writeFile(join(cwd, 'other.pem'), pemOf(otherKeys.privateKey));
  const answers = `if (process.argv.at(-1) === 'public-key') console.log(${JSON.stringify(publicKeyText)});\nelse { ${onSign} }`;
  await writeFile(join(cwd, 'sign.cjs'), SIGN_FUNCTION + answers);
  return `"${process.execPath}" sign.cjs --option`;
}
const openTestSigner = async (onSign: string, timeout_ms = 10_000) =>
  openCommandSigner({ command: await commandOf(onSign), cwd, timeout_ms });

describe('a signing command', () => {
  it.each([
    ['base64 and PEM', 'base64', PUBLIC_PEM],
    ['base64url', 'base64url', RAW_PUBLIC_KEY],
  ])('signs with a signature and a public key in %s', async (_, encoding, publicKeyText) => {
    const command = await commandOf(`console.log(signed('key.pem', '${encoding}'))`, publicKeyText);
    const { signer } = await openSigner(`command:${command}`, '', cwd);
    expect(signer).toMatchObject({ public_key: RAW_PUBLIC_KEY, key_id: keyIdOf(sha256, RAW_PUBLIC_KEY) });
    const signature = await signer.sign('line one\nline two äöü');
    expect(signature).toMatch(/^[\w-]{86}$/);
    expect(verifySignatureSync(RAW_PUBLIC_KEY, 'line one\nline two äöü', signature)).toBe(true);
  });

  it.each([
    ['another key', `console.log(signed('other.pem', 'base64'))`, 'does not verify'],
    ['no signature', `console.log('sorry')`, 'must print an Ed25519 signature'],
    ['nothing', '', 'must print an Ed25519 signature'],
    [
      'a failure',
      `console.log(signed('key.pem', 'base64')); console.error('x\\naccess denied'); process.exitCode = 3`,
      'ended with code 3 and said: access denied',
    ],
    ['too much', `process.stdout.write('A'.repeat(5000))`, 'more than 4096 bytes'],
  ])('is refused if it prints %s, and says what to do', async (_, onSign, why) => {
    const signer = await openTestSigner(onSign);
    await expect(signer.sign('text')).rejects.toThrow(why);
    await expect(signer.sign('text')).rejects.toThrow(/GENESIS_AUDIT_KEY/);
  });

  it.each([
    '',
    'no key',
    `${RAW_PUBLIC_KEY}A`,
    otherKeys.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString().slice(0, 60),
  ])('is refused without a public key: %j', async (text) => {
    const command = await commandOf('', text);
    await expect(openCommandSigner({ command, cwd })).rejects.toThrow(/must print an Ed25519 public key/);
  });

  it('is refused if there is no such program', async () => {
    await expect(openCommandSigner({ command: './missing', cwd })).rejects.toThrow(/ended with code 127/);
  });

  it('does not print its arguments, which may be confidential', async () => {
    const failure = openCommandSigner({ command: './missing --pin 1234', cwd });
    await expect(failure).rejects.toThrow(expect.not.stringContaining('1234'));
  });

  it.skipIf(process.platform === 'win32')('is killed with its children when its time is over', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const child = `require('node:net').connect(${port}, '127.0.0.1'); setTimeout(() => {}, 20_000);`;
    await writeFile(join(cwd, 'child.cjs'), child);
    const connected = once(server, 'connection') as Promise<[Socket]>;
    const signer = await openTestSigner(
      `require('node:child_process').spawn(process.execPath, ['child.cjs'], { stdio: 'inherit' }); setTimeout(() => {}, 20_000)`,
      3000,
    );
    const signed = expect(signer.sign('text')).rejects.toThrow(/did not end within 3 seconds/);
    const [socket] = await connected;
    // The system closes the connections of a process that ends.
    const ended = once(socket.on('error', () => {}).resume(), 'close');
    await signed;
    await ended;
  });

  it('leaves no child behind that keeps its output open', async () => {
    const signer = await openTestSigner(
      `require('node:child_process').spawn(process.execPath, ['-e', 'setTimeout(() => {}, 20_000)'], { stdio: 'inherit' }).unref(); console.log(signed('key.pem', 'base64'))`,
    );
    expect(verifySignatureSync(RAW_PUBLIC_KEY, 'text', await signer.sign('text'))).toBe(true);
  });

  it('fails all waiting signatures together when it hangs', async () => {
    const signer = await openTestSigner(
      `require('node:fs').appendFileSync('started', '.'); setTimeout(() => {}, 20_000)`,
      3000,
    );
    const results = await Promise.allSettled(
      Array.from({ length: 30 }, (_, index) => signer.sign(`text ${index}`)),
    );
    expect(results.map(({ status }) => status)).toEqual(Array(30).fill('rejected'));
    // Four commands run at once. The texts that waited for one of them start no command, whose timeout would come later.
    expect((await readFile(join(cwd, 'started'), 'utf8')).length).toBeLessThanOrEqual(4);
  });
});

describe('the audit key settings', () => {
  const fileOf = async (name: string, key: typeof privateKey) => {
    await writeFile(join(cwd, name), key.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
  };

  it('name previous keys, one per line; the keys before each are read from the file beside it', async () => {
    const [one, two] = [generateKeyPairSync('ed25519'), generateKeyPairSync('ed25519')];
    await fileOf('old.pem', two.privateKey);
    await fileOf('old.pem.previous', one.privateKey);
    const command = await commandOf('');
    const { signer, previousSigners } = await openSigner('new.pem', `command:${command}\nold.pem\n`, cwd);
    const keys = previousSigners.map(({ public_key }) => public_key);
    expect(keys).toEqual([
      RAW_PUBLIC_KEY,
      ...[two, one].map((pair) => pair.publicKey.export({ format: 'jwk' }).x),
    ]);
    expect(keys).not.toContain(signer.public_key);
  });

  it('do not create a missing previous key, and refuse a key that others may read', async () => {
    await expect(openSigner('new.pem', 'missing.pem', cwd)).rejects.toThrow('missing.pem');
    await expect(readFile(join(cwd, 'missing.pem'))).rejects.toThrow('ENOENT');
    if (process.platform === 'win32') return;
    await writeFile(join(cwd, 'open.pem'), privateKey.export({ type: 'pkcs8', format: 'pem' }), {
      mode: 0o644,
    });
    await expect(openSigner('new.pem', 'open.pem', cwd)).rejects.toThrow('chmod 600');
  });
});
