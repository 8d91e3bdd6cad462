import type { ReactNode } from 'react';
import { TaskLink } from '../../components/links.js';
import { useServerClock } from '../../live/server-clock.js';
import { durationText } from '../../model/duration.js';
import type { InboxItem } from './inbox-items.js';

const TONES = { critical: 'mark-bad', high: 'mark-bad', medium: 'mark-warn', low: '' } as const;

/** The card of an item: what it is, of which task, how urgent, and since when it waits. */
export function ItemFrame({
  item: { urgency, since },
  name,
  taskId = null,
  children,
}: {
  item: InboxItem;
  name: string;
  taskId?: string | null;
  children: ReactNode;
}) {
  return (
    <article className="card" aria-label={taskId === null ? name : `${name} ${taskId}`}>
      <h2 className="row">
        {name} {taskId === null ? null : <TaskLink id={taskId} />}
        <span className={`mark ${TONES[urgency]}`}>{urgency}</span>
        {since === null ? null : <Age since={since} />}
      </h2>
      {children}
    </article>
  );
}

function Age({ since }: { since: string }) {
  const nowMs = useServerClock();
  return (
    <time className="quiet age" dateTime={since} title={since}>
      for {durationText(nowMs - Date.parse(since))}
    </time>
  );
}
