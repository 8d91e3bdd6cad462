import { ForeignText } from '../../components/foreign-text.js';
import { TaskLink } from '../../components/links.js';
import { TimeText } from '../../components/time-text.js';
import type { NotableEvent } from './notable-events.js';

/** What went another way than planned in the last hour, as it happens. */
export function NotableEvents({ notable }: { notable: readonly NotableEvent[] }) {
  if (notable.length === 0)
    return <p className="quiet">Nothing was taken over, refused or parked in the last hour.</p>;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
    <div className="notable" role="log" aria-labelledby="notable" tabIndex={0}>
      <ol>
        {notable.map((event) => (
          <li key={event.position}>
            <TimeText at={event.timestamp} /> <span className={`mark mark-${event.tone}`}>{event.label}</span>{' '}
            <ForeignText text={event.before} />
            <TaskLink id={event.subject} />
            <ForeignText text={event.after} />
          </li>
        ))}
      </ol>
    </div>
  );
}
