import { crc32 } from 'node:zlib';
import { v7 } from 'uuid';
import { expect, it } from 'vitest';
import { systemEnvironment } from './environment.js';
import { newEventId, textDigest } from './identity.js';

it('digests a string as its length and its CRC in base 36, as in existing logs', () => {
  for (let round = 0; round < 5000; round += 1) {
    const text = `ü${round}`;
    expect(textDigest(text)).toBe(`${text.length.toString(36)}-${crc32(text).toString(36)}`);
  }
  expect(textDigest('')).toBe('0-0');
});

// req: EVT-002
it('creates event ids as version 7 UUIDs from the time and random bytes', () => {
  for (let round = 0; round < 100; round += 1) {
    const random = Uint8Array.from({ length: 16 }, (_, index) => (round * 31 + index * 57) & 255);
    const environment = { ...systemEnvironment, randomBytes: () => random };
    const atMs = 1_794_724_814_747 + round;
    expect(newEventId(environment, atMs)).toBe(v7({ msecs: atMs, random }));
  }
});
