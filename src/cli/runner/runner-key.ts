import { createPublicKey, type KeyObject } from 'node:crypto';
import { publicKeyText } from '../../client/sign-command.js';
import { createKeyFile, ed25519KeyOf, readPrivateFile } from '../../server/private-key-file.js';

/** The private key of a runner, and its public key as the project enrols it. */
export interface RunnerKey {
  readonly key: KeyObject;
  readonly public_key: string;
  readonly isNew: boolean;
}

/** Reads the key, or makes one if there is no such file. */
export async function openRunnerKey(file: string): Promise<RunnerKey> {
  const isNew = await createKeyFile(file);
  const key = ed25519KeyOf(await readPrivateFile(file, 'key of the runner'), file, '--key');
  return { key, public_key: publicKeyText(createPublicKey(key)), isNew };
}
