import { TaskLink } from '../../components/links.js';
import { UntrustedText } from '../../components/untrusted-text.js';
import { actorName } from '../../model/actor-name.js';
import type { LastOutcome } from './activity.js';
import type { KnownHolder } from './feed-events.js';

const BEFORE: Readonly<Record<LastOutcome['kind'], string>> = {
  accepted: 'finished',
  lost: 'lost',
  result_refused: 'refused: its result for',
};

interface Props {
  readonly outcome: LastOutcome;
  /** Who held the task last. */
  readonly holder: KnownHolder | undefined;
  readonly agent: string;
}

/** What an agent did last, if it holds nothing now. */
export function OutcomeText({ outcome: { kind, subject }, holder, agent }: Props) {
  const isTakenOver = kind === 'lost' && holder !== undefined && holder.agent_id !== agent;
  return (
    <span className="quiet">
      {BEFORE[kind]} <TaskLink id={subject} />
      {isTakenOver ? <UntrustedText text={` to ${actorName(holder.agent_id)}`} /> : null}
    </span>
  );
}
