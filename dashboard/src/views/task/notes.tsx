import { useReply } from '../../api/use-reply.js';
import { AgentName } from '../../components/agent-name.js';
import { QueryResult } from '../../components/states.js';
import { TimeText } from '../../components/time-text.js';
import { UntrustedBlock } from '../../components/untrusted-text.js';

const NOTES_MAX = 100;

/** The notes that holders left for the next holder. */
export function Notes({ subject }: { subject: string }) {
  const type = subject.includes('#') ? 'note_added' : 'NOTE_ADDED';
  const query = useReply('events', { query: { task_id: subject, type, limit: NOTES_MAX } });
  return (
    <QueryResult query={query}>
      {({ events }) =>
        events.length === 0 ? (
          <p className="quiet">There are no notes.</p>
        ) : (
          <ul className="notes">
            {events.map(({ event_id, agent_id, generation, timestamp, payload }) => (
              <li key={event_id}>
                <p className="quiet">
                  <AgentName id={agent_id} />, generation {generation}, <TimeText at={timestamp} />
                </p>
                <UntrustedBlock text={String(payload.text ?? '')} />
              </li>
            ))}
          </ul>
        )
      }
    </QueryResult>
  );
}
