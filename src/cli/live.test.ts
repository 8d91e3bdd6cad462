import { expect, it } from 'vitest';
import { startPlannedHarness } from './testing/cli-harness.js';
import { gen, start } from './testing/terminal.js';

it('prints new events as they occur, one JSON line each', async () => {
  const { terminal } = await startPlannedHarness();
  const following = start(terminal, 'events', '--follow', '--json', '--type', 'CLAIM_ACQUIRED');
  // Only an event shows that the stream is open, so produce events until one arrives.
  const happening = (async () => {
    for (let hasOutput = false; !hasOutput; ) {
      await gen(terminal, 'next');
      await gen(terminal, 'task', 'release', 'A-001-schema');
      hasOutput = following.text() !== '';
    }
  })();
  const text = await following.waitForOutput('\n');
  await happening;
  following.stop('SIGINT');
  expect((await following.ended).code).toBe(0);
  expect(JSON.parse(text.split('\n')[0] ?? '')).toMatchObject({
    event_type: 'CLAIM_ACQUIRED',
    task_id: 'A-001-schema',
  });
});

it('redraws the status on every change', async () => {
  const { terminal } = await startPlannedHarness();
  const watching = start(
    { ...terminal, columns: 100, env: { ...terminal.env, NO_COLOR: '1' } },
    'status',
    '--watch',
  );
  await watching.waitForOutput('1 ready');
  await gen(terminal, 'next');
  await watching.waitForOutput(/agent-a/);
  await gen(terminal, 'task', 'submit', 'A-001-schema', '--data', '1');
  await watching.waitForOutput('1 completed');
  expect(watching.text()).toContain('\u001b[H\u001b[2J\u001b[3J');
  watching.stop('SIGINT');
  expect((await watching.ended).code).toBe(0);
});
