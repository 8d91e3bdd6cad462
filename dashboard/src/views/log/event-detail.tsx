import { Link } from 'wouter';
import type { EventEnvelope } from '../../../../src/core/contract/events.js';
import { useFixedReply } from '../../api/use-reply.js';
import { taskPath } from '../../components/links.js';
import { Empty, QueryResult } from '../../components/states.js';
import { visibleText } from '../../components/untrusted-text.js';

/** One event, as it is stored in the log. */
export function EventDetail({ position, onClose }: { position: number; onClose: () => void }) {
  const query = useFixedReply('recent_events', { query: { before: position + 1, limit: 1 } });
  return (
    <section className="card" aria-label={`Event ${position}`}>
      <div className="row">
        <h2>Event {position}</h2>
        <button type="button" onClick={onClose}>
          Close
        </button>
      </div>
      <QueryResult query={query}>
        {({ events: [event] }) =>
          event?.position === position ? (
            <Envelope event={event} />
          ) : (
            <Empty title={`The log has no event ${position}`} />
          )
        }
      </QueryResult>
    </section>
  );
}

function Envelope({ event }: { event: EventEnvelope }) {
  const { subject, position } = event;
  return (
    <>
      <p className="row">
        <Link href={`/log?at=${position}`}>State at this event</Link>
        {subject === undefined || subject.startsWith('~') ? null : (
          <Link href={taskPath(subject)}>{visibleText(subject)}</Link>
        )}
      </p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
      <pre className="log-json" tabIndex={0}>
        {visibleText(JSON.stringify(event, null, 2))}
      </pre>
    </>
  );
}
