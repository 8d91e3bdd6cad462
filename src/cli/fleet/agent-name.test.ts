import { expect, it } from 'vitest';
import { newNames, numberedNames } from './agent-name.js';
import { GROUP_NAME_PATTERN } from './fleet-file.js';

it('names agents after their program and a short id, or by number', () => {
  expect(newNames('/opt/bin/claude', 3)).toEqual(
    Array(3).fill(expect.stringMatching(/^claude-[0-9a-f]{4}$/)),
  );
  expect(newNames('./agent.sh', 1)[0]).toMatch(/^agent-[0-9a-f]{4}$/);
  expect(newNames('…', 1)[0]).toMatch(/^agent-[0-9a-f]{4}$/);
  expect(newNames('my@agent.v2~+', 1)[0]).toMatch(GROUP_NAME_PATTERN);
  expect(new Set(newNames('a', 100)).size).toBe(100);
  expect(numberedNames('builder', 2)).toEqual(['builder-1', 'builder-2']);
});
