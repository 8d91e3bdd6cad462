import { expect, it } from 'vitest';
import { startPlannedHarness } from './testing/cli-harness.js';
import { runGen } from './testing/terminal.js';

/** A server with a plan, and a terminal that names no agent. */
async function startUnnamed() {
  const { terminal, server } = await startPlannedHarness();
  const { GENESIS_AGENT: _, ...env } = terminal.env;
  return { terminal: { ...terminal, env }, server };
}

it('a worker is named after its program, in gen agents, in events and in its environment', async () => {
  const { terminal } = await startUnnamed();
  const ran = await runGen(terminal, 'run', '--', 'sh', '-c', 'echo "$GENESIS_AGENT"');
  const name = ran.out.trim();
  expect(name).toMatch(/^sh-[0-9a-f]{4}$/);
  const { agents } = JSON.parse((await runGen(terminal, 'agents', '--json')).out);
  expect(agents).toMatchObject([{ agent_id: name }]);
  expect((await runGen(terminal, 'agents')).out).toContain(name);
  const { events } = JSON.parse((await runGen(terminal, 'events', '--json')).out);
  const claims = events.filter((event: { event_type: string }) => event.event_type === 'CLAIM_ACQUIRED');
  expect(claims).toMatchObject([{ agent_id: name }]);
});

it('the agent name of a person is the user name, without the name of the machine', async () => {
  const { terminal } = await startUnnamed();
  const claimed = await runGen(terminal, 'task', 'claim', 'A-001-schema', '--json');
  expect(JSON.parse(claimed.out).claim).toMatchObject({ agent_id: 'tester' });
});

it('--agent and GENESIS_AGENT take precedence over the name of the program', async () => {
  const { terminal } = await startUnnamed();
  const print = ['--', 'sh', '-c', 'echo "$GENESIS_AGENT"'];
  expect((await runGen(terminal, 'run', '--agent', 'ada', ...print)).out).toBe('ada\n');
  const env = { ...terminal.env, GENESIS_AGENT: 'bob' };
  expect((await runGen({ ...terminal, env }, 'run', ...print)).out).toBe('bob\n');
});
