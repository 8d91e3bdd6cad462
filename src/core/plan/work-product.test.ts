import { describe, expect, it } from 'vitest';
import { CONVENTIONAL_TRACKS, trackMeaning, trackPurpose } from './tracks.js';
import { workProductRef } from './work-product.js';

const sha256 = '7f3a2b9c4e1d'.padEnd(64, '0');

describe('a work product reference', () => {
  // req: RES-008
  it('names the task, the generation and the start of the digest', () => {
    expect(workProductRef('A-001-core-framework', 1, sha256)).toBe(
      'wp-A-001-core-framework-gen1-7f3a2b9c4e1d',
    );
  });
});

describe('tracks', () => {
  // req: PLN-006
  it('have a purpose by convention for nine letters, and no purpose for any other track', () => {
    expect([...CONVENTIONAL_TRACKS.keys()].join('')).toBe('ABCDEFGXZ');
    expect(trackPurpose('B')).toBe('Data Layer');
    expect(trackMeaning('B')).toBe('Data Layer: Database, storage, caching');
    expect([trackPurpose('PAY'), trackMeaning('PAY')]).toEqual([null, null]);
  });
});
