import { createPublicKey, type KeyObject } from 'node:crypto';
import { existsSync } from 'node:fs';
import { publicKeyText } from '../../client/sign-command.js';
import { createKeyFile, ed25519KeyOf, readPrivateKeyText } from '../../server/private-key-file.js';
import { CommandFailure } from '../exit.js';

/** The private key of a runner, and its public key as the project enrols it. */
export interface RunnerKey {
  readonly key: KeyObject;
  readonly public_key: string;
  readonly isNew: boolean;
}

/** Reads the key, or makes one if there is no such file. */
export async function openRunnerKey(file: string): Promise<RunnerKey> {
  const isNew = await createKeyFile(file);
  return { ...(await readRunnerKey(file)), isNew };
}

/** Reads the key. Creates none: evidence counts only if the key is enrolled. */
export async function readRunnerKey(file: string): Promise<Omit<RunnerKey, 'isNew'>> {
  if (!existsSync(file))
    throw new CommandFailure(
      `There is no key ${file}. Enrol this runner first: gen runner enrol --key ${file}`,
    );
  const key = ed25519KeyOf(await readPrivateKeyText(file, 'key of the runner'), file, '--key');
  return { key, public_key: publicKeyText(createPublicKey(key)) };
}
