import { LogJudge } from '../../src/core/claims/log-judge.js';
import type { EventEnvelope } from '../../src/core/events/envelope.js';
import type { AnyHead } from '../../src/core/fold.js';
import type { World } from '../world/world.js';
import type { Letter } from './letter.js';
import type { InboxScenario } from './scenario.js';

/** What was found in the store, with all letters answered. */
export interface Found {
  readonly events: readonly EventEnvelope[];
  readonly heads: readonly AnyHead[];
}

/** What each event that a command can leave says to its agent. */
const SAYS: Readonly<Record<string, (event: EventEnvelope) => unknown>> = {
  edge_started: () => 'GRANTED',
  heartbeat: () => 'RENEWED',
  edge_released: () => 'RELEASED',
  edge_converged: () => 'ACCEPTED',
  iteration_completed: () => 'APPENDED',
  claim_rejected: ({ payload }) => payload.reason,
  result_rejected: ({ payload }) => payload.rejection_reason,
};

/** Holds the log against what agents asked and were told. */
export function judgeInboxes(
  world: World,
  scenario: InboxScenario,
  letters: readonly Letter[],
  found: Found,
): void {
  judgeLog(world, scenario, found);
  for (const letter of letters) {
    const { request_id } = letter.command ?? {};
    const events = found.events.filter(
      (event) => request_id !== undefined && event.request_id === request_id,
    );
    judgeOnce(world, letter, events);
    judgeTold(world, letter, events, found.events);
  }
  judgeHolders(world, letters);
}

function judgeLog(world: World, { limits }: InboxScenario, { events, heads }: Found): void {
  const judge = new LogJudge(limits);
  for (const event of events) {
    for (const { invariant, says } of judge.see(event)) world.violate(invariant, `${event.subject}: ${says}`);
  }
  for (const { invariant, subject, says } of judge.finish(heads)) {
    world.violate(invariant, `${subject}: ${says}`);
  }
}

/** What a command leaves it leaves in one commit: nothing of it is there twice, and nothing lies in between. */
function judgeOnce(world: World, letter: Letter, events: readonly EventEnvelope[]): void {
  const positions = events.map(({ position }) => position);
  const span = positions.length === 0 ? 0 : Math.max(...positions) - Math.min(...positions) + 1;
  const types = events.map(({ event_type }) => event_type);
  if (span === events.length && new Set(types).size === types.length) return;
  world.violate('INBOX-ONCE', `${letter.says} was done more than once: ${types.join(', ')} at ${positions}`);
}

function judgeTold(
  world: World,
  letter: Letter,
  events: readonly EventEnvelope[],
  log: readonly EventEnvelope[],
): void {
  const effect = events.findLast(({ event_type }) => event_type in SAYS);
  const code = effect === undefined ? null : SAYS[effect.event_type]?.(effect);
  const { lastTold } = letter;
  if (code !== null && lastTold?.code !== code) {
    world.violate('INBOX-TOLD', `${letter.says} was told ${lastTold?.code}, and the log says ${code}`);
  }
  if (lastTold?.ok && code === null && !isSaidByHead(letter, log)) {
    world.violate('INBOX-TOLD', `${letter.says} was told ${lastTold.code}, and the log knows nothing of it`);
  }
  for (const [at, told] of letter.told.slice(1).entries()) {
    const before = letter.told[at];
    if (before === undefined || before.code === told.code) continue;
    // A refusal that left nothing is decided anew when its agent asks again, or when a crash came before its file was gone.
    const isAnew = before.code !== code && (before.drops !== told.drops || before.deaths !== told.deaths);
    if (!isAnew) {
      world.violate('INBOX-SAME', `${letter.says} was told ${before.code}, and then ${told.code}`);
    }
  }
}

/** Whoever has released or converged already is told so again, whichever letter asks. */
function isSaidByHead({ agent_id, command }: Letter, log: readonly EventEnvelope[]): boolean {
  return log.some(
    (event) =>
      event.event_type === command?.event_type &&
      ['edge_released', 'edge_converged'].includes(event.event_type) &&
      event.agent_id === agent_id &&
      event.generation === (command.body.generation ?? command.body.expected_generation),
  );
}

/** Of an edge and a generation there is one holder, whoever was told so and whenever. */
function judgeHolders(world: World, letters: readonly Letter[]): void {
  const holders = new Map<string, string>();
  for (const { agent_id, command, told } of letters) {
    for (const { code, generation } of told) {
      if (code !== 'GRANTED') continue;
      const grant = `${command?.subject}/${generation}`;
      const holder = holders.get(grant) ?? agent_id;
      if (holder !== agent_id) world.violate('INV-1', `${grant} was granted to ${holder} and ${agent_id}`);
      holders.set(grant, holder);
    }
  }
}
