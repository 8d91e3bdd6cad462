import { generateKeyPairSync } from 'node:crypto';
import { expect, test } from 'vitest';
import { publicKeyText } from '../../client/sign-command.js';
import { isPublicKey } from './public-key.js';

test('every generated Ed25519 key is a valid public key', () => {
  for (let count = 0; count < 50; count += 1) {
    expect(isPublicKey(publicKeyText(generateKeyPairSync('ed25519').privateKey))).toBe(true);
  }
});
