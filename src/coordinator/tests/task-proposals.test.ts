import { expect, test } from 'vitest';
import { CoordinatorHarness, PROJECT_KEY } from '../../../test/support/coordinator-harness.js';
import { OPEN_CALLER } from '../authentication/caller.js';

const AGENT = {
  ...OPEN_CALLER,
  principal: 'key-a',
  user_id: 'agent-a',
  may_review: false,
  may_administer: false,
};
const HUMAN = { ...OPEN_CALLER, principal: 'key-h', user_id: 'hana' };
const TASK = { id: 'A-002-more', description: 'More work' };

async function open() {
  const { coordinator } = await CoordinatorHarness.open('memory');
  const first = { id: 'A-001-first', description: 'First' };
  await coordinator.plans.put(PROJECT_KEY, { tracks: { A: [first] } }, {}, HUMAN);
  const planIds = async () => {
    const view = await coordinator.plans.get(PROJECT_KEY);
    return 'plan' in view
      ? Object.values(view.plan.tracks).flatMap((tasks) => tasks.map(({ id }) => id))
      : view;
  };
  const pendingProposals = async () => {
    const reply = await coordinator.methodology.reviews(PROJECT_KEY);
    return 'proposals' in reply ? reply.proposals : reply;
  };
  return { coordinator, planIds, pendingProposals };
}
const idOf = (reply: object): string =>
  (reply as { proposal?: { proposal_id: string } }).proposal?.proposal_id ?? '';

test('tasks that an agent adds are kept as a proposal, and added to the plan when a person approves', async () => {
  const { coordinator, planIds, pendingProposals } = await open();
  const proposed = await coordinator.plans.add(PROJECT_KEY, [TASK], {}, AGENT);
  expect(proposed).toMatchObject({ version: 1, added: 0, proposal: { state: 'pending', comment: null } });
  expect(await planIds()).toEqual(['A-001-first']);
  const proposal_id = idOf(proposed);
  expect(await pendingProposals()).toMatchObject([
    { proposal_id, tasks: [TASK], proposed_by: 'agent-a', next: `gen review --proposal ${proposal_id}` },
  ]);
  const decided = await coordinator.plans.decideProposal(
    PROJECT_KEY,
    { proposal_id, decision: 'approve' },
    HUMAN,
  );
  expect(decided).toMatchObject({ version: 2, added: 1, task_count: 2, proposal: { state: 'approved' } });
  expect(await planIds()).toEqual(['A-001-first', 'A-002-more']);
  expect(await pendingProposals()).toEqual([]);
  const again = await coordinator.plans.decideProposal(
    PROJECT_KEY,
    { proposal_id, decision: 'reject' },
    HUMAN,
  );
  expect(again).toMatchObject({ problem: 'NOT_FOUND', detail: expect.stringContaining('hana has approved') });
});

test('an agent that proposes rejected tasks again gets the rejection', async () => {
  const { coordinator, planIds } = await open();
  const proposal_id = idOf(await coordinator.plans.add(PROJECT_KEY, [TASK], {}, AGENT));
  expect(idOf(await coordinator.plans.add(PROJECT_KEY, [TASK], {}, AGENT))).toBe(proposal_id);
  const rejection = { proposal_id, decision: 'reject', comment: 'not now' };
  expect(await coordinator.plans.decideProposal(PROJECT_KEY, rejection, HUMAN)).toMatchObject({
    version: 1,
    added: 0,
  });
  expect(await coordinator.plans.add(PROJECT_KEY, [TASK], {}, AGENT)).toMatchObject({
    proposal: { proposal_id, state: 'rejected', comment: 'not now' },
  });
  expect(await planIds()).toEqual(['A-001-first']);
});

test('faulty tasks are refused at once, and approved tasks are refused if they no longer fit the plan', async () => {
  const { coordinator, pendingProposals } = await open();
  expect(
    await coordinator.plans.add(PROJECT_KEY, [{ id: 'bad', description: 'x' }], {}, AGENT),
  ).toMatchObject({
    problem: 'INVALID_PLAN',
  });
  expect(await pendingProposals()).toEqual([]);
  const proposal_id = idOf(await coordinator.plans.add(PROJECT_KEY, [TASK], {}, AGENT));
  await coordinator.plans.add(PROJECT_KEY, [{ ...TASK, id: 'A-002-other' }], {}, HUMAN);
  const decided = await coordinator.plans.decideProposal(
    PROJECT_KEY,
    { proposal_id, decision: 'approve' },
    HUMAN,
  );
  expect(decided).toMatchObject({ problem: 'INVALID_PLAN' });
  expect(await pendingProposals()).toMatchObject([{ proposal_id }]);
});

test('the size of a proposal and the number of pending proposals are limited', async () => {
  const { coordinator, pendingProposals } = await open();
  const long = { ...TASK, instructions: 'x'.repeat(30_000) };
  const three = [1, 2, 3].map((n) => ({ ...long, id: `B-00${n}-long` }));
  expect(await coordinator.plans.add(PROJECT_KEY, three, {}, AGENT)).toMatchObject({
    problem: 'INVALID_REQUEST',
  });
  const propose = (n: number) =>
    coordinator.plans.add(
      PROJECT_KEY,
      [{ id: `B-${String(n).padStart(3, '0')}-x`, description: 'x' }],
      {},
      AGENT,
    );
  for (let n = 1; n <= 100; n += 1) expect(idOf(await propose(n))).not.toBe('');
  expect(await propose(101)).toMatchObject({ problem: 'INVALID_REQUEST' });
  expect(await pendingProposals()).toHaveLength(100);
});

test('the tasks of an agent are added at once if the policy allows it', async () => {
  const { coordinator, planIds } = await open();
  await coordinator.settings.putPolicy(PROJECT_KEY, { task_proposals: 'allow' }, HUMAN);
  const reply = await coordinator.plans.add(PROJECT_KEY, [TASK], {}, AGENT);
  expect(reply).toMatchObject({ added: 1 });
  expect(reply).not.toHaveProperty('proposal');
  expect(await planIds()).toEqual(['A-001-first', 'A-002-more']);
});
