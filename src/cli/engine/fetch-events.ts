import type { Genesis } from '../../client/index.js';
import { isProblem } from '../../client/replies.js';
import type { EventEnvelope } from '../../core/events/envelope.js';
import { engineError } from '../../engine/engine-error.js';
import { CommandFailure } from '../exit.js';

const PAGE_SIZE = 1000;
/** The maximum number of events that are read for an edge, or for the runs of a project. */
const EVENTS_MAX = 200_000;

/** Fetches the events, oldest first. */
export async function fetchEvents(
  genesis: Pick<Genesis, 'events'>,
  filter: { task_id?: string; feature_id?: string; edge?: string; type?: string },
): Promise<readonly EventEnvelope[]> {
  const events: EventEnvelope[] = [];
  let after: string | undefined;
  do {
    const page = await genesis.events({
      ...filter,
      limit: PAGE_SIZE,
      ...(after === undefined ? {} : { after }),
    });
    if (isProblem(page)) throw engineError('unavailable', page.detail);
    events.push(...page.events);
    after = page.events.length < PAGE_SIZE ? undefined : page.next;
    if (after !== undefined && events.length >= EVENTS_MAX)
      throw new CommandFailure(
        `${filter.task_id ?? filter.type ?? 'The project'} has more than ${EVENTS_MAX} events, which this command does not read. Use gen events.`,
      );
  } while (after !== undefined);
  return events;
}
