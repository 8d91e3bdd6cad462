import { expect, it } from 'vitest';
import { recordingOfRefusal } from './refusals.js';

it('records twenty refusals in full, then a count whenever the number of those left out has doubled', () => {
  const recordedNumbers = (kind: 'full' | 'count') =>
    Array.from({ length: 200 }, (_, index) => index + 1).filter((n) => recordingOfRefusal(n) === kind);
  expect(recordedNumbers('full')).toEqual(Array.from({ length: 20 }, (_, index) => index + 1));
  expect(recordedNumbers('count')).toEqual([21, 22, 24, 28, 36, 52, 84, 148]);
});
