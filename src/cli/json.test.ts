import { expect, it } from 'vitest';
import { planned } from './testing/house.js';
import { gen, start } from './testing/terminal.js';

const READS = [
  'plan check plan.yaml',
  'plan show',
  'task show A-001-schema',
  'task history A-001-schema',
  'task explain A-001-schema',
  'status',
  'agents',
  'sessions',
  'events',
  'key list',
];

it('whatever reads prints JSON and nothing else when it is asked to', async () => {
  const { setting } = await planned();
  const env = { ...setting.env, HOME: setting.cwd, PATH: '' };
  await gen(setting, 'next');
  for (const line of [...READS, 'setup claude', 'setup claude --undo']) {
    const { code, out } = await gen({ ...setting, env }, ...line.split(' '), '--json');
    expect({ line, code }).toEqual({ line, code: 0 });
    expect(JSON.parse(out), line).toBeTypeOf('object');
  }
});

it('also while it watches', async () => {
  const { setting } = await planned();
  const watching = start(setting, 'status', '--watch', '--json');
  const text = await watching.seen('\n');
  watching.stop('SIGINT');
  expect((await watching.ended).code).toBe(0);
  expect(JSON.parse(text.split('\n')[0] ?? '')).toMatchObject({ total: { completed: 0 } });
});
