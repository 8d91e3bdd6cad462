import { resolve } from 'node:path';
import type { AuditSigner } from '../../coordinator/audit/signer.js';
import { openAuditKey, readAuditKey, readPreviousKeys, signerOf } from './audit-key.js';
import { openCommandSigner } from './command-signer.js';

const COMMAND_PREFIX = 'command:';

/** The program and arguments of a setting `command:PROGRAM ARGS`; null if it names a file. */
export const signingCommandOf = (setting: string): string | null =>
  setting.startsWith(COMMAND_PREFIX) ? setting.slice(COMMAND_PREFIX.length).trim() : null;

/** The key that a coordinator signs checkpoints with, and the keys before it. */
export interface OpenedSigner {
  readonly signer: AuditSigner;
  /** The keys that `signer` has replaced, newest first. */
  readonly previousSigners: readonly AuditSigner[];
  /** Whether the key file was created just now. */
  readonly isNew: boolean;
}

/**
 * Opens a key from the text of its setting: the path of a file, or `command:PROGRAM ARGS`. `previous`: the settings of the
 * keys that this key replaces, one per line, newest first. Throws if one of them cannot be used: a previous key must sign
 * that the new key replaces it.
 */
export async function openSigner(setting: string, previous: string, cwd: string): Promise<OpenedSigner> {
  const { signer, isNew } = await openCurrent(setting, cwd);
  const rotatedSigners =
    signingCommandOf(setting) === null ? await readRotatedSigners(resolve(cwd, setting)) : [];
  const settings = previous.split('\n').map((line) => line.trim());
  const namedSigners = await Promise.all(
    settings.filter((line) => line !== '').map((line) => openPrevious(line, cwd)),
  );
  const previousSigners = [...rotatedSigners, ...namedSigners.flat()].filter(
    ({ key_id }) => key_id !== signer.key_id,
  );
  return { signer, previousSigners, isNew };
}

async function openCurrent(setting: string, cwd: string): Promise<Pick<OpenedSigner, 'signer' | 'isNew'>> {
  const command = signingCommandOf(setting);
  if (command === null) return openAuditKey(resolve(cwd, setting));
  return { signer: await openCommandSigner({ command, cwd }), isNew: false };
}

/** A previous key is never created. If a previous key is in a file, the keys before it are in a file beside it. */
async function openPrevious(setting: string, cwd: string): Promise<AuditSigner[]> {
  const command = signingCommandOf(setting);
  if (command !== null) return [await openCommandSigner({ command, cwd })];
  const file = resolve(cwd, setting);
  return [signerOf(await readAuditKey(file)), ...(await readRotatedSigners(file))];
}

const readRotatedSigners = async (file: string): Promise<AuditSigner[]> =>
  (await readPreviousKeys(file)).map(signerOf).reverse();
