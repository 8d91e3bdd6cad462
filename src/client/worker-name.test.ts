import { expect, it } from 'vitest';
import { idFault } from '../core/id-grammar.js';
import { workerName } from './worker-name.js';

it.each([
  ['claude', 'claude-1a2b'],
  ['/usr/local/bin/claude', 'claude-1a2b'],
  ['C:\\tools\\codex.cmd', 'codex-1a2b'],
  ['./agent.sh', 'agent-1a2b'],
  ['Claude Code (beta)', 'Claude-Code-beta-1a2b'],
  ['_x', 'x-1a2b'],
  ['агент', 'agent-1a2b'],
  ['', 'agent-1a2b'],
])('names a worker of %j %s', (program, name) => {
  expect(workerName(program, '1a2b')).toBe(name);
});

it('makes a valid agent id from any program name, always the same within a process', () => {
  for (const program of ['x'.repeat(1000), '\u0000\u001b[31m', '../..', '--help', '🤖']) {
    expect(idFault('agent_id', workerName(program)), program).toBeNull();
    expect(workerName(program)).toBe(workerName(program));
  }
  expect(workerName('claude')).toMatch(/^claude-[0-9a-f]{4}$/);
});
