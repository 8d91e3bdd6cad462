import { expect, it } from 'vitest';
import { temporaryFolder } from '../testing/house.js';
import { Memory } from './memory.js';

const PLACE = { url: 'http://127.0.0.1:4680', tenant: 'default', project: 'shop' };

it('all who ask at once for a session that is not there get the same', async () => {
  const home = await temporaryFolder();
  const asked = Array.from({ length: 50 }, () => new Memory(home).session(PLACE, 'agent-a', ''));
  expect(new Set(await Promise.all(asked)).size).toBe(1);
  expect(await new Memory(home).session(PLACE, 'agent-a', '/dev/pts/1')).not.toBe(await asked[0]);
});

it('handles kept at the same time are all kept', async () => {
  const home = await temporaryFolder();
  const handles = Array.from({ length: 50 }, (_, at) => ({
    task_id: `A-0${at}-x`,
    generation: at,
    session_id: 'sess-a',
    agent_id: 'agent-a',
    lease_duration_seconds: 300,
  }));
  await Promise.all(handles.map((handle) => new Memory(home).keepHandle(PLACE, handle)));
  const memory = new Memory(home);
  const kept = await Promise.all(handles.map(({ task_id }) => memory.handle(PLACE, 'sess-a', task_id)));
  expect(kept).toEqual(handles);
  expect(await memory.handle({ ...PLACE, project: 'other' }, 'sess-a', 'A-00-x')).toBeNull();
});
