import type { Reply } from '../../api/call.js';
import { Absent } from '../../components/absent.js';
import { AgentName } from '../../components/agent-name.js';
import { ScrollRegion } from '../../components/scroll-region.js';
import { TimeText } from '../../components/time-text.js';
import { UntrustedText } from '../../components/untrusted-text.js';
import { generationOutcomeOf, replacementOf, type TaskHistory, toneOf } from './generation-timeline.js';

type Generation = Reply<'get_claim_history'>['generations'][number];

/** The lineage of specification 004 §9.2: the agent, the times and the outcome of each generation. */
export function Generations({ history }: { history: TaskHistory }) {
  const { lineage } = history;
  if (lineage.generations.length === 0) return <p className="quiet">This work was never claimed.</p>;
  return (
    <ScrollRegion className="table-scroll" name="Generations">
      <table className="stacked">
        <thead>
          <tr>
            <th>Generation</th>
            <th>Agent</th>
            <th>Session</th>
            <th>User</th>
            <th>Acquired</th>
            <th>Released</th>
            <th>Outcome</th>
          </tr>
        </thead>
        <tbody>
          {[...lineage.generations].reverse().map((entry) => (
            <GenerationRow key={entry.generation} entry={entry} history={history} />
          ))}
        </tbody>
      </table>
      {lineage.omitted ? <p className="quiet">{lineage.omitted} older events are left out.</p> : null}
    </ScrollRegion>
  );
}

function GenerationRow({ entry, history }: { entry: Generation; history: TaskHistory }) {
  const outcome = generationOutcomeOf(entry, history);
  return (
    <tr>
      <td data-title="Generation">{entry.generation}</td>
      <td>
        <AgentName id={entry.agent_id} />
      </td>
      <td>
        <UntrustedText text={entry.session_id} />
      </td>
      <td data-title="user">{entry.user_id === null ? <Absent /> : <AgentName id={entry.user_id} />}</td>
      <td data-title="from">
        <TimeText at={entry.acquired_at} />
      </td>
      <td data-title="to">{entry.released_at === null ? <Absent /> : <TimeText at={entry.released_at} />}</td>
      <td className="wide">
        <span className={`mark mark-${toneOf(outcome)}`}>{outcome}</span> <Origin from={entry.adopted_from} />{' '}
        {entry.result_accepted ? (
          <Replacement replacement={replacementOf(entry, history.lineage.generations)} />
        ) : null}{' '}
        {entry.release_message === undefined ? null : <UntrustedText text={entry.release_message} />}
      </td>
    </tr>
  );
}

function Replacement({ replacement }: { replacement: Generation | null }) {
  if (replacement === null) return null;
  return (
    <span>
      replaced by {replacement.adopted_from === null ? 'the result' : 'the adoption'} of generation{' '}
      {replacement.generation}
    </span>
  );
}

/** The generation whose result was adopted. */
export function Origin({ from }: { from: Generation['adopted_from'] }) {
  if (from === null) return null;
  if ('imported' in from) return <span>adopted from an imported log</span>;
  return (
    <span>
      adopted from generation {from.generation} of <AgentName id={from.agent_id} />
    </span>
  );
}
