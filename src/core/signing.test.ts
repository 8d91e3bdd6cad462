import { expect, test } from 'vitest';
import { bodyText, type CommandToSign, readSignature, signedText, writeSignature } from './signing.js';

const SHA = 'a'.repeat(64);
const AT = '2026-01-04T06:00:00.000Z';
const commandToSign: CommandToSign = {
  tenant_id: 'acme',
  project_id: 'shop',
  command: 'submit_result',
  body: {
    task_id: 'A-001-core',
    generation: 2,
    request_id: 'r1',
    result_data: { b: 1, a: [2] },
    signature: 'x',
  },
};

test('builds the signed text from these lines in this order', () => {
  expect(signedText(commandToSign, SHA, AT)).toBe(
    `gcc/v1\nacme\nshop\nA-001-core\nsubmit_result\n2\nr1\n${SHA}\n${AT}`,
  );
});

test('names an edge by feature and edge, and writes an empty line for a missing field', () => {
  const edge = {
    ...commandToSign,
    command: 'claim_task' as const,
    body: { feature_id: 'F', edge: 'design_code' },
  };
  expect(signedText(edge, SHA, AT)).toBe(`gcc/v1\nacme\nshop\nF#design_code\nclaim_task\n\n\n${SHA}\n${AT}`);
  const next = { ...commandToSign, command: 'next' as const, body: { request_id: 'r1' } };
  expect(signedText(next, SHA, AT)).toBe(`gcc/v1\nacme\nshop\n\nnext\n\nr1\n${SHA}\n${AT}`);
});

test('writes the body as canonical JSON without its signature', () => {
  expect(bodyText(commandToSign)).toBe(
    '{"generation":2,"request_id":"r1","result_data":{"a":[2],"b":1},"task_id":"A-001-core"}',
  );
});

test('reads back a written signature and refuses other texts', () => {
  const value = `${'b'.repeat(85)}Q`;
  expect(readSignature(writeSignature(AT, value))).toEqual({ issued_at: AT, value });
  for (const text of [
    '',
    value,
    `v2;${AT};${value}`,
    `v1;now;${value}`,
    `v1;${AT};${value}b`,
    `v1;${AT};`,
    `v1;${AT};${'b'.repeat(86)}`,
  ]) {
    expect(readSignature(text)).toBeNull();
  }
});
