import { describe, expect, it } from 'vitest';
import { KNOWN_TRACKS, trackPurpose } from './tracks.js';
import { parseWorkProductRef, workProductRef } from './work-product.js';

const sha256 = '7f3a2b9c4e1d'.padEnd(64, '0');

describe('a work product reference', () => {
  it('names the task, the generation and the start of the digest', () => {
    expect(workProductRef('A-001-core-framework', 1, sha256)).toBe(
      'wp-A-001-core-framework-gen1-7f3a2b9c4e1d',
    );
  });

  it.each([
    'A-001-core-framework',
    'B-003-repositories::12',
    'A-001-x-gen1-7f3a2b9c4e1d',
    'REQ-F-AUTH-001#design_code',
  ])('of %s is read back', (subject) => {
    expect(parseWorkProductRef(workProductRef(subject, 27, sha256))).toEqual({
      subject,
      generation: 27,
      hash: '7f3a2b9c4e1d',
    });
  });

  it.each([
    'wp-b002-gen1-abc123',
    'wp-A-001-x-gen0-7f3a2b9c4e1d',
    'wp-A-001-x-gen1-7F3A2B9C4E1D',
    'wp-A-001-x-gen1-7f3a2b',
    'wp-A-000-x-gen1-7f3a2b9c4e1d',
    'wp-~plan-gen1-7f3a2b9c4e1d',
    'A-001-x-gen1-7f3a2b9c4e1d',
    `wp-A#${'x'.repeat(1_000_000)}-gen1-7f3a2b9c4e1d`,
  ])('that is none is not read (%#)', (ref) => {
    expect(parseWorkProductRef(ref)).toBeNull();
  });
});

describe('tracks', () => {
  it('are nine with a customary meaning, and any other', () => {
    expect([...KNOWN_TRACKS.keys()].join('')).toBe('ABCDEFGXZ');
    expect(trackPurpose('B')).toBe('Data Layer');
    expect(trackPurpose('PAY')).toBe('Track PAY');
  });
});
