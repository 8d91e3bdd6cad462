import { expect, test } from 'vitest';
import { answered, House, P, planOf } from '../../test/support/house.js';

const NAMED = 'nothing-here';
const names = (house: House) => [...house.coordinator.queries.standings()].map(({ key }) => key.project_id);

test('a project in which nothing happened is not kept for having been named', async () => {
  const house = await House.open('memory');
  const { coordinator } = house;
  const key = { ...P, project_id: NAMED };
  const asked = Array.from({ length: 20 }, () => [
    coordinator.queries.status(key),
    coordinator.claimTask(key, { task_id: 'A-001-x', agent_id: 'a', session_id: 's' }),
    coordinator.getPlan(key),
  ]);
  await Promise.all(asked.flat());
  expect(names(house)).toEqual([]);
});

test('whoever listens to it hears of the first that happens, and from then on it is kept', async () => {
  const house = await House.open('memory');
  const { coordinator } = house;
  const listening = new AbortController();
  const feed = coordinator.queries.follow(P, '', listening.signal);
  const heard = feed.next();
  answered(await coordinator.getPlan(P));
  answered(await coordinator.putPlan(P, planOf('A-001-x')));
  expect((await heard).value?.event.position).toBe(1);
  listening.abort();
  await feed.return(undefined);
  expect(names(house)).toEqual([P.project_id]);
});
