import { generateKeyPairSync } from 'node:crypto';
import { expect, test } from 'vitest';
import { publicKeyText } from '../../client/sign-command.js';
import { isPublicKey } from './public-key.js';

test('every key that is made is one', () => {
  for (let made = 0; made < 50; made += 1) {
    expect(isPublicKey(publicKeyText(generateKeyPairSync('ed25519').privateKey))).toBe(true);
  }
});
