import type { KeyObject } from 'node:crypto';
import { dirname, join, resolve } from 'node:path';
import { findForeignPath } from '../../workspace/folder-owner.js';
import { failureWithCode } from '../exit.js';
import type { Io } from '../io.js';
import { userFolder } from './user-folder.js';

/** The variable that names the key file. Commands that start other commands pass it on, so that one session has one key. */
export const SIGNING_KEY_VARIABLE = 'GENESIS_SIGNING_KEY';

/** The file of the signing key, by default in the user's folder: a key that comes with a repository is known to others. */
export const signingKeyFile = (io: Pick<Io, 'env' | 'cwd'>): string =>
  resolve(io.cwd, io.env[SIGNING_KEY_VARIABLE] ?? join(userFolder(io), 'signing-key.pem'));

/** The key that signs this user's commands, created on first use. Throws if its file or folder belongs to another user. */
export async function openSigningKey(io: Io): Promise<KeyObject> {
  const file = signingKeyFile(io);
  const foreign = findForeignPath([dirname(file), file], io.env);
  if (foreign !== null) {
    const { path, owner, user } = foreign;
    const message =
      `The signing key ${file} is not used: ${path} is owned by user id ${owner}, and this process runs as user id ` +
      `${user}. Pass a file of this user in ${SIGNING_KEY_VARIABLE}.`;
    throw failureWithCode('STORE_REFUSED', message);
  }
  const { createKeyFile, ed25519KeyOf, readPrivateKeyText } = await import(
    '../../server/private-key-file.js'
  );
  await createKeyFile(file);
  return ed25519KeyOf(await readPrivateKeyText(file, 'signing key'), file, SIGNING_KEY_VARIABLE);
}
