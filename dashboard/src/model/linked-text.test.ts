import { expect, it } from 'vitest';
import { linkedText } from './linked-text.js';

it('finds the tasks, edges and times that a text names', () => {
  expect(linkedText('waits for A-001-schema, B-002-api::3.')).toEqual([
    { text: 'waits for ' },
    { subject: 'A-001-schema' },
    { text: ', ' },
    { subject: 'B-002-api::3' },
    { text: '.' },
  ]);
  expect(linkedText('REQ-F-AUTH-001#design_code')).toEqual([{ subject: 'REQ-F-AUTH-001#design_code' }]);
  expect(linkedText('until 2026-05-01T12:00:00.295Z.')).toEqual([
    { text: 'until ' },
    { time: '2026-05-01T12:00:00.295Z' },
    { text: '.' },
  ]);
  expect(linkedText('REQ-F-AUTH-001 and A-1-x')).toEqual([{ text: 'REQ-F-AUTH-001 and A-1-x' }]);
});
